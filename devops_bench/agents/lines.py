"""Lines of what a program prints, as it prints them."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final

from devops_bench.core.redaction import PRIVATE_KEY_BEGIN, PRIVATE_KEY_END
from devops_bench.core.secretforms import KnownSecrets, StreamRedactor

MAX_LINE: Final = 16 * 1024 * 1024
"""Characters after which a line is handed on although it has not ended."""

_MAX_HELD = 64 * 1024


class LineReader:
    """Turns pieces of output into lines.

    Args:
        show: Called with each line, without its end.
        whole: Hand all the lines of a piece on as one text, with their ends, and keep a private key
            together, so that what looks for secrets sees it from its beginning to its end.
        secrets: What is taken out before the output is cut into pieces; ``None`` leaves it in.
    """

    def __init__(
        self,
        show: Callable[[str], None],
        *,
        whole: bool = False,
        secrets: KnownSecrets | None = None,
    ) -> None:
        self._show = show
        self._redactor = StreamRedactor(secrets or KnownSecrets())
        self._whole = whole
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._buffer = ""

    def feed(self, data: bytes) -> None:
        """Take a piece, and show what is complete."""
        self._take(self._redactor.feed(data))

    def _take(self, data: bytes) -> None:
        self._buffer += self._decoder.decode(data)
        if self._whole:
            self._show_whole()
        else:
            self._show_lines()

    def close(self) -> None:
        """Show what is left."""
        self._take(self._redactor.close())
        self._buffer += self._decoder.decode(b"", final=True)
        rest, self._buffer = self._buffer, ""
        if rest:
            self._show(rest)

    def _show_lines(self) -> None:
        *lines, self._buffer = self._buffer.split("\n")
        for line in lines:
            self._show(line)
        if len(self._buffer) > MAX_LINE:
            self._show(self._buffer)
            self._buffer = ""

    def _show_whole(self) -> None:
        end = self._buffer.rfind("\n") + 1
        key = _open_key(self._buffer)
        if key is not None and len(self._buffer) - key < _MAX_HELD:
            end = min(end, key)
        elif len(self._buffer) - end > _MAX_HELD:
            end = len(self._buffer)  # one line without an end
        text, self._buffer = self._buffer[:end], self._buffer[end:]
        if text:
            self._show(text)


def _open_key(text: str) -> int | None:
    """Return where the line begins that begins a private key that has not ended yet."""
    last = None
    for match in PRIVATE_KEY_BEGIN.finditer(text):
        last = match
    if last is None or PRIVATE_KEY_END.search(text, last.end()):
        return None
    return text.rfind("\n", 0, last.start()) + 1
