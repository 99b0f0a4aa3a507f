from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.similar import closest

KNOWN = ("value", "failure_hint", "hold_window_sec", "hold_settle_sec", "kind", "resource_name")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("failure", "failure_hint"),  # 'value' is more alike
        ("Failure_Hint", "failure_hint"),
        ("hold_window", "hold_window_sec"),
        ("hold", "hold_window_sec"),  # or the other: one of those that begin so
        ("valeu", "value"),
        ("resource", "resource_name"),
        ("ki", "kind"),
        ("k", None),
        ("", None),
        ("something else", None),
    ],
)
def test_what_is_meant(word: str, meant: str | None) -> None:
    assert closest(word, KNOWN) == meant


@given(st.text(max_size=10), st.lists(st.text(max_size=10)))
def test_it_is_always_a_known_word(word: str, known: list[str]) -> None:
    found = closest(word, known)
    assert found is None or found in known


@given(st.sampled_from(KNOWN), st.integers(3))
def test_a_word_that_was_not_ended_means_one_that_begins_so(word: str, length: int) -> None:
    found = closest(word[:length], KNOWN)
    assert found is not None
    assert found.startswith(word[:length])
