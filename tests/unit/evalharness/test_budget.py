"""The post-run phase: what runs beside what, and what its deadline does."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from devops_bench.evalharness import budget
from devops_bench.evalharness.budget import EntryOutcome, PostRun
from devops_bench.evalharness.observation import HoldObservation, hold_verdict
from devops_bench.evalharness.rows import verdict_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry
from tests.unit.evalharness.helpers import (
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


@pytest.fixture
def little_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "GRACE_SEC", 0.5)
    monkeypatch.setattr(budget, "HOLD_SAMPLE_TIMEOUT_SEC", 0.5)
    monkeypatch.setenv("VERIFICATION_TIMEOUT_SEC", "1")


def judge(
    entries: list[VerificationEntry], runner: FakeRunner, total_sec: float = 60.0
) -> dict[str, str]:
    post_run = PostRun(entries, runner, total_sec=total_sec)
    post_run.run()
    by_name = {entry.name: entry for entry in entries}
    return {n: verdict_of(by_name[n], outcome).status for n, outcome in post_run.outcomes.items()}


def test_every_entry_but_the_watched_ones_is_judged() -> None:
    entries = [
        make_entry("converge", "objective", "converge"),
        make_entry("assert", "objective", "assert"),
        make_entry("safe", "safeguard", "assert"),
        soaked("soak", 0.02),
        watched("watched"),
    ]
    runner = FakeRunner({"assert": lambda: FAIL})
    assert judge(entries, runner) == {
        "converge": "pass",
        "assert": "fail",
        "safe": "pass",
        "soak": "pass",
    }
    assert runner.calls("watched") == 0


def test_all_converge_entries_and_soaks_are_at_work_at_once() -> None:
    """Each waits for all the others: one after the other, none would ever end."""
    entries = [make_entry(f"c{i}", "objective", "converge") for i in range(8)]
    entries += [soaked(f"s{i}", 0.01) for i in range(4)]
    entries += [make_entry("safe", "safeguard", "assert")]
    together = threading.Barrier(len(entries))
    arrived: set[int] = set()

    def meet() -> VerificationResult:
        if threading.get_ident() not in arrived:
            arrived.add(threading.get_ident())
            together.wait(WAIT_SEC)
        return PASS

    statuses = judge(entries, FakeRunner({entry.name: meet for entry in entries}))
    assert set(statuses.values()) == {"pass"}


def test_objectives_in_assert_mode_wait_for_converge_entries_and_not_for_soaks() -> None:
    order: list[str] = []
    soak_may_end = threading.Event()

    def note(name: str) -> VerificationResult:
        order.append(name)
        return PASS

    def last() -> VerificationResult:
        soak_may_end.set()
        return note("assert")

    def soak() -> VerificationResult:
        soak_may_end.wait(WAIT_SEC)
        return PASS

    entries = [
        make_entry("assert", "objective", "assert"),
        soaked("soak", 0.01),
        make_entry("a", "objective", "converge"),
        make_entry("b", "objective", "converge"),
    ]
    runner = FakeRunner(
        {"assert": last, "soak": soak, "a": lambda: note("a"), "b": lambda: note("b")}
    )
    statuses = judge(entries, runner)
    assert set(statuses.values()) == {"pass"}
    assert set(order[:2]) == {"a", "b"}
    assert order[2] == "assert"


def test_the_bound_of_an_entry_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFICATION_TIMEOUT_SEC", "7")
    runner = FakeRunner()
    judge([make_entry("c", "objective", "converge")], runner)
    assert runner.timeouts["c"] == [7.0]


def test_converge_entries_leave_a_little_of_the_budget_for_what_comes_after() -> None:
    runner = FakeRunner()
    entries = [make_entry("c", "objective", "converge"), make_entry("a", "objective", "assert")]
    judge(entries, runner, total_sec=20.0)
    assert runner.timeouts["c"] == [18.0]
    assert 0 < runner.timeouts["a"][0] <= 20.0


@pytest.mark.usefixtures("little_grace")
def test_a_check_that_never_returns_is_an_error_and_holds_up_nothing(hang: Hang) -> None:
    entries = [
        make_entry("hung", "objective", "converge"),
        make_entry("hung-safe", "safeguard", "assert"),
        make_entry("last", "objective", "assert"),
    ]
    runner = FakeRunner({"hung": hang, "hung-safe": hang})
    statuses = judge(entries, runner, total_sec=60.0)
    assert statuses == {"hung": "error", "hung-safe": "error", "last": "pass"}


@pytest.mark.usefixtures("little_grace")
def test_a_soak_that_hangs_is_an_error(hang: Hang) -> None:
    assert judge([soaked("soak", 0.1)], FakeRunner({"soak": hang})) == {"soak": "error"}


@pytest.mark.usefixtures("little_grace")
def test_a_violation_before_a_soak_hung_is_not_forgotten(hang: Hang) -> None:
    first = iter([FAIL])
    runner = FakeRunner({"soak": lambda: next(first, None) or hang()})
    assert judge([soaked("soak", 0.1)], runner) == {"soak": "fail"}


def test_a_soak_that_does_not_fit_into_the_budget_is_an_error() -> None:
    post_run = PostRun([soaked("soak", 60.0)], FakeRunner(), total_sec=0.05)
    post_run.run()
    outcome = post_run.outcomes["soak"]
    assert isinstance(outcome, HoldObservation)
    assert hold_verdict(outcome)[1] == "error"
    assert "deadline" in hold_verdict(outcome)[2]


def test_a_soak_that_fits_to_the_second_is_not_cut_short() -> None:
    assert judge([soaked("soak", 0.2)], FakeRunner(), total_sec=0.2) == {"soak": "pass"}


def test_a_check_that_raises_is_an_error() -> None:
    entries = [make_entry("c", "objective", "converge"), make_entry("a", "objective", "assert")]
    statuses = judge(entries, FakeRunner({"c": raising, "a": raising}))
    assert statuses == {"c": "error", "a": "error"}


def test_a_missing_window_is_a_value_error() -> None:
    """The parser never lets it through; a Python caller may."""
    entry = soaked("soak", 1.0).model_copy(update={"hold_window_sec": None})
    with pytest.raises(ValueError, match="hold_window_sec"):
        PostRun([entry], FakeRunner(), total_sec=1.0)


def test_an_interrupt_keeps_what_was_judged_and_ends_the_soaks() -> None:
    soak_entered = threading.Event()

    def soak() -> VerificationResult:
        soak_entered.set()
        return PASS

    def interrupt(entry: VerificationEntry, outcome: EntryOutcome) -> None:
        assert soak_entered.wait(WAIT_SEC)
        raise KeyboardInterrupt

    entries = [make_entry("c", "objective", "converge"), soaked("soak", 3600.0)]
    post_run = PostRun(entries, FakeRunner({"soak": soak}), total_sec=7200.0, on_outcome=interrupt)
    with pytest.raises(KeyboardInterrupt):
        post_run.run()
    assert set(post_run.outcomes) == {"c"}
    for thread in threading.enumerate():
        if thread.name == "verify-soak":
            thread.join(WAIT_SEC)
            assert not thread.is_alive()


def test_a_soak_of_changing_answers_fails() -> None:
    runner = FakeRunner({"soak": Script(PASS, FAIL, PASS)})
    assert judge([soaked("soak", 0.1)], runner) == {"soak": "fail"}
