"""Which patterns are found in every text there can be, the empty one and those of several lines.

Nothing is guessed from samples: it is proved, or the answer is no. Whether RE2 finds the empty text
at a place depends on nothing but the characters beside it, and of those only on whether there is
none, a line feed, a character of a word or another one
(https://github.com/google/re2/wiki/Syntax, empty strings). A pattern that is found empty at the
beginning before each of the four is found in every text; so is one that is found empty at the end
after each. Beyond that a few ways to write "the whole text, whatever it is" are known.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from devops_bench.verification.regex import compile_pattern

_BESIDE: Final = ("", "\n", "a", " ")
_ANY: Final = r"(?:\[(?:\\s\\S|\\S\\s|\\w\\W|\\W\\w|\\d\\D|\\D\\d)\]|\\C)\*\??"
_BEGIN: Final = r"(?:\^|\\A)"
_END: Final = r"(?:\$|\\z)"
_WHOLE: Final = re.compile(
    rf"{_BEGIN}{_ANY}{_END}"
    rf"|\(\?[imU]*s[imsU]*\){_BEGIN}\.\*\??{_END}"
    rf"|{_BEGIN}\(\?[imU]*s[imsU]*:\.\*\??\){_END}"
    r"|\(\?[isU]*m[imsU]*\)\^\.\*\??\$"
)


@lru_cache(maxsize=4096)
def is_found_everywhere(text: str) -> bool:
    """Return whether the pattern ``text`` is certainly found in every text."""
    if not _is_found(text, ""):
        return False
    before = all(_is_found(rf"\A(?:{text}){re.escape(one)}\z", one) for one in _BESIDE)
    after = all(_is_found(rf"\A{re.escape(one)}(?:{text})\z", one) for one in _BESIDE)
    return before or after or _inside(text)


def _inside(text: str) -> bool:
    """Return whether the pattern is one that is known, within groups that change nothing."""
    while not _WHOLE.fullmatch(text):
        inner = re.fullmatch(r"\((?:\?:)?(.*)\)", text, re.DOTALL)
        if inner is None or not _compiles(inner[1]):
            return False
        text = inner[1]
    return True


def _compiles(text: str) -> bool:
    try:
        compile_pattern(text)
    except ValueError:
        return False
    return True


def _is_found(pattern: str, text: str) -> bool:
    try:
        return compile_pattern(pattern).search(text)
    except ValueError:  # no pattern, or what follows is swallowed by a \Q
        return False
