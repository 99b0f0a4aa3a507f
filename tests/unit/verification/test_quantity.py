from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import quantity as client

from devops_bench.verification.quantity import is_marked, parse_quantity, quantity_of

_SUFFIXES = {
    "": Fraction(1),
    **{s: Fraction(10) ** p for s, p in [("n", -9), ("u", -6), ("m", -3)]},
    **{s: Fraction(1000) ** p for p, s in enumerate("kMGTPE", start=1)},
    **{f"{s}i": Fraction(1024) ** p for p, s in enumerate("KMGTPE", start=1)},
}


def _theirs(text: str) -> Decimal:
    value: Decimal = client.parse_quantity(text)  # type: ignore[no-untyped-call]
    return value


_NUMBERS = st.from_regex(r"[+-]?([0-9]{1,30}(\.[0-9]{0,20})?|\.[0-9]{1,20})", fullmatch=True)


@given(_NUMBERS, st.sampled_from(sorted(_SUFFIXES)))
def test_every_quantity_has_its_exact_value(number: str, suffix: str) -> None:
    assert Fraction(parse_quantity(number + suffix)) == Fraction(number) * _SUFFIXES[suffix]


@given(_NUMBERS, st.sampled_from("eE"), st.integers(-1000, 1000))
def test_an_exponent_is_a_power_of_ten(number: str, letter: str, exponent: int) -> None:
    expected = Fraction(number) * Fraction(10) ** exponent
    assert Fraction(parse_quantity(f"{number}{letter}{exponent}")) == expected


@given(st.decimals(0, 10**6, places=3).map(str), st.sampled_from(sorted(set(_SUFFIXES) - {"n"})))
def test_it_agrees_with_the_clients_parser_where_that_is_exact(number: str, suffix: str) -> None:
    assert parse_quantity(number + suffix) == _theirs(number + suffix)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-inf", "1_000", " 1", "1 ", "1K", "0x10", "1e3Ki", "1.5e3m"]
)
def test_what_the_clients_parser_lets_through_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


def test_it_is_exact_where_the_clients_parser_rounds() -> None:
    text = "12345678901234567890123456789.5Ei"
    exact = Fraction("12345678901234567890123456789.5") * 1024**6
    assert Fraction(parse_quantity(text)) == exact
    assert Fraction(_theirs(text)) != exact


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m",
        ".",
        "+",
        "1Mi2",
        "ki",
        "1ki",
        "1mi",
        "1e",
        "1e1.5",
        "1e1001",
        "--1",
        "1i",
        "٣",
        "9" * 257,
    ],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a quantity|has an exponent"):
        parse_quantity(text)


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    try:
        value = parse_quantity(text)
    except ValueError:
        return
    assert value.is_finite()


@pytest.mark.parametrize("text", ["1Gi", "500m", "1e3", "1E", "0.5k"])
def test_a_suffix_or_an_exponent_marks_a_quantity(text: str) -> None:
    assert is_marked(text)


@pytest.mark.parametrize("text", ["1", "1.20", "v1", "", "1.2.3", "latest"])
def test_a_plain_number_or_a_word_is_not_marked(text: str) -> None:
    assert not is_marked(text)


def test_a_json_number_counts_as_the_digits_it_shows() -> None:
    assert quantity_of(0.1) == Decimal("0.1")
    assert quantity_of(3) == 3
    assert quantity_of(1e3) == 1000


@pytest.mark.parametrize("value", [True, False, None, [], {}, float("nan"), float("inf"), "abc"])
def test_anything_else_is_no_quantity(value: object) -> None:
    assert quantity_of(value) is None  # type: ignore[arg-type]
