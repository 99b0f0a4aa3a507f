from __future__ import annotations

from typing import cast, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from devops_bench.core.json import JsonValue
from devops_bench.lint.comparing import never_compares
from devops_bench.lint.schemas import Shape
from devops_bench.verification.values import ComparingOp, Undecided, compare

OPS = get_args(ComparingOp)

VALUES: dict[str, st.SearchStrategy[JsonValue]] = {
    "boolean": st.booleans(),
    "integer": st.integers(-100, 100),
    "number": st.floats(-100, 100),
    "string": st.one_of(st.text(max_size=5), st.sampled_from(["1", "500m", "true", "web"])),
    "array": st.lists(st.sampled_from(["a", "1"]), max_size=3).map(
        lambda one: cast(JsonValue, one)
    ),
    "object": st.dictionaries(st.sampled_from("ab"), st.just("1"), max_size=2).map(
        lambda one: cast(JsonValue, one)
    ),
}
ANY = st.one_of(*VALUES.values())


@given(st.sampled_from(sorted(VALUES)), st.sampled_from(OPS), ANY, st.data())
def test_what_never_compares_has_one_answer_for_every_value(
    kind: str, op: ComparingOp, expected: JsonValue, data: st.DataObject
) -> None:
    if op == "matches":
        assume(isinstance(expected, str) and expected.isalnum())
    reason = never_compares(op, Shape({"type": [kind, "null"]}, {}), expected)
    assume(reason is not None)
    answer = compare(op, data.draw(VALUES[kind]), expected)
    assert isinstance(answer, Undecided) or answer is (op == "ne")


@pytest.mark.parametrize(
    ("op", "raw", "expected"),
    [
        ("eq", {"type": "boolean"}, "true"),
        ("ne", {"type": "boolean"}, "true"),
        ("eq", {"type": "string"}, True),
        ("eq", {"type": "integer"}, "four"),
        ("eq", {"type": "integer"}, True),
        ("eq", {"type": "array"}, "a"),
        ("gte", {"type": "boolean"}, 1),
        ("lt", {"type": "array"}, 1),
        ("gt", {"type": "string", "format": "date-time"}, 1),
        ("matches", {"type": "integer"}, "^4$"),
        ("contains", {"type": "integer"}, "4"),
        ("contains", {"type": "string"}, 4),
        ("contains", {"type": "array", "items": {"type": "object"}}, 80),
        ("contains", {"type": "array", "items": {"type": "string"}}, True),
        ("eq", {"type": "string", "format": "byte"}, "hunter2"),
        ("ne", {"type": "string", "format": "byte"}, "aHVu\ndGVyMg=="),
    ],
)
def test_what_never_compares(op: str, raw: dict[str, JsonValue], expected: JsonValue) -> None:
    assert never_compares(op, Shape(raw, {}), expected)


@pytest.mark.parametrize(
    ("op", "raw", "expected"),
    [
        ("eq", {"type": "integer"}, "4"),
        ("eq", {"type": "string"}, 4),
        ("eq", {"type": "integer"}, "{{N}}"),
        ("eq", {"x-kubernetes-int-or-string": True}, "25%"),
        ("gte", {"oneOf": [{"type": "string"}, {"type": "number"}]}, "64Mi"),
        ("gte", {"type": "string"}, 1),
        ("contains", {"type": "object"}, "key"),
        ("contains", {"type": "array"}, 4),
        ("contains", {"type": "array", "items": {"type": "object"}}, {"a": 1}),
        ("contains", {"type": "array", "items": {"type": "string"}}, "4"),
        ("eq", {"type": "string", "format": "byte"}, "aHVudGVyMg=="),
        ("eq", {"type": "string", "format": "byte"}, "{{TOKEN}}"),
        ("eq", {"type": "string", "format": "byte"}, ""),
        ("exists", {"type": "boolean"}, None),
        ("absent", {"type": "boolean"}, None),
        ("eq", {}, True),
        ("gte", {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}, 1),
    ],
)
def test_what_may_compare(op: str, raw: dict[str, JsonValue], expected: JsonValue) -> None:
    assert never_compares(op, Shape(raw, {}), expected) is None
