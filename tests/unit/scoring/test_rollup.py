"""Weighted fractions, and what withholds them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from devops_bench.scoring.rollup import Part, ScoredEntry, Verdict, rollup
from tests.unit.scoring.strategies import entries_of


def entry(part: Part, weight: float, verdict: Verdict, name: str = "e") -> ScoredEntry:
    return ScoredEntry(name, part, weight, verdict)


def test_the_share_is_weighted() -> None:
    entries = [entry("objective", 3, "pass"), entry("objective", 1, "fail", "lost")]
    result = rollup(entries, "objective")
    assert result.value == 0.75
    assert result.failed == ("lost",)


def test_nothing_declared_is_none_and_not_zero() -> None:
    assert rollup([entry("recoverable", 1, "fail")], "objective").value is None


@pytest.mark.parametrize("part", ["objective", "recoverable"])
@pytest.mark.parametrize("other", ["pass", "fail"])
def test_one_error_withholds_the_share(part: Part, other: Verdict) -> None:
    result = rollup([entry(part, 1, other), entry(part, 1, "error", "lost")], part)
    assert result.value is None
    assert result.errored == ("lost",)


def test_one_catastrophic_violation_is_zero_whatever_else_errored() -> None:
    entries = [entry("catastrophic", 1, verdict) for verdict in ("pass", "error", "fail")]
    assert rollup(entries, "catastrophic").value == 0


@given(entries_of("objective", verdicts=("pass",)))
def test_all_passed_is_exactly_one(entries: list[ScoredEntry]) -> None:
    assert rollup(entries, "objective").value == (1.0 if entries else None)


@given(entries_of("objective", verdicts=("pass", "fail")))
def test_the_order_does_not_matter(entries: list[ScoredEntry]) -> None:
    assert rollup(entries, "objective").value == rollup(entries[::-1], "objective").value


@given(entries_of("objective", verdicts=("pass", "fail")))
def test_the_share_is_within_bounds(entries: list[ScoredEntry]) -> None:
    value = rollup(entries, "objective").value
    assert value is None or 0 <= value <= 1


@pytest.mark.parametrize("weight", [0, -1, math.inf, math.nan])
def test_a_weight_that_means_nothing_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        entry("objective", weight, "pass")
