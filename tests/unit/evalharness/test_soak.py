"""The soak, on a clock that moves only when somebody waits."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.evalharness.hold import HoldObservation, hold_verdict, run_hold_window
from devops_bench.evalharness.observation import _fold_sample
from devops_bench.evalharness.sampler import next_slot
from devops_bench.verification.result import VerificationResult, VerificationStatus
from tests.unit.evalharness.helpers import (
    ERROR,
    FAIL,
    PASS,
    FakeClock,
    FakeRunner,
    Script,
    raising,
    result,
    soaked,
)

FAR = 1e9


def soak(
    clock: FakeClock,
    runner: FakeRunner,
    *,
    window: float = 10.0,
    interval: float = 1.0,
    deadline: float = FAR,
    settle: float = 0.0,
    cancel: threading.Event | None = None,
) -> HoldObservation:
    return run_hold_window(
        soaked("steady", window),
        window,
        interval_sec=interval,
        deadline=deadline,
        settle_sec=settle,
        verifier=runner,
        clock=clock,
        cancel=cancel,
    )


def test_the_window_is_sampled_from_its_begin_to_its_end() -> None:
    clock = FakeClock()
    obs = soak(clock, FakeRunner(), window=10.0, interval=3.0)
    assert obs.sample_count == 5  # at 0, 3, 6, 9, and at the end, 10
    assert (obs.first_observed_at_sec, obs.last_observed_at_sec) == (0.0, 10.0)
    assert hold_verdict(obs)[1] == "pass"
    assert clock.time == 110.0


def test_a_violation_does_not_end_it() -> None:
    obs = soak(FakeClock(), FakeRunner({"steady": Script(PASS, FAIL, PASS)}))
    assert obs.sample_count == 11
    assert obs.first_violation_at_sec == 1.0
    assert hold_verdict(obs)[1] == "fail"


def test_a_violation_at_the_very_end_is_seen() -> None:
    obs = soak(FakeClock(), FakeRunner({"steady": Script(*[PASS] * 10, FAIL)}))
    assert hold_verdict(obs)[1] == "fail"


def test_one_cut_short_by_the_deadline_is_an_error_that_says_so() -> None:
    obs = soak(FakeClock(), FakeRunner(), window=10.0, deadline=109.5)
    success, status, reason = hold_verdict(obs)
    assert (success, status) == (False, "error")
    assert "deadline" in reason
    assert obs.sample_count == 10


def test_no_sample_is_taken_after_the_deadline() -> None:
    runner = FakeRunner()
    obs = soak(FakeClock(), runner, deadline=100.0)
    assert runner.calls("steady") == 0
    assert hold_verdict(obs)[1] == "error"


def test_a_violation_before_the_cut_is_still_a_violation() -> None:
    obs = soak(FakeClock(), FakeRunner({"steady": Script(FAIL, PASS)}), deadline=105.0)
    assert hold_verdict(obs)[1] == "fail"


def test_it_settles_until_the_check_first_passes() -> None:
    clock = FakeClock()
    obs = soak(clock, FakeRunner({"steady": Script(FAIL, ERROR, FAIL, PASS)}), settle=60.0)
    assert hold_verdict(obs)[1] == "pass"
    assert obs.error_count == 0
    assert clock.time == 113.0  # settled after 3 s, then the whole window


def test_it_settles_no_longer_than_it_may() -> None:
    clock = FakeClock()
    obs = soak(clock, FakeRunner({"steady": Script(FAIL)}), settle=2.5)
    assert obs.first_violation_at_sec == 0.0
    assert clock.time == 112.5


def test_a_deadline_while_it_settles_is_an_error() -> None:
    obs = soak(FakeClock(), FakeRunner({"steady": Script(FAIL)}), settle=60.0, deadline=110.0)
    assert hold_verdict(obs)[1] == "error"
    assert obs.cut_short is not None
    assert "before it had begun" in obs.cut_short


def test_a_slow_check_misses_slots_and_does_not_shift_the_rest() -> None:
    clock = FakeClock()

    def slow() -> VerificationResult:
        clock.time += 1.5
        return PASS

    obs = soak(clock, FakeRunner({"steady": slow}), window=8.0, interval=1.0)
    assert obs.sample_count == 5  # at 0, 2, 4, 6, and at the end, 8
    assert obs.missed_count == 4
    assert hold_verdict(obs)[1] == "pass"


def test_a_check_that_overruns_the_end_is_asked_once_more() -> None:
    """What it saw may be older than the end of the window."""
    clock = FakeClock()
    answers = Script(PASS, FAIL)

    def answer() -> VerificationResult:
        clock.time = 150.0
        return answers()

    obs = soak(clock, FakeRunner({"steady": answer}), window=10.0)
    assert obs.sample_count == 2
    assert hold_verdict(obs)[1] == "fail"


def test_a_check_that_raises_is_an_error() -> None:
    obs = soak(FakeClock(), FakeRunner({"steady": raising}))
    assert obs.error_count == obs.sample_count == 11
    assert "boom" in hold_verdict(obs)[2]


def test_an_interrupt_ends_it_and_is_no_pass() -> None:
    cancel = threading.Event()

    def interrupted() -> VerificationResult:
        cancel.set()
        return PASS

    obs = soak(FakeClock(), FakeRunner({"steady": interrupted}), cancel=cancel)
    assert obs.sample_count == 1
    assert hold_verdict(obs)[1] == "error"


@given(st.lists(st.sampled_from(("pass", "fail", "error")), min_size=11, max_size=11))
def test_it_folds_as_everybody_else(history: list[VerificationStatus]) -> None:
    samples = [result(status) for status in history]
    expected = HoldObservation()
    for second, sample in enumerate(samples):
        _fold_sample(expected, sample, float(second))
    seen = soak(FakeClock(), FakeRunner({"steady": Script(*samples)}))
    assert replace(seen, coverage=None) == expected


@given(st.floats(0, 1e6), st.floats(1e-3, 1e3), st.floats(0, 1e4))
def test_the_next_slot_is_on_the_grid_and_not_in_the_past(
    due: float, interval: float, late: float
) -> None:
    now = due + late
    following, missed = next_slot(due, interval, now)
    assert following == pytest.approx(due + (missed + 1) * interval)
    assert following >= now - 1e-6
    assert following - interval <= now + 1e-6
