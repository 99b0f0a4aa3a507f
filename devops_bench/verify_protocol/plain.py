r"""Output reduced to what decides how it reads: no colours, no invisible bytes, no long runs. Pure.

A word stays the same word with a colour, a control character or a zero-width space in it, and a gap
the same gap with ten blanks or a row of dots. So what is searched for words is a reduced form:

- letters in lower case,
- ``\0`` for a run of bytes that are neither printable ASCII nor blank,
- one blank for a run that holds a blank,
- ``-`` for two or more of the characters that fill a gap, ``.-_~*``,
- line feeds as they are.

What an escape character begins can be a control sequence or text, ``ESC [F`` in ``ESC [FAIL]`` say;
where there is one there are two forms, one for each reading.
"""

from __future__ import annotations

import re
from typing import Final

NOISE: Final = rb"\0"
"""A run of bytes that are not seen, in a pattern."""

_ESCAPE: Final = 0x1B
_SEQUENCE: Final = re.compile(rb"\x1b\[[0-?]{0,32}+[ -/]{0,2}+[@-~]")
# What stands for a bracket, a colon or an equals sign where text is wide.
_WIDE: Final = tuple(
    (chr(wide).encode(), narrow)
    for wide, narrow in (
        (0xFF3B, b"["), (0xFF3D, b"]"), (0x3010, b"["), (0x3011, b"]"),
        (0xFF08, b"("), (0xFF09, b")"), (0xFF1A, b":"), (0xFF1D, b"="),
    )
)  # fmt: skip
# An escape sequence, or one of the characters of _WIDE, of which the end may be still to come.
_BEGUN: Final = re.compile(rb"(?:\x1b(?:\[[0-?]{0,32}+[ -/]{0,2}+)?|\xef(?:\xbc)?|\xe3(?:\x80)?)\Z")
_LONGEST_BEGUN: Final = 40
_NOISE_RUN: Final = re.compile(rb"\0{2,}+")
_BLANK_RUN: Final = re.compile(rb"\0 [ \0]*+| [ \0]++")
_FILL_RUN: Final = re.compile(rb"[.\-_~*]{2,}+")
_RUNS: Final = b" \0.-_~*"


def _table() -> bytes:
    table = bytearray(256)
    for byte in range(0x20, 0x7F):
        table[byte] = byte
    for byte in b"\n\x1b":
        table[byte] = byte
    table[ord("\t")] = ord(" ")
    return bytes(table).translate(bytes(range(256)).lower())


_TABLE: Final = _table()


def plain_forms(data: bytes) -> tuple[bytes, ...]:
    """Return the reduced form of ``data``, or both where it holds an escape character.

    Each has as many line feeds as ``data``. Linear in time.
    """
    if not data.isascii():
        for wide, narrow in _WIDE:
            data = data.replace(wide, narrow)
    text = data.translate(_TABLE)
    if _ESCAPE not in text:
        return (_without_runs(text),)
    sequences_removed = _SEQUENCE.sub(b"\0", text)
    return tuple(_without_runs(form.replace(b"\x1b", b"\0")) for form in (sequences_removed, text))


def _without_runs(text: bytes) -> bytes:
    # What is looked for first is rare, and looking is far cheaper than a search by pattern.
    if b"\0\0" in text:
        text = _NOISE_RUN.sub(b"\0", text)
    if b"  " in text or b" \0" in text or b"\0 " in text:
        text = _BLANK_RUN.sub(b" ", text)
    return _FILL_RUN.sub(b"-", text)


class PlainStream:
    """The reduced forms of a text that comes in pieces, a window of each at a time.

    How the text is cut into pieces makes no difference to what is found in it, as long as no match
    is longer than the window.

    Args:
        window: How many bytes of a form are kept before the next piece.
    """

    def __init__(self, window: int) -> None:
        self._size = window
        self._begun = b""
        self._windows: tuple[bytes, bytes] = (b"", b"")
        self._seen = (0, 0)

    def feed(self, data: bytes, *, last: bool = False) -> tuple[tuple[bytes, int], ...]:
        """Add a piece; return each form to be searched, and up to where it was searched before.

        A match that ends at or before that place was there in an earlier answer.

        Args:
            data: The next piece.
            last: There is no other piece.
        """
        data = self._begun + data
        begun = None if last else _BEGUN.search(data, max(0, len(data) - _LONGEST_BEGUN))
        self._begun = b"" if begun is None else begun[0]
        forms = plain_forms(data[: len(data) - len(self._begun)])
        texts = [
            _without_runs(window + new)
            for window, new in zip(self._windows, (forms[0], forms[-1]), strict=True)
        ]
        # A run at the end may go on, and then be another byte.
        settled = [text if last or text[-1:] not in _RUNS else text[:-1] for text in texts]
        answer = tuple(zip(settled, self._seen, strict=True))
        self._windows = (texts[0][-self._size :], texts[1][-self._size :])
        self._seen = (self._place(texts[0], settled[0]), self._place(texts[1], settled[1]))
        return answer if answer[0] != answer[1] else answer[:1]

    def _place(self, text: bytes, settled: bytes) -> int:
        return max(0, len(settled) - max(0, len(text) - self._size))
