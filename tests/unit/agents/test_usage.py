"""Tokens and what they cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.usage import Prices, Usage, parse_prices
from devops_bench.core.errors import InvalidInputError

counts = st.none() | st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts, counts, counts, st.none())


@given(usages, usages, usages)
def test_adding_is_associative_and_nothing_is_its_zero(a: Usage, b: Usage, c: Usage) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + Usage() == a == Usage() + a


@given(usages)
def test_a_cost_is_said_only_where_all_is_known(usage: Usage) -> None:
    priced = Prices(3.0, 15.0, 0.3).priced(usage)
    known = usage.input_tokens is not None and usage.output_tokens is not None
    assert (priced.cost_usd is not None) == known
    assert priced.input_tokens == usage.input_tokens


def test_the_price_of_a_cached_token_is_its_own() -> None:
    usage = Usage(1_000_000, 1_000_000, 400_000)
    assert Prices(10.0, 20.0, 1.0).priced(usage).cost_usd == pytest.approx(26.4)
    assert Prices(10.0, 20.0).priced(usage).cost_usd == pytest.approx(30.0)


def test_what_the_agent_says_stands() -> None:
    assert Prices(1.0, 1.0).priced(Usage(1, 1, cost_usd=7.0)).cost_usd == 7.0


def test_prices_are_parsed() -> None:
    assert parse_prices("3,15") == Prices(3.0, 15.0)
    assert parse_prices("3,15,0.3") == Prices(3.0, 15.0, 0.3)


@pytest.mark.parametrize("text", ["", "3", "3,x", "3,-1", "3,inf", "1,2,3,4", "nan,1"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="per million tokens"):
        parse_prices(text)
