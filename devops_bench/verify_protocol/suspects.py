r"""Text that says that something failed, where it is not read as the protocol's. Pure.

A line feed that is missing, a colour or a misspelt tag must not turn a failed check into nothing.
So every ``[FAIL]``-like word, every ``FAIL`` with a weight behind it and every ``PASS: False`` in
the output is looked for, whatever stands around it, in the reduced form of :mod:`plain`. There each
pattern matches a bounded number of bytes, so that the search is linear and can go from piece to
piece. "fail" as a word of a sentence is none of these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from devops_bench.verify_protocol.plain import NOISE, PlainStream, plain_forms

WINDOW: Final = 256
"""More bytes of a reduced form than any pattern here can match."""
TRACEBACK: Final = b"Traceback (most recent call last)"


def _word(letters: str) -> bytes:
    """Return the pattern of a word that may be interrupted by what is not seen."""
    return (NOISE + b"?").join(bytes([letter]) for letter in letters.encode())


def _words(*words: str) -> bytes:
    return rb"(?:" + rb"|".join(map(_word, words)) + rb")"


_N: Final = NOISE + rb"?"
_MARKS: Final = rb"[^a-z0-9_\n\[\]]"
_FAIL: Final = _word("fail") + rb"(?:" + _N + _words("ure", "ed", "s") + rb")?"
# "[fail]", "[ FAILED ]", "[FAIL: why]", "[FAIL #2]", "[FAIL - why]"; "[failed: 0]" counts.
_TAG: Final = re.compile(
    rb"\[" + _MARKS + rb"{0,8}" + _FAIL + rb"(?:" + _MARKS + rb"{0,8}\]"
    rb"|[ \0]?[:=#][ \0]?+(?:[^" + rb"0 \0]|0{1,8}[a-z1-9])|[ \0]-[ \0])"
)  # fmt: skip
_NUMBER: Final = rb"[+.,\-\0 ]{0,3}[0-9][0-9.,\0 ]{0,40}"
_OPEN: Final = rb"[(\[{<]"
_PT: Final = _word("pt") + rb"(?:" + _N + rb"s)?"
_POINTS: Final = rb"(?:" + _PT + rb"|" + _word("point") + rb"(?:" + _N + rb"s)?|p)"
_WEIGHT: Final = rb"(?:" + _OPEN + _NUMBER + _POINTS + rb"[^a-z]|" + _NUMBER + _PT + rb"[^a-z])"
# Behind "FAIL" there is a weight: "FAIL (5pt)", "[FAIL (5 pt)", "FAIL] (0.5pt)", "FAIL: [5pt]",
# "[FAIL later] (5pt)".
_WEIGHED: Final = re.compile(
    _FAIL + rb"(?:[^a-z0-9_\n(\[{<]{0,8}|[^a-z0-9_\n\[\]][^\n\[\]]{0,63}\]" + _MARKS + rb"{0,8})"
    + _WEIGHT
)  # fmt: skip
_BETWEEN: Final = rb"[^a-z0-9\n:=]{0,8}"
# Behind the first letter: a pattern that begins with one is found fast. Other letters may stand
# before it, where a line feed is missing: "checkingPASS: False".
_NOT_ANOTHER_WORD: Final = b"".join(
    rb"(?<!" + before + rb"p)" for before in (b"by", b"com", b"sur", b"tres", b"over", b"under")
)
_SAYS_FALSE: Final = re.compile(
    rb"p" + _NOT_ANOTHER_WORD + _N + _word("ass") + rb"(?:" + _N + _word("ed") + rb")?"
    + _BETWEEN + rb"[:=]{1,3}" + _BETWEEN + _word("false") + rb"(?:[^a-z0-9_-]|-[^a-z0-9])"
)  # fmt: skip
_FALSE: Final = re.compile(rb"(?<![a-z0-9_])" + _word("false") + rb"(?![a-z0-9_])")
PATTERNS: Final = (_TAG, _WEIGHED, _SAYS_FALSE)
"""For a reduced form; the end of the output counts as a line feed."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What a line holds.

    Attributes:
        tag: Something like ``[FAIL]``.
        lost: A failed check with its weight, or ``PASS: False``.
    """

    tag: bool = False
    lost: bool = False

    def __or__(self, other: Suspicion) -> Suspicion:
        """Return what either holds."""
        if not other:
            return self
        return Suspicion(self.tag or other.tag, self.lost or other.lost)

    def __bool__(self) -> bool:
        """Return whether there is anything."""
        return self.tag or self.lost


NOTHING: Final = Suspicion()


def suspicion(line: bytes) -> Suspicion:
    """Return what a part of a line holds.

    Args:
        line: With the line feed, where it is there; without it a word at the very end is not seen.
    """
    found = NOTHING
    if b"f" not in line and b"F" not in line:
        return found  # what every pattern needs, and most lines have not
    for form in plain_forms(line):
        found |= _search(form, 0)
    return found


def says_false(line: bytes) -> bool:
    """Return whether a line holds the word ``False``, in whatever spelling."""
    if b"f" not in line and b"F" not in line:
        return False
    return any(_FALSE.search(form) is not None for form in plain_forms(line))


def suspect_lines(block: bytes) -> set[int]:
    """Return which lines of a block hold anything, counted from 0.

    Args:
        block: Whole lines, the last one without its line feed or with it.
    """
    lines: set[int] = set()
    if b"f" not in block and b"F" not in block:
        return lines
    for form in plain_forms(block + b"\n"):
        for pattern in PATTERNS:
            counted = line = 0
            for match in pattern.finditer(form):
                line += form.count(b"\n", counted, match.start())
                counted = match.start()
                lines.add(line)
    return lines


def _search(form: bytes, seen: int) -> Suspicion:
    return Suspicion(
        tag=_ends_beyond(_TAG, form, seen),
        lost=_ends_beyond(_WEIGHED, form, seen) or _ends_beyond(_SAYS_FALSE, form, seen),
    )


def _ends_beyond(pattern: re.Pattern[bytes], form: bytes, seen: int) -> bool:
    return any(match.end() > seen for match in pattern.finditer(form))


class Tail:
    """Looks through what comes behind the part of a line that is read, piece by piece.

    Args:
        read: The part that is read; what is found within it is not found again.
    """

    def __init__(self, read: bytes) -> None:
        self._stream = PlainStream(WINDOW)
        self._stream.feed(read)
        self._window = read[-len(TRACEBACK) :]
        self.suspicion = NOTHING
        self.traceback = False
        self.blank = True

    def feed(self, data: bytes) -> None:
        """Look at the next piece."""
        self._look(self._stream.feed(data))
        searched = self._window + data
        self.traceback = self.traceback or TRACEBACK in searched
        self.blank = self.blank and not data.strip()
        self._window = searched[-len(TRACEBACK) :]

    def end(self) -> None:
        """Look at the end of the line."""
        self._look(self._stream.feed(b"\n", last=True))

    def _look(self, forms: tuple[tuple[bytes, int], ...]) -> None:
        for form, seen in forms:
            self.suspicion |= _search(form, seen)
