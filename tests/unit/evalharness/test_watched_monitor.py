"""The monitor on a watcher: which states decide, and what is never a pass."""

from __future__ import annotations

import threading

import pytest

from devops_bench.evalharness.hold import HoldObservation, SafeguardMonitor, hold_verdict
from devops_bench.results.evidence.records import (
    Fenced,
    GapNoted,
    Judged,
    Marked,
    Sampled,
    Subscribed,
)
from devops_bench.verification.spec import VerificationEntry
from tests.unit.evalharness.fakewatch import UNREACHABLE, FakeWatch, Records, valued
from tests.unit.evalharness.helpers import PASS, WAIT_SEC, FakeRunner, watched

FLOOR = valued("floor")


def monitor_of(watch: FakeWatch, *entries: VerificationEntry, **rest: object) -> SafeguardMonitor:
    """Return a monitor whose agent may work."""
    monitor = SafeguardMonitor(
        entries or [FLOOR],
        verifier=FakeRunner(),
        watch=watch,
        sink=rest.get("sink"),  # type: ignore[arg-type]
    )
    monitor.start()
    assert monitor.await_baseline(WAIT_SEC) == []
    return monitor


def seen(monitor: SafeguardMonitor, name: str = "floor") -> HoldObservation:
    return monitor.get_observations()[name]


def ended(monitor: SafeguardMonitor, name: str = "floor") -> str:
    monitor.end_turn()
    monitor.end_run()
    monitor.stop()
    return hold_verdict(seen(monitor, name))[1]


def test_what_holds_passes_and_says_what_was_watched() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch)
    watch.show("floor", "good")
    assert ended(monitor) == "pass"
    coverage = seen(monitor).coverage
    assert coverage is not None
    assert (coverage.mode, coverage.states_judged, coverage.gaps) == ("watched", 2, ())
    assert coverage.largest_blind_spot_sec == 0.0
    assert watch.stopped
    assert watch.fences == 2


def test_one_bad_state_among_many_is_found() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch)
    for value in ["good"] * 50 + ["bad"] + ["good"] * 50:
        watch.show("floor", value)
    assert ended(monitor) == "fail"
    assert seen(monitor).sample_count == 102


def test_what_the_fence_brings_belongs_to_the_turn() -> None:
    """Written before the fence's LIST, judged after the agent ended."""
    watch = FakeWatch()
    watch.during_fence = [("floor", "bad"), ("floor", "good")]
    monitor = monitor_of(watch)
    assert ended(monitor) == "fail"


def test_what_comes_behind_the_fence_is_after_the_turn() -> None:
    watch = FakeWatch()
    watch.after_list = [("floor", "bad")]
    monitor = monitor_of(watch)
    monitor.end_turn()
    watch.after_list = []
    watch.show("floor", "good")
    assert ended(monitor) == "pass"
    after = seen(monitor).after_turn
    assert after is not None
    assert (after.violated, after.states_judged, after.why_incomplete) == (True, 2, None)
    assert after.first_violation_at_sec is not None


def test_a_violation_after_the_turn_fails_an_entry_of_the_whole_run() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch, FLOOR, valued("always", hold_scope="run"))
    monitor.end_turn()
    for name in ("floor", "always"):
        watch.show(name, "bad")
    assert ended(monitor) == "pass"
    assert hold_verdict(seen(monitor, "always"))[1] == "fail"


def test_an_entry_of_the_whole_run_is_no_pass_if_the_run_breaks_off() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch, valued("always", hold_scope="run"))
    monitor.end_turn()
    watch.why_not = "nobody answers"
    assert ended(monitor, "always") == "error"


@pytest.mark.parametrize("answers", [True, False])
def test_a_fence_that_is_not_reached_is_an_error_that_says_so(answers: bool) -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch)
    watch.why_not, watch.answers = "no bookmark came", answers
    assert ended(monitor) == "error"
    assert "no bookmark came" in hold_verdict(seen(monitor))[2]


def test_a_fence_that_raises_is_an_error() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch)
    watch.fence_fails = RuntimeError("boom")
    assert ended(monitor) == "error"
    assert "boom" in hold_verdict(seen(monitor))[2]


def test_an_open_gap_is_an_error_that_names_stream_and_cause() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch)
    watch.tell("floor", watch.gap())
    watch.show("floor", "good")
    watch.show("floor", "good")
    assert ended(monitor) == "error"
    reason = hold_verdict(seen(monitor))[2]
    assert "configmaps in namespace default" in reason
    assert "a reset" in reason


def test_a_closed_gap_is_shown_and_harmless() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch)
    watch.tell("floor", watch.gap(closed=True))
    watch.show("floor", "good")
    assert ended(monitor) == "pass"
    coverage = seen(monitor).coverage
    assert coverage is not None
    assert len(coverage.gaps) == 1


def test_best_effort_accepts_a_gap_and_shows_it() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch, valued("floor", coverage="best_effort"))
    watch.tell("floor", watch.gap())
    watch.show("floor", "good")
    watch.show("floor", "good")
    assert ended(monitor) == "pass"
    assert "a reset" in hold_verdict(seen(monitor))[2]


def test_a_state_that_cannot_be_judged_is_an_error() -> None:
    watch = FakeWatch()
    monitor = monitor_of(watch)
    watch.show("floor", None)
    watch.show("floor", "good")
    assert ended(monitor) == "error"
    assert "could not be judged" in hold_verdict(seen(monitor))[2]


# --- the start barrier --------------------------------------------------------------------


def test_the_turn_does_not_begin_while_a_watched_state_fails() -> None:
    watch = FakeWatch("bad")
    monitor = SafeguardMonitor([FLOOR], verifier=FakeRunner(), watch=watch)
    monitor.start()
    (failure,) = monitor.await_baseline(0.05)
    assert failure.name == "floor"
    watch.show("floor", "good")
    assert monitor.await_baseline(WAIT_SEC) == []
    assert ended(monitor) == "pass"


def test_the_turn_does_not_begin_while_a_stream_is_not_open() -> None:
    watch = FakeWatch()
    monitor = SafeguardMonitor([FLOOR], verifier=FakeRunner(), watch=watch)
    monitor.start()
    watch.tell("floor", watch.gap(over=False))
    (failure,) = monitor.await_baseline(0.05)
    assert "a reset" in failure.reason
    watch.tell("floor", watch.gap(closed=True))
    assert monitor.await_baseline(WAIT_SEC) == []
    assert ended(monitor) == "pass"


def test_what_is_queued_at_the_baseline_is_judged_before_the_turn() -> None:
    """The newest judged state holds, but one behind it does not: no turn on broken ground."""

    class Behind(FakeWatch):
        def again(self, subscription: str) -> None:
            self.show(subscription, "bad")
            super().again(subscription)

    monitor = SafeguardMonitor([FLOOR], verifier=FakeRunner(), watch=Behind())
    monitor.start()
    assert [failure.name for failure in monitor.await_baseline(0.1)] == ["floor"]
    monitor.stop()


def test_the_turn_does_not_begin_before_all_that_is_queued_was_judged() -> None:
    class Busy(FakeWatch):
        def again(self, subscription: str) -> None:
            """It does not come to it in time."""

    monitor = SafeguardMonitor([FLOOR], verifier=FakeRunner(), watch=Busy())
    monitor.start()
    (failure,) = monitor.await_baseline(0.1)
    assert "could not be judged in time" in failure.reason
    monitor.stop()


# --- what is sampled ----------------------------------------------------------------------


def test_what_cannot_be_watched_is_sampled_and_says_why() -> None:
    watch = FakeWatch(sampled={"odd": "gizmos has no watch verb"})
    odd = valued("odd", hold_poll_interval_sec=0.01)
    monitor = SafeguardMonitor([FLOOR, odd], verifier=FakeRunner(), watch=watch)
    methods = monitor.start()
    assert (methods["floor"].mode, methods["odd"].mode) == ("watched", "sampled")
    assert methods["odd"].why_sampled == "gizmos has no watch verb"
    assert monitor.await_baseline(WAIT_SEC) == []
    assert ended(monitor, "odd") == "pass"
    coverage = seen(monitor, "odd").coverage
    assert coverage is not None
    assert coverage.largest_blind_spot_sec is not None
    assert coverage.largest_blind_spot_sec > 0


def test_without_a_watcher_everything_is_sampled() -> None:
    monitor = SafeguardMonitor([FLOOR], verifier=FakeRunner())
    assert [method.mode for method in monitor.start().values()] == ["sampled"]
    assert monitor.await_baseline(WAIT_SEC) == []
    assert ended(monitor) == "pass"


@pytest.mark.parametrize("error", [UNREACHABLE, RuntimeError("boom")])
def test_a_watcher_that_does_not_start_leaves_samples(error: Exception) -> None:
    watch = FakeWatch()
    watch.start_fails = error
    monitor = SafeguardMonitor([FLOOR], verifier=FakeRunner(), watch=watch)
    (method,) = monitor.start(timeout_sec=0.2).values()
    assert method.mode == "sampled"
    assert str(error) in method.why_sampled
    assert monitor.await_baseline(WAIT_SEC) == []
    assert ended(monitor) == "pass"


def test_a_sampled_entry_of_the_whole_run_is_sampled_after_the_turn() -> None:
    always = watched("always", hold_scope="run")
    runner = FakeRunner()
    monitor = SafeguardMonitor([always, watched("floor")], verifier=runner)
    monitor.start()
    assert monitor.await_baseline(WAIT_SEC) == []
    monitor.end_turn()
    calls = runner.calls("floor")
    runner.await_calls(2, ["always"])
    assert runner.calls("floor") == calls
    assert ended(monitor, "always") == "pass"
    after = seen(monitor, "always").after_turn
    assert after is not None
    assert after.states_judged >= 2


# --- the recording ------------------------------------------------------------------------


def test_everything_is_recorded_before_and_in_the_order_in_which_it_is_folded() -> None:
    records = Records()
    watch = FakeWatch(sampled={"odd": "a probe"})
    odd = valued("odd", hold_poll_interval_sec=3600)
    monitor = monitor_of(watch, FLOOR, odd, sink=records)
    watch.show("floor", "good")
    watch.tell("floor", watch.gap(closed=True))
    assert ended(monitor) == "pass"
    kinds = [record for record in records.all if not isinstance(record, Sampled)]
    marks = [record.mark for record in kinds if isinstance(record, Marked)]
    assert marks[:2] == ["window_begin", "window_begin"]
    assert [mark for mark in marks if mark.startswith(("turn", "run"))] == [
        "turn_ending",
        "run_ending",
    ]
    assert sum(isinstance(record, Subscribed) for record in kinds) == 2
    assert sum(isinstance(record, Fenced) for record in kinds) == 2
    assert sum(isinstance(record, GapNoted) for record in kinds) == 1
    states = [record for record in kinds if isinstance(record, Judged)]
    assert [state.origin for state in states] == ["baseline", "again", "event"]
    samples = [record for record in records.all if isinstance(record, Sampled)]
    assert {sample.entry for sample in samples} == {"odd"}
    assert all(sample.result == PASS for sample in samples)


def test_no_thread_is_left() -> None:
    monitor = monitor_of(FakeWatch(), FLOOR, watched("odd"))
    monitor.stop()
    assert not any("safeguard" in thread.name for thread in threading.enumerate())
