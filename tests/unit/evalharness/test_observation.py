"""The fold and the verdict, against a second, independent statement of the rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.evalharness.observation import (
    HOLD_TRAILING_ERROR_SAMPLES,
    HoldObservation,
    _fold_error_sample,
    _fold_sample,
    hold_verdict,
)
from devops_bench.verification.result import VerificationStatus
from tests.unit.evalharness.helpers import result

STATUSES: tuple[VerificationStatus, ...] = ("pass", "fail", "error")

histories = st.lists(st.sampled_from(STATUSES), max_size=12)
cuts = st.none() | st.just("the deadline came")


def fold(history: list[VerificationStatus], cut_short: str | None = None) -> HoldObservation:
    obs = HoldObservation()
    for second, status in enumerate(history):
        _fold_sample(obs, result(status, f"{status} at {second}"), float(second))
    obs.cut_short = cut_short
    return obs


def oracle(history: list[VerificationStatus], cut_short: str | None) -> VerificationStatus:
    """The rule of the design, said on the whole history instead of step by step."""
    if set(history) <= {"error"}:
        return "error"
    if "fail" in history:
        return "fail"
    if history[-HOLD_TRAILING_ERROR_SAMPLES:] == ["error"] * HOLD_TRAILING_ERROR_SAMPLES:
        return "error"
    return "pass" if cut_short is None else "error"


@given(histories, cuts)
def test_the_verdict_is_the_rule(history: list[VerificationStatus], cut_short: str | None) -> None:
    success, status, reason = hold_verdict(fold(history, cut_short))
    assert status == oracle(history, cut_short)
    assert success == (status == "pass")
    assert reason


@given(histories)
def test_the_first_violation_is_kept(history: list[VerificationStatus]) -> None:
    obs = fold(history)
    assert obs.violated == ("fail" in history)
    if obs.violated:
        first = history.index("fail")
        assert obs.first_violation_reason == f"fail at {first}"
        assert obs.first_violation_at_sec == first


@given(histories)
def test_the_counts_are_those_of_the_history(history: list[VerificationStatus]) -> None:
    obs = fold(history)
    assert obs.sample_count == len(history)
    assert obs.error_count == history.count("error")
    assert obs.last_sample_status == (history[-1] if history else None)
    judged = [index for index, status in enumerate(history) if status != "error"]
    assert obs.first_observed_at_sec == (judged[0] if judged else None)
    assert obs.last_observed_at_sec == (judged[-1] if judged else None)


@given(histories)
def test_an_exception_and_an_errored_result_are_the_same(
    history: list[VerificationStatus],
) -> None:
    obs = HoldObservation()
    for second, status in enumerate(history):
        if status == "error":
            _fold_error_sample(obs, f"error at {second}")
        else:
            _fold_sample(obs, result(status, f"{status} at {second}"), float(second))
    assert obs == fold(history)


@given(histories, histories, st.sampled_from(("fail", "error")))
def test_a_worse_sample_never_makes_a_pass(
    before: list[VerificationStatus],
    after: list[VerificationStatus],
    worse: VerificationStatus,
) -> None:
    _, good, _ = hold_verdict(fold([*before, "pass", *after]))
    _, bad, _ = hold_verdict(fold([*before, worse, *after]))
    assert bad != "pass" or good == "pass"


@pytest.mark.parametrize(
    ("history", "cut_short", "says"),
    [
        ([], None, "never sampled"),
        (["error", "error"], None, "error at 1"),
        (["pass", "fail", "pass"], None, "1.0 s into the window: fail at 1"),
        (["pass", "error", "error"], None, "never recovered"),
        (["pass", "error", "error"], None, "error at 2"),
        (["pass"], "the deadline came", "the deadline came"),
        ([], "the deadline came", "the deadline came"),
        (["pass", "error", "pass"], None, "1 more could not be evaluated"),
    ],
)
def test_the_reason_says_what_was_seen(
    history: list[VerificationStatus], cut_short: str | None, says: str
) -> None:
    assert says in hold_verdict(fold(history, cut_short))[2]


def test_one_trailing_error_is_absorbed_and_two_are_not() -> None:
    assert hold_verdict(fold(["pass", "error"]))[1] == "pass"
    assert hold_verdict(fold(["pass", "error", "error"]))[1] == "error"


def test_skipped_samples_are_told_and_not_counted_as_seen() -> None:
    obs = fold(["pass"])
    obs.missed_count = 3
    assert "3 due samples not taken" in hold_verdict(obs)[2]
    assert "1 sample" in hold_verdict(obs)[2]
