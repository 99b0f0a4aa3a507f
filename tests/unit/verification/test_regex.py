from __future__ import annotations

import pytest

from devops_bench.verification.regex import compile_pattern


def test_it_searches_anywhere() -> None:
    pattern = compile_pattern("b+")
    assert pattern.search("abbc")
    assert not pattern.search("ac")
    assert compile_pattern("^ü$").search("ü")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (r"(?=a)", "no look-around"),
        (r"(?>a)b", "no atomic groups"),
        (r"(a)\1", "invalid escape sequence"),
        (r"a\Z", r"the end of the text is \\z"),
        (r"(a", "missing"),
        (r"a{2000}", "at most 1000 times"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_re2_refuses_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        compile_pattern(text)


def test_a_pattern_that_explodes_elsewhere_is_linear() -> None:
    # With backtracking this takes 2^n steps for n letters.
    assert not compile_pattern(r"^(a+)+$").search("a" * 20_000 + "b")


def test_half_a_surrogate_pair_in_the_text_is_just_a_character() -> None:
    assert compile_pattern("a.b").search("a\ud800b")
