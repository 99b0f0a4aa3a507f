"""The monitor: what it sees while somebody else is at work, and what it never claims."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import PrivateAttr

from devops_bench.evalharness import sampler as sampler_module
from devops_bench.evalharness.hold import (
    HoldObservation,
    SafeguardMonitor,
    _default_poll_interval,
    hold_verdict,
    run_hold_window,
)
from devops_bench.verification.base import VERIFIERS, BaseVerifier
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry
from tests.unit.evalharness.helpers import (
    ERROR,
    FAIL,
    PASS,
    WAIT_SEC,
    FakeRunner,
    Hang,
    Script,
    make_entry,
    raising,
    soaked,
    watched,
)


@pytest.fixture
def hang() -> Iterator[Hang]:
    hung = Hang()
    yield hung
    hung.release.set()


def verdict(monitor: SafeguardMonitor, name: str) -> str:
    return hold_verdict(monitor.get_observations()[name])[1]


def test_what_holds_passes() -> None:
    runner = FakeRunner()
    monitor = SafeguardMonitor([watched("floor")], verifier=runner)
    monitor.start()
    runner.await_calls(3, ["floor"])
    monitor.stop()
    assert verdict(monitor, "floor") == "pass"
    assert monitor.get_observations()["floor"].sample_count >= 3


@VERIFIERS.register("hold_test_counter")
class Counter(BaseVerifier):
    """A plug-in that passes until it was asked a number of times, and then once not."""

    type: str = "hold_test_counter"
    fails_at: int
    _asked: int = PrivateAttr(default=0)

    def verify(self, timeout_sec: float) -> VerificationResult:
        self._asked += 1
        bad = self._asked == self.fails_at
        return FAIL if bad else PASS


@pytest.mark.parametrize(("fails_at", "expected"), [(0, "pass"), (1, "fail")])
def test_it_judges_by_itself_when_nobody_else_does(fails_at: int, expected: str) -> None:
    check = {"type": "hold_test_counter", "fails_at": fails_at}
    monitor = SafeguardMonitor([watched("plug-in", interval_sec=3600, check=check)])
    monitor.start()
    monitor.stop()
    obs = monitor.get_observations()["plug-in"]
    assert obs.error_count == 0
    assert hold_verdict(obs)[1] == expected


def test_a_soak_judges_by_itself_when_nobody_else_does() -> None:
    entry = soaked("plug-in", 0.02, check={"type": "hold_test_counter", "fails_at": 0})
    obs = run_hold_window(entry, 0.02, interval_sec=0.01, deadline=time.monotonic() + WAIT_SEC)
    assert hold_verdict(obs)[1] == "pass"


def test_a_violation_that_was_undone_before_the_end_still_fails() -> None:
    runner = FakeRunner({"floor": Script(PASS, FAIL, PASS)})
    monitor = SafeguardMonitor([watched("floor")], verifier=runner)
    monitor.start()
    runner.await_calls(4, ["floor"])
    monitor.stop()
    assert verdict(monitor, "floor") == "fail"


@pytest.mark.parametrize("answer", [raising, Script(ERROR)])
def test_a_check_that_never_works_is_an_error_and_goes_on(answer: Script) -> None:
    runner = FakeRunner({"broken": answer})
    monitor = SafeguardMonitor([watched("broken")], verifier=runner)
    monitor.start()
    runner.await_calls(3, ["broken"])
    monitor.stop()
    obs = monitor.get_observations()["broken"]
    assert obs.error_count == obs.sample_count >= 3
    assert not obs.violated
    assert verdict(monitor, "broken") == "error"


def test_a_hung_check_delays_no_other_and_is_an_error(hang: Hang) -> None:
    runner = FakeRunner({"hung": hang, "broken": raising})
    monitor = SafeguardMonitor(
        [watched("hung"), watched("floor"), watched("broken")], verifier=runner
    )
    monitor.start()
    assert hang.entered.wait(WAIT_SEC)
    runner.await_calls(5, ["floor", "broken"])
    monitor.stop(join_timeout_sec=2)
    assert verdict(monitor, "floor") == "pass"
    assert verdict(monitor, "hung") == "error"
    assert monitor.get_observations()["hung"].sample_count == 0


@pytest.mark.parametrize(("errors", "expected"), [(1, "pass"), (3, "pass"), (None, "error")])
def test_a_last_look_that_errors_is_taken_again(
    monkeypatch: pytest.MonkeyPatch, errors: int | None, expected: str
) -> None:
    """The end of the turn was seen when a look that began after it was judged, and only then."""
    monkeypatch.setattr(sampler_module, "LAST_LOOK_SEC", 0.0 if errors is None else WAIT_SEC)
    monkeypatch.setattr(sampler_module, "_AGAIN_SEC", 0.001)
    last = [ERROR] * (2 if errors is None else errors)
    runner = FakeRunner({"floor": Script(PASS, *last, ERROR if errors is None else PASS)})
    monitor = SafeguardMonitor([watched("floor", 3600.0)], verifier=runner)
    monitor.start()
    assert monitor.await_baseline(WAIT_SEC) == []
    monitor.stop()
    obs = monitor.get_observations()["floor"]
    assert hold_verdict(obs)[1] == expected
    assert obs.error_count == len(last)
    assert obs.coverage is not None
    assert [gap.to_sec for gap in obs.coverage.gaps] == ([] if expected == "pass" else [None])


def test_a_check_that_hangs_after_it_passed_is_no_pass(hang: Hang) -> None:
    first = threading.Event()

    def answer() -> VerificationResult:
        if not first.is_set():
            first.set()
            return PASS
        return hang()

    runner = FakeRunner({"floor": answer})
    monitor = SafeguardMonitor([watched("floor")], verifier=runner)
    monitor.start()
    assert hang.entered.wait(WAIT_SEC)
    monitor.stop(join_timeout_sec=0.1)
    success, status, reason = hold_verdict(monitor.get_observations()["floor"])
    assert (success, status) == (False, "error")
    assert "last sample did not end" in reason


def test_what_a_hung_check_says_after_the_stop_does_not_count(hang: Hang) -> None:
    runner = FakeRunner({"floor": hang})
    monitor = SafeguardMonitor([watched("floor")], verifier=runner)
    monitor.start()
    assert hang.entered.wait(WAIT_SEC)
    monitor.stop(join_timeout_sec=0.1)
    before = monitor.get_observations()
    hang.release.set()
    runner.await_calls(0, ["floor"])
    assert monitor.get_observations() == before


def test_the_last_sample_begins_after_the_stop() -> None:
    """A violation at the very end is seen even if the next sample is an hour away."""
    state = Script(PASS)
    runner = FakeRunner({"floor": lambda: state()})
    monitor = SafeguardMonitor([watched("floor", interval_sec=3600)], verifier=runner)
    monitor.start()
    assert monitor.await_baseline(WAIT_SEC) == []
    state = Script(FAIL)
    monitor.stop()
    assert verdict(monitor, "floor") == "fail"


def test_a_sample_at_work_at_the_stop_is_not_the_last_one() -> None:
    """It may have looked before the agent's last deed; so another one follows."""
    at_work, go_on = threading.Event(), threading.Event()

    def slow_then_bad() -> VerificationResult:
        if at_work.is_set():
            return FAIL
        at_work.set()
        go_on.wait(WAIT_SEC)
        return PASS

    monitor = SafeguardMonitor(
        [watched("floor", interval_sec=3600)], verifier=FakeRunner({"floor": slow_then_bad})
    )
    monitor.start()
    assert at_work.wait(WAIT_SEC)
    stopper = threading.Thread(target=monitor.stop)
    stopper.start()
    go_on.set()
    stopper.join(WAIT_SEC)
    assert verdict(monitor, "floor") == "fail"


def test_samples_of_one_entry_never_overlap() -> None:
    at_work = threading.Lock()
    overlaps: list[str] = []

    def answer() -> VerificationResult:
        if not at_work.acquire(blocking=False):
            overlaps.append("overlap")
            return ERROR
        threading.Event().wait(0.03)  # three times the interval
        at_work.release()
        return PASS

    runner = FakeRunner({"floor": answer})
    monitor = SafeguardMonitor([watched("floor", interval_sec=0.01)], verifier=runner)
    monitor.start()
    runner.await_calls(4, ["floor"])
    monitor.stop()
    assert overlaps == []
    assert monitor.get_observations()["floor"].missed_count > 0


def test_no_thread_is_left() -> None:
    runner = FakeRunner()
    monitor = SafeguardMonitor([watched("a"), watched("b")], verifier=runner)
    monitor.start()
    names = {thread.name: thread.daemon for thread in threading.enumerate()}
    assert names["safeguard-monitor"] is True
    monitor.stop()
    assert not any("safeguard" in thread.name for thread in threading.enumerate())


def test_stop_is_safe_twice_and_without_a_start() -> None:
    monitor = SafeguardMonitor([watched("floor")], verifier=FakeRunner())
    monitor.stop()
    monitor.stop(join_timeout_sec=-1)
    assert verdict(monitor, "floor") == "error"


def test_without_entries_nothing_is_started() -> None:
    monitor = SafeguardMonitor([])
    monitor.start()
    assert not any(thread.name == "safeguard-monitor" for thread in threading.enumerate())
    assert monitor.await_baseline(0) == []
    monitor.stop()
    assert monitor.get_observations() == {}


def test_a_snapshot_is_independent() -> None:
    runner = FakeRunner()
    monitor = SafeguardMonitor([watched("floor")], verifier=runner)
    monitor.start()
    runner.await_calls(1, ["floor"])
    snapshot = monitor.get_observations()
    snapshot["floor"].sample_count = 999
    snapshot["floor"].violated = True
    snapshot["more"] = HoldObservation()
    monitor.stop()
    assert verdict(monitor, "floor") == "pass"
    assert set(monitor.get_observations()) == {"floor"}


def test_a_listener_that_raises_stops_nothing() -> None:
    def listener(*_: object) -> None:
        raise RuntimeError("the disk is full")

    runner = FakeRunner()
    monitor = SafeguardMonitor([watched("floor")], verifier=runner, on_sample=listener)
    monitor.start()
    runner.await_calls(3, ["floor"])
    monitor.stop()
    assert verdict(monitor, "floor") == "pass"


@pytest.mark.parametrize(
    "entry", [soaked("soak", 1.0), make_entry("once", "safeguard", "assert")], ids=lambda e: e.name
)
def test_only_safeguards_in_hold_mode_reach_the_monitor(entry: VerificationEntry) -> None:
    with pytest.raises(ValueError, match=entry.name):
        SafeguardMonitor([entry], verifier=FakeRunner())


# --- the baseline -------------------------------------------------------------------------


def test_the_baseline_waits_until_all_hold_and_forgets_what_came_before() -> None:
    runner = FakeRunner({"late": Script(ERROR, FAIL, FAIL, PASS)})
    monitor = SafeguardMonitor([watched("late"), watched("floor")], verifier=runner)
    monitor.start()
    assert monitor.await_baseline(WAIT_SEC) == []
    monitor.stop()
    assert verdict(monitor, "late") == "pass"
    assert monitor.get_observations()["late"].error_count == 0


def test_a_baseline_that_never_holds_names_the_entry_and_its_reason() -> None:
    runner = FakeRunner({"broken": Script(FAIL)})
    monitor = SafeguardMonitor([watched("broken"), watched("floor")], verifier=runner)
    monitor.start()
    runner.await_calls(1, ["broken", "floor"])
    failures = monitor.await_baseline(0.05)
    monitor.stop()
    assert [(f.name, f.reason) for f in failures] == [("broken", FAIL.reason)]


def test_a_check_that_hangs_in_the_baseline_is_named(hang: Hang) -> None:
    monitor = SafeguardMonitor([watched("hung")], verifier=FakeRunner({"hung": hang}))
    monitor.start()
    failures = monitor.await_baseline(0.05)
    monitor.stop(join_timeout_sec=0.05)
    assert [f.name for f in failures] == ["hung"]


# --- the interval -------------------------------------------------------------------------


def test_the_interval_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_HOLD_INTERVAL_SEC", "2.5")
    assert _default_poll_interval() == 2.5
    monkeypatch.delenv("BENCH_HOLD_INTERVAL_SEC")
    assert _default_poll_interval() == 5.0


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="\0")))
def test_whatever_the_environment_says_the_interval_is_finite_and_positive(raw: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("BENCH_HOLD_INTERVAL_SEC", raw)
        assert 0 < _default_poll_interval() < float("inf")


@pytest.mark.parametrize("raw", ["soon", "0", "-1.0", "inf", "-inf", "nan", "1e999"])
def test_a_bad_interval_is_replaced_with_a_warning_that_names_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, raw: str
) -> None:
    monkeypatch.setenv("BENCH_HOLD_INTERVAL_SEC", raw)
    with caplog.at_level(logging.WARNING):
        assert _default_poll_interval() == 5.0
    assert "BENCH_HOLD_INTERVAL_SEC" in caplog.text
