"""Upper bounds of rates: exact, and never on the bright side."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.scoring.statistics import Rate, flakes, percent, upper_bound


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    total = draw(st.integers(1, 300))
    return Rate(draw(st.integers(0, total)), total)


def probability_of_at_most(count: int, total: int, rate: float) -> Fraction:
    """The same as the module's, by exact arithmetic."""
    exact = Fraction(rate)
    return sum(
        (
            math.comb(total, hits) * exact**hits * (1 - exact) ** (total - hits)
            for hits in range(count + 1)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize(
    ("count", "total", "bound"),
    [
        # 1 - 0.05 ** (1 / 20), and values of printed tables (one-sided 95 %).
        (0, 20, 0.1391),
        (1, 20, 0.2161),
        (0, 1, 0.95),
        (0, 100, 0.0295),
        (5, 10, 0.7776),
    ],
)
def test_known_bounds(count: int, total: int, bound: float) -> None:
    assert upper_bound(count, total) == pytest.approx(bound, abs=1e-4)


@given(st.integers(1, 2000))
def test_none_seen_is_the_closed_form_and_below_the_rule_of_three(total: int) -> None:
    bound = upper_bound(0, total)
    assert bound == pytest.approx(1 - 0.05 ** (1 / total), abs=1e-9)
    assert bound <= 3 / total


@given(rates())
def test_the_bound_is_where_so_few_become_unlikely(rate: Rate) -> None:
    bound = rate.upper
    assert rate.count / rate.total <= bound <= 1
    if rate.count < rate.total:
        small = Fraction(5, 100)
        assert abs(probability_of_at_most(rate.count, rate.total, bound) - small) < 1e-6


@given(rates())
def test_more_runs_without_it_lower_the_bound_and_one_more_of_it_raises_it(rate: Rate) -> None:
    assert upper_bound(rate.count, rate.total + 1) <= rate.upper
    assert upper_bound(rate.count + 1, rate.total + 1) >= rate.upper


@given(rates(), st.floats(0.5, 0.98), st.floats(0.001, 0.019))
def test_more_confidence_raises_it(rate: Rate, confidence: float, more: float) -> None:
    low = upper_bound(rate.count, rate.total, confidence)
    assert upper_bound(rate.count, rate.total, confidence + more) >= low


def test_without_runs_nothing_is_known() -> None:
    assert Rate(0, 0).share is None
    assert Rate(0, 0).upper == 1.0


@pytest.mark.parametrize(("count", "total"), [(-1, 3), (4, 3), (0, -1)])
def test_what_is_no_rate_is_refused(count: int, total: int) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        Rate(count, total)
    with pytest.raises(ValueError, match="is no rate"):
        upper_bound(count, total)


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        upper_bound(0, 3, confidence)


@given(rates(), rates())
def test_rates_add_up(one: Rate, other: Rate) -> None:
    both = one + other
    assert (both.count, both.total) == (one.count + other.count, one.total + other.total)


class TestFlakes:
    def test_runs_that_agree_have_none(self) -> None:
        assert flakes(["failed"] * 5) == Rate(0, 5)

    def test_those_outside_the_majority_count(self) -> None:
        assert flakes(["failed", "passed", "failed", "error"]) == Rate(2, 4)

    @given(st.lists(st.integers(0, 3)))
    def test_never_more_than_the_majority_leaves(self, results: list[int]) -> None:
        rate = flakes(results)
        assert rate.total == len(results)
        assert rate.total == 0 or rate.count < rate.total
        assert (rate.count == 0) == (len(set(results)) <= 1)


class TestPercent:
    @pytest.mark.parametrize(
        ("share", "text"),
        [(0.1391, "14 %"), (0.14, "14 %"), (0.0, "0 %"), (1.0, "100 %"), (0.0041, "0.5 %")],
    )
    def test_it_is_rounded_up(self, share: float, text: str) -> None:
        assert percent(share) == text

    @given(st.floats(0, 1))
    def test_it_never_says_less(self, share: float) -> None:
        assert float(percent(share).removesuffix(" %")) / 100 >= share - 1e-9
