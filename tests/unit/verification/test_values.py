from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonValue
from devops_bench.verification.values import (
    Answer,
    ComparingOp,
    Undecided,
    compare,
    every,
    some,
)

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_JSON: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_OPS: Any = st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "contains"])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (4, 4),
        (4, "4"),
        (1.2, "1.20"),
        ("1Gi", "1024Mi"),
        ("500m", "0.5"),
        ("0.5", 0.5),
        ("1e3", "1000"),
        ("1000m", 1),
        ("nginx:1.27", "nginx:1.27"),
        (True, True),
        ([1, "a"], ["1", "a"]),
        ({"cpu": "1"}, {"cpu": "1000m"}),
        ({}, {}),
    ],
)
def test_equal(left: JsonValue, right: JsonValue) -> None:
    assert compare("eq", left, right) is True
    assert compare("eq", right, left) is True
    assert compare("ne", left, right) is False


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1.20", "1.2"),
        ("01", "1"),
        (True, "true"),
        (True, 1),
        (False, 0),
        (80, "http"),
        ("1Gi", "1G"),
        ("a", "A"),
        ("", 0),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        ({"a": True}, {"a": 1}),
    ],
)
def test_not_equal(left: JsonValue, right: JsonValue) -> None:
    assert compare("eq", left, right) is False
    assert compare("eq", right, left) is False
    assert compare("ne", left, right) is True


@pytest.mark.parametrize(("left", "right"), [({}, "a"), ([], 1), ([1], {"a": 1}), (True, [])])
def test_a_container_and_something_else_are_undecided(left: JsonValue, right: JsonValue) -> None:
    ops: tuple[ComparingOp, ...] = ("eq", "ne")
    for op in ops:
        assert isinstance(compare(op, left, right), Undecided)


@pytest.mark.parametrize(
    ("op", "left", "right", "answer"),
    [
        ("gt", "193Mi", "192Mi", True),
        ("gte", "192Mi", "192Mi", True),
        ("lt", "100m", 1, True),
        ("lt", "1.10", "1.9", True),
        ("lte", 2, "1", False),
        ("gt", 0.3, "0.3", False),
    ],
)
def test_quantities_are_ordered(op: Any, left: JsonValue, right: JsonValue, answer: bool) -> None:
    assert compare(op, left, right) is answer


@pytest.mark.parametrize("value", ["abc", True, None, [], {}, "1_0", "NaN", "1.2.3"])
@pytest.mark.parametrize("op", ["gt", "gte", "lt", "lte"])
def test_what_is_no_quantity_is_not_ordered(op: Any, value: JsonValue) -> None:
    assert isinstance(compare(op, value, 1), Undecided)
    assert isinstance(compare(op, 1, value), Undecided)


@pytest.mark.parametrize(
    ("actual", "expected", "answer"),
    [
        ("nginx:1.27", "nginx", True),
        ("nginx", "apache", False),
        (["a", "b"], "b", True),
        (["1"], 1, True),
        ([], "b", False),
        ({"app": "web"}, "app", True),
        ({"app": "web"}, "web", False),
        ([{"a": 1}, "b"], "b", True),
    ],
)
def test_contains(actual: JsonValue, expected: JsonValue, answer: bool) -> None:
    assert compare("contains", actual, expected) is answer


@pytest.mark.parametrize(
    ("actual", "expected"), [(4, "4"), (None, "a"), ("4", 4), ({"1": 2}, 1), ([{"a": 1}], "b")]
)
def test_contains_is_undecided_where_it_makes_no_sense(
    actual: JsonValue, expected: JsonValue
) -> None:
    assert isinstance(compare("contains", actual, expected), Undecided)


def test_matches_searches_and_needs_a_string() -> None:
    assert compare("matches", "nginx:1.27.3", r"1\.2[0-9]") is True
    assert compare("matches", "nginx", "^apache") is False
    assert isinstance(compare("matches", 4, "4"), Undecided)


@given(_OPS, _JSON, _JSON)
def test_every_comparison_has_an_answer(op: Any, left: JsonValue, right: JsonValue) -> None:
    assert isinstance(compare(op, left, right), bool | Undecided)


@given(_JSON, _JSON)
def test_ne_is_the_opposite_of_eq_and_eq_is_symmetric(left: JsonValue, right: JsonValue) -> None:
    forth, back, ne = (
        compare("eq", left, right),
        compare("eq", right, left),
        compare("ne", left, right),
    )
    if isinstance(forth, Undecided):
        assert isinstance(ne, Undecided)
        assert isinstance(back, Undecided)
    else:
        assert ne is not forth
        assert back is forth


@given(_JSON)
def test_everything_equals_itself(value: JsonValue) -> None:
    assert compare("eq", value, value) is True


@given(st.booleans(), _JSON)
def test_a_boolean_equals_only_a_boolean(flag: bool, value: JsonValue) -> None:
    if not isinstance(value, bool):
        assert compare("eq", flag, value) is not True


@given(st.integers(-5, 5), st.integers(-5, 5), st.sampled_from(["", "m", "Mi", "k"]))
def test_the_ordering_ops_agree_with_each_other(left: int, right: int, suffix: str) -> None:
    a, b = f"{left}{suffix}", f"{right}{suffix}"
    assert compare("gt", a, b) is (left > right)
    assert compare("lte", a, b) is (left <= right)
    assert compare("gte", a, b) is compare("lte", b, a)
    assert compare("lt", a, b) is compare("gt", b, a)


def test_an_undecided_answer_cannot_be_taken_for_a_truth() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(Undecided("why"))


@given(st.lists(st.sampled_from([True, False, Undecided("?")])))
def test_every_and_some_are_kleenes(answers: list[Answer]) -> None:
    decided = [a for a in answers if isinstance(a, bool)]
    unknown = len(decided) < len(answers)
    if False in decided:
        assert every(answers) is False
    else:
        assert isinstance(every(answers), Undecided) if unknown else every(answers) is True
    if True in decided:
        assert some(answers) is True
    else:
        assert isinstance(some(answers), Undecided) if unknown else some(answers) is False
