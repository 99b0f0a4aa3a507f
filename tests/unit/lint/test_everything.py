"""What is called found in every text is found in every text, by the engine that judges."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.lint.everything import is_found_everywhere
from devops_bench.verification.regex import compile_pattern

EVERYTHING = [
    "",
    ".*",
    "a*",
    "x|",
    "|x",
    "(?s).*",
    "^",
    "$",
    "(?i)",
    "(?:)",
    "()",
    "a?",
    "(a|b?)",
    "^.*",
    ".*$",
    ".{0,5}",
    r"\A",
    r"\z",
    "(?m)^",
    "(?m)$",
    "(?m)^.*$",
    "(?s)^.*$",
    r"(?s)\A.*\z",
    "^(?s:.*)$",
    r"^[\s\S]*$",
    "((?s)^.*$)",
    r"(\b|)",
    "(?s:.*)",
    "a*?",
    "(?U)a*",
    r"\B|\b",
    r"x*\Qa\E*",
]
NOT = [
    ".",
    ".+",
    "^.+$",
    "^.*$",
    "^.{0,}$",
    "^$",
    "[^x]",
    "(?s).",
    "(?s)^.+$",
    "(?m)^.+$",
    "^.{0,999}$",
    "(?s)^.{0,1000}$",
    r"\b",
    r"\B",
    r"^[^\x{4e2d}]*$",
    "^(?:[^a]|a+[^ab])*a*$",
    "^[ -~]*$",
    r"(?s)^\PL*$",
    r"(?m)\A.*\z",
    r"(?-s)^.*$",
    "(?m)^$",
    r"^\B",
    "x*\\Q",
    "(",
    "(?s)^.*$x",
    "(^.*$)|(.)",
]


@pytest.mark.parametrize("pattern", EVERYTHING)
def test_found_in_every_text(pattern: str) -> None:
    assert is_found_everywhere(pattern)


@pytest.mark.parametrize("pattern", NOT)
def test_not_found_in_some_text(pattern: str) -> None:
    assert not is_found_everywhere(pattern)


PARTS = [
    "",
    ".",
    "a",
    "^",
    "$",
    "*",
    "+",
    "?",
    "|",
    "(",
    ")",
    "(?s)",
    "(?m)",
    "(?:",
    r"\b",
    r"\B",
    r"\A",
    r"\z",
    "[^a]",
    r"[\s\S]",
    "{0,3}",
    r"\n",
    "(?i)",
    r"\s",
    r"\w",
]


@settings(max_examples=600)
@given(
    st.lists(st.sampled_from(PARTS), max_size=7).map("".join) | st.sampled_from(EVERYTHING),
    st.text(alphabet="aAb \n\té", max_size=6) | st.text(max_size=6),
)
def test_what_is_called_everything_misses_no_text(pattern: str, text: str) -> None:
    if is_found_everywhere(pattern):
        assert compile_pattern(pattern).search(text)
