"""Lines as editors count them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.lines import Lines


@given(st.text(alphabet="ab\n\r\x85\u2028\u2029\x0b\x0c", max_size=30), st.data())
def test_a_place_is_that_of_a_reader_that_ends_lines_as_editors_do(
    text: str, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(text)))
    before = text[:index]
    if before.endswith("\r") and text[index : index + 1] == "\n":
        return  # within a line's end
    lines = io.StringIO(before + "|", newline=None).readlines()
    assert Lines(text).place(index) == (len(lines), len(lines[-1]))


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029", "\x0b", "\x0c"])
def test_what_only_yaml_or_python_takes_for_a_line_end_is_none(odd: str) -> None:
    assert Lines(f"a{odd}b").place(2) == (1, 3)
    assert Lines(f"a{odd}\r\nb").place(4) == (2, 1)
