"""What repeated runs say about a rate. Pure.

Zero of twenty is no proof of zero: the true rate may be as high as 14 %. The bound is Clopper and
Pearson's (Biometrika 26, 1934), which is exact: it never claims more than the confidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

CONFIDENCE: Final = 0.95
"""How sure an upper bound is, one-sided: the usual 95 %."""

_STEPS: Final = 60


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened.

    Attributes:
        count: How often, 0 to ``total``.
        total: In how many runs, ≥ 0.
    """

    count: int
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.total:
            raise ValueError(f"{self.count} of {self.total} is no rate")

    @property
    def share(self) -> float | None:
        """The observed share, 0 to 1; ``None`` without runs."""
        return self.count / self.total if self.total else None

    @property
    def upper(self) -> float:
        """The upper bound of the true rate (:func:`upper_bound`); 1 without runs."""
        return upper_bound(self.count, self.total)

    def __add__(self, other: Rate) -> Rate:
        """Return the rate over both groups of runs."""
        return Rate(self.count + other.count, self.total + other.total)


def upper_bound(count: int, total: int, confidence: float = CONFIDENCE) -> float:
    """Return the rate that is only exceeded by a true rate with probability 1 - ``confidence``.

    It holds for runs that do not influence each other and have one true rate.

    Args:
        count: How often it happened, 0 to ``total``.
        total: In how many runs, ≥ 0; without any, nothing is known and the bound is 1.
        confidence: Between 0 and 1, both excluded.

    Returns:
        A number from 0 to 1; never below ``count / total``, and rounded up, never down.

    Raises:
        ValueError: An argument is out of its range.
    """
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is no rate")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence is between 0 and 1, not {confidence}")
    if count == total:
        return 1.0
    # The bound is where seeing so few becomes as unlikely as 1 - confidence; that falls with p.
    low, high = count / total, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(count, total, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(count: int, total: int, rate: float) -> float:
    """Return the probability of at most ``count`` of ``total`` at a rate between 0 and 1."""
    if rate <= 0:
        return 1.0
    if rate >= 1:
        return 0.0
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    all_ways = math.lgamma(total + 1)
    terms = (
        math.exp(
            all_ways
            - math.lgamma(hits + 1)
            - math.lgamma(total - hits + 1)
            + hits * log_rate
            + (total - hits) * log_rest
        )
        for hits in range(count + 1)
    )
    return math.fsum(terms)


def flakes(results: Iterable[Hashable]) -> Rate:
    """Return how many of one control's runs came to something else than most of them did.

    Args:
        results: What each run came to; equal values are the same result.
    """
    counts = Counter(results)
    total = counts.total()
    return Rate(total - max(counts.values(), default=0), total)


def percent(share: float) -> str:
    """Return a bound for a reader, rounded up: ``14 %``, below one percent with a digit more."""
    tenths = math.ceil(round(share * 1000, 9))
    return f"{tenths / 10:g} %" if tenths < 10 else f"{math.ceil(tenths / 10)} %"
