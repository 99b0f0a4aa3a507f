"""JSON that a person wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import DuplicateKeyError, JsonValue, parse_written

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(TREES)
def test_it_reads_what_json_writes(value: JsonValue) -> None:
    assert parse_written(json.dumps(value).encode()) == value


@given(st.text(), TREES, TREES)
def test_a_key_twice_is_refused_at_any_depth(key: str, one: JsonValue, other: JsonValue) -> None:
    name = json.dumps(key)
    text = f"[{{{name}: {json.dumps(one)}, {name}: {json.dumps(other)}}}]"
    with pytest.raises(DuplicateKeyError, match="is there twice"):
        parse_written(text.encode())


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "{", "", "[" * 100_000])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_written(text.encode())
