"""Exceptions on one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from devops_bench.core.faults import in_one_line, named


class Inner(BaseModel):
    n: int


class Outer(BaseModel):
    inner: list[Inner]
    name: str


def fault(value: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(value)
    return caught.value


def test_of_many_faults_the_first_is_told_with_its_place() -> None:
    found = in_one_line(fault({"inner": [{"n": 1}, {"n": "x"}]}))
    assert found.startswith("inner[1].n: Input should be a valid integer")
    assert found.endswith(" (and 1 more)")


def test_a_fault_of_the_whole_has_no_place() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python("x")
    assert in_one_line(caught.value).startswith("Input should be")


def test_it_is_told_by_its_type_too() -> None:
    assert named(fault({"inner": []})) == "ValidationError: name: Field required"
    assert named(KeyError("x")) == "KeyError: 'x'"
    assert named(RuntimeError()) == "RuntimeError"


@given(st.text())
def test_whatever_is_said_it_is_one_line(text: str) -> None:
    for said in (in_one_line(ValueError(text)), in_one_line(fault({"inner": [], text: text}))):
        assert said
        assert len(said.splitlines()) == 1
        assert "https://" not in said or "https://" in text
