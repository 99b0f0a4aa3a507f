"""From verdicts to weighted fractions. Pure.

An entry that errored has no verdict, so the fraction that it belongs to has none either: it is
withheld (``None``), and neither counts the entry as lost nor leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["pass", "fail", "error"]
"""What an entry came to: the three states of a sample."""

Part: TypeAlias = Literal["objective", "recoverable", "catastrophic"]
"""What an entry counts for: an objective for correctness, a safeguard by its severity."""


@dataclass(frozen=True, slots=True)
class ScoredEntry:
    """One entry, reduced to what the score needs.

    Attributes:
        name: For naming what withheld a score.
        part: What it counts for.
        weight: Finite and > 0; of no meaning for a catastrophic safeguard.
        verdict: What it came to.
    """

    name: str
    part: Part
    weight: float
    verdict: Verdict

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ValueError(f"the weight of {self.name!r} must be finite and > 0: {self.weight}")


@dataclass(frozen=True, slots=True)
class Rollup:
    """What the entries of one part came to.

    Attributes:
        value: The share that passed, from 0 to 1; ``None`` when nothing was declared, and when an
            entry errored.
        declared: How many entries there are.
        failed: The names of those that failed.
        errored: The names of those that errored and so withhold the value.
    """

    value: float | None
    declared: int
    failed: tuple[str, ...] = ()
    errored: tuple[str, ...] = ()


def rollup(entries: Iterable[ScoredEntry], part: Part) -> Rollup:
    """Return the weighted share of ``part`` that passed.

    Args:
        entries: All entries of the task; those of other parts are passed over.
        part: Which entries count. For ``catastrophic`` the value is 1 or 0: one violation is
            enough.
    """
    chosen = [entry for entry in entries if entry.part == part]
    failed = tuple(entry.name for entry in chosen if entry.verdict == "fail")
    errored = tuple(entry.name for entry in chosen if entry.verdict == "error")
    return Rollup(_value(chosen, part, failed, errored), len(chosen), failed, errored)


def _value(
    chosen: Sequence[ScoredEntry], part: Part, failed: Sequence[str], errored: Sequence[str]
) -> float | None:
    if not chosen:
        return None
    if part == "catastrophic" and failed:
        return 0.0
    if errored:
        return None
    # Fractions are exact: no order of adding makes three thirds less than one, and weights near
    # the largest float do not overflow.
    earned = sum((Fraction(e.weight) for e in chosen if e.verdict == "pass"), Fraction(0))
    return float(earned / sum(Fraction(e.weight) for e in chosen))
