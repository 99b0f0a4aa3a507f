r"""One line of a script's output: is it one of the protocol's, and what does it say?

Every pattern here takes time linear in the line: runs that follow each other share no character,
and what could be tried again from within a run is possessive or begins at the run's start.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

from devops_bench.verify_protocol.model import Check, ScoreLine

MAX_DIGITS: Final = 4000
"""Longest number that is read; Python itself refuses to convert more than 4,300 digits."""

_DETAIL: Final = re.compile(r"(?<!\s)\s{2,}+\(")
_CHECK: Final = re.compile(r"\[(PASS|FAIL)\]\s+\(([0-9]+)pt\)\s+(?=\S)")
_SCORE: Final = re.compile(r"SCORE:\s*(\S+)\s+PASS:\s*(True|False)\s+\(([0-9]+)/([0-9]+)\)")
_SAYS_FAIL: Final = re.compile(r"PASS:\s*False\b")
_FLOAT: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,9})?|inf|infinity|nan)", re.IGNORECASE
)
# A printed float has at most 17 significant digits and an exponent of at least -324.
_MOST_DECIMALS: Final = 400


def split_detail(text: str) -> tuple[str, str]:
    """Return the label and the detail of what stands after the weight.

    The detail is set off by two or more blanks and stands in parentheses that reach to the end;
    anything else belongs to the label, parentheses included.

    Args:
        text: Without blanks at its ends.
    """
    if text.endswith(")"):
        for match in _DETAIL.finditer(text):
            if match.end() < len(text) - 1:
                return text[: match.start()], text[match.end() : -1].strip()
    return text, ""


def read_check(line: str) -> Check | None:
    """Return the check that a line states, ``None`` when it is no well-formed one.

    Args:
        line: Without blanks at its ends.
    """
    match = _CHECK.match(line)
    if match is None or len(match[2]) > MAX_DIGITS:
        return None
    label, detail = split_detail(line[match.end() :])
    return Check(label=label, weight=int(match[2]), passed=match[1] == "PASS", detail=detail)


def read_score(line: str) -> ScoreLine | None:
    """Return what a SCORE line states, ``None`` when it is no well-formed one.

    Args:
        line: Without blanks at its ends; what follows the fraction is of no meaning.
    """
    match = _SCORE.match(line)
    if match is None or max(map(len, match.groups())) > MAX_DIGITS:
        return None
    if _FLOAT.fullmatch(match[1]) is None:
        return None
    return ScoreLine(match[1], match[2] == "True", int(match[3]), int(match[4]))


def says_fail(line: str) -> bool:
    """Return whether a SCORE line, however malformed, says ``PASS: False``."""
    return _SAYS_FAIL.search(line) is not None


def agrees_at_its_digits(printed: str, exact: Fraction) -> bool:
    """Return whether ``printed`` is ``exact``, rounded to as many decimals as it shows.

    Args:
        printed: A number as :func:`read_score` lets through.
        exact: What it should be, 0 to 1.
    """
    try:
        value = Decimal(printed)
    except InvalidOperation:
        return False
    exponent = value.as_tuple().exponent
    # Far from 0 to 1, or with an absurd exponent, it is never right, and slow to compute with.
    if not isinstance(exponent, int) or exponent < -_MOST_DECIMALS or not -1 <= value <= 2:
        return False
    decimals = max(0, -exponent)
    return abs(Fraction(value) - exact) <= Fraction(1, 2 * 10**decimals)
