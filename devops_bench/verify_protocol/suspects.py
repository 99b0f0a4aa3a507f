"""Text that says that something failed, where it is not read as the protocol's. Pure.

A line feed that is missing, a colour or a misspelt tag must not turn a failed check into nothing.
So every ``[FAIL]``-like word and every ``PASS: False`` in the output is looked for, whatever stands
around it. Each pattern matches a bounded number of bytes, so that the search is linear and can go
from piece to piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 128
"""More bytes than any pattern here can match."""
TRACEBACK: Final = b"Traceback (most recent call last)"

_COLOUR: Final = rb"\x1b\[[0-9;]{0,8}[a-z]"
_BETWEEN: Final = rb"(?:" + _COLOUR + rb"|[^\w\n\[\]]){0,4}"
# "[fail]", "[ FAILED ]", and with a colour within the brackets.
_TAG: Final = re.compile(rb"\[" + _BETWEEN + rb"fail(?:ed|ure)?" + _BETWEEN + rb"\]")
# Behind "FAIL" there is a weight: "FAIL (5pt)", "[FAIL (5 pt)", "FAIL] (0.5pt)".
_WEIGHED: Final = re.compile(
    rb"fail(?:ed|ure)?(?:" + _COLOUR + rb"|[^\w\n(]){0,4}\([^\S\n]{0,4}[0-9.,+-]{1,12}[^\S\n]{0,4}p"
)
_SAYS_FALSE: Final = re.compile(rb"pass(?:ed)?[^\S\n]{0,8}[:=][^\S\n]{0,8}false[^a-z0-9_-]")
PATTERNS: Final = (_TAG, _WEIGHED, _SAYS_FALSE)
"""For bytes in lower case; the end of the output counts as a line feed."""


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
    low = line.lower()
    if b"fa" not in low:
        return NOTHING  # what every pattern needs, and most lines have not
    return Suspicion(
        tag=_TAG.search(low) is not None,
        lost=_WEIGHED.search(low) is not None or _SAYS_FALSE.search(low) is not None,
    )


class Tail:
    """Looks through what comes behind the part of a line that is read, piece by piece.

    Args:
        read: The part that is read.
    """

    def __init__(self, read: bytes) -> None:
        self._window = read[-WINDOW:]
        self.suspicion = NOTHING
        self.traceback = False
        self.blank = True

    def feed(self, data: bytes) -> None:
        """Look at the next piece."""
        searched = self._window + data
        self.suspicion |= suspicion(searched)
        self.traceback = self.traceback or TRACEBACK in searched
        self.blank = self.blank and not data.strip()
        self._window = searched[-WINDOW:]

    def end(self) -> None:
        """Look at the end of the line."""
        self.suspicion |= suspicion(self._window + b"\n")
