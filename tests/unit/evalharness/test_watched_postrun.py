"""After the turn on a watcher: converge entries and soaks by events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.evalharness import budget, converge
from devops_bench.evalharness.budget import PostRun
from devops_bench.evalharness.feeds import Feeds, Stream
from devops_bench.evalharness.observation import HoldObservation
from devops_bench.evalharness.rows import verdict_of
from devops_bench.k8s.watch.results import Started
from devops_bench.k8s.watch.types import Subscription
from devops_bench.results.evidence.records import Fenced, Judged, Marked, Sampled, Subscribed
from devops_bench.verification.result import VerificationResult
from tests.unit.evalharness.fakewatch import NOT_YET, UNREACHABLE, FakeLooker, FakeWatch, Records
from tests.unit.evalharness.fakewatch import valued as made
from tests.unit.evalharness.helpers import FAIL, PASS, WAIT_SEC

CONVERGE = made("fixed", "objective", "converge")
SOAK = made("steady", "objective", "hold", hold_window_sec=0.2, hold_poll_interval_sec=0.01)


def post_run(
    watch: FakeWatch, runner: FakeLooker, *entries: object, total_sec: float = 60.0
) -> tuple[PostRun, Records]:
    records = Records()
    return (
        PostRun(entries, runner, total_sec=total_sec, watch=watch, sink=records),  # type: ignore[arg-type]
        records,
    )


def run_beside(run: PostRun, watch: FakeWatch, act: Callable[[], object]) -> None:
    """Run it, and do something as soon as its streams are open."""

    def work() -> None:
        assert watch.started.wait(WAIT_SEC)
        act()

    thread = threading.Thread(target=work)
    thread.start()
    run.run()
    thread.join(WAIT_SEC)


def status(run: PostRun, name: str) -> str:
    entry = {"fixed": CONVERGE, "steady": SOAK}[name]
    return verdict_of(entry, run.outcomes[name]).status


@pytest.fixture
def no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a watched entry be looked at only when its budget ends."""
    monkeypatch.setattr(converge, "BESIDES_SEC", 3600.0)


@pytest.mark.usefixtures("no_looks")
def test_a_converge_entry_passes_when_the_state_arrives() -> None:
    watch, runner = FakeWatch("bad"), FakeLooker({"fixed": lambda: NOT_YET})
    run, records = post_run(watch, runner, CONVERGE)
    run_beside(run, watch, lambda: watch.show("fixed", "good"))
    assert status(run, "fixed") == "pass"
    assert runner.calls("fixed") == 0
    assert [r.result.status for r in records.all if isinstance(r, Judged)] == ["fail", "pass"]
    marks = [r.mark for r in records.all if isinstance(r, Marked)]
    assert marks == ["post_run_begin", "converge_begin", "converge_end"]
    assert watch.stopped


@pytest.mark.usefixtures("no_looks")
def test_a_state_that_was_there_for_a_moment_is_enough() -> None:
    watch = FakeWatch("bad")
    run, _ = post_run(watch, FakeLooker({"fixed": lambda: NOT_YET}), CONVERGE)

    def flicker() -> None:
        watch.show("fixed", "good")
        watch.show("fixed", "bad")

    run_beside(run, watch, flicker)
    assert status(run, "fixed") == "pass"


def test_a_status_that_is_behind_its_object_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFICATION_TIMEOUT_SEC", "0.3")
    stale = VerificationResult.passed("ready", stale=True)
    run, _ = post_run(FakeWatch("bad"), FakeLooker({"fixed": lambda: stale}), CONVERGE)
    run.run()
    assert status(run, "fixed") == "fail"


def test_what_never_comes_fails_with_what_was_seen_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFICATION_TIMEOUT_SEC", "0.3")
    watch, runner = FakeWatch("bad"), FakeLooker({"fixed": lambda: NOT_YET})
    run, _ = post_run(watch, runner, CONVERGE)
    run.run()
    assert status(run, "fixed") == "fail"
    assert runner.calls("fixed") >= 1


def test_a_stream_that_is_broken_is_made_up_for_by_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converge, "BESIDES_SEC", 0.01)
    watch = FakeWatch("bad")
    run, records = post_run(watch, FakeLooker({"fixed": lambda: PASS}), CONVERGE)
    run.run()
    assert status(run, "fixed") == "pass"
    assert any(isinstance(record, Sampled) for record in records.all)


@pytest.mark.parametrize("why", ["start", "plan"])
def test_what_cannot_be_watched_is_sampled(why: str) -> None:
    watch = FakeWatch("bad", sampled={"fixed": "forbidden", "steady": "forbidden"})
    watch.start_fails = RuntimeError("boom") if why == "start" else None
    run, _ = post_run(watch, FakeLooker(), CONVERGE, SOAK)
    run.run()
    assert (status(run, "fixed"), status(run, "steady")) == ("pass", "pass")
    coverage = soaked(run).coverage
    assert coverage is not None
    assert coverage.mode == "sampled"
    assert ("boom" if why == "start" else "forbidden") in coverage.why_sampled


def soaked(run: PostRun) -> HoldObservation:
    outcome = run.outcomes["steady"]
    assert isinstance(outcome, HoldObservation)
    return outcome


def test_a_soak_is_watched_and_ends_with_a_fence() -> None:
    watch, runner = FakeWatch(), FakeLooker({"steady": lambda: FAIL})
    run, records = post_run(watch, runner, SOAK)
    run.run()
    assert status(run, "steady") == "pass"
    coverage = soaked(run).coverage
    assert coverage is not None
    assert (coverage.mode, coverage.gaps) == ("watched", ())
    assert coverage.to_sec is not None
    assert coverage.to_sec >= 0.2
    assert sum(isinstance(record, Fenced) for record in records.all) == 1
    assert runner.calls("steady") == 0


def test_a_moment_in_the_soak_is_seen() -> None:
    watch = FakeWatch()
    run, _ = post_run(watch, FakeLooker(), SOAK)

    def flicker() -> None:
        watch.show("steady", "bad")
        watch.show("steady", "good")

    run_beside(run, watch, flicker)
    assert status(run, "steady") == "fail"


def test_what_the_fence_of_a_soak_brings_counts() -> None:
    watch = FakeWatch()
    watch.during_fence = [("steady", "bad")]
    run, _ = post_run(watch, FakeLooker(), SOAK)
    run.run()
    assert status(run, "steady") == "fail"


def test_what_comes_behind_the_fence_of_a_soak_does_not_count() -> None:
    watch = FakeWatch()
    watch.after_list = [("steady", "bad")]
    run, _ = post_run(watch, FakeLooker(), SOAK)
    run.run()
    assert status(run, "steady") == "pass"


def test_a_soak_whose_fence_is_not_reached_is_an_error() -> None:
    watch = FakeWatch()
    watch.why_not = "no bookmark came"
    run, _ = post_run(watch, FakeLooker(), SOAK)
    run.run()
    assert status(run, "steady") == "error"


def test_a_soak_with_a_gap_is_an_error_that_samples_do_not_hide() -> None:
    watch = FakeWatch()
    run, _ = post_run(watch, FakeLooker(), SOAK)

    def lose() -> None:
        watch.tell("steady", watch.gap())
        watch.show("steady", "good")
        watch.show("steady", "good")

    run_beside(run, watch, lose)
    assert status(run, "steady") == "error"


def test_a_soak_settles_until_the_state_arrives() -> None:
    entry = made("steady", "objective", "hold", hold_window_sec=0.05, hold_settle_sec=60)
    watch = FakeWatch("bad")
    run, records = post_run(watch, FakeLooker(), entry, total_sec=120.0)
    run_beside(run, watch, lambda: watch.show("steady", "good"))
    assert status(run, "steady") == "pass"
    begins = [r for r in records.all if isinstance(r, Marked) and r.mark == "soak_begin"]
    states = [r for r in records.all if isinstance(r, Judged)]
    assert begins[0].at_sec == states[1].at_sec


def test_a_soak_that_does_not_settle_fails() -> None:
    entry = made("steady", "objective", "hold", hold_window_sec=0.05, hold_settle_sec=0.05)
    watch = FakeWatch("bad")
    run, _ = post_run(watch, FakeLooker(), entry)
    run.run()
    assert status(run, "steady") == "fail"
    assert soaked(run).first_violation_at_sec == 0.0


def test_a_soak_that_must_be_watched_is_not_sampled() -> None:
    entry = made("steady", "objective", "hold", hold_window_sec=0.05, coverage="watch")
    watch = FakeWatch()
    watch.start_fails = UNREACHABLE
    runner = FakeLooker()
    run, _ = post_run(watch, runner, entry)
    run.run()
    assert status(run, "steady") == "error"
    assert "nobody answers" in verdict_of(entry, run.outcomes["steady"]).reason
    assert runner.calls("steady") == 0


def test_assert_entries_are_judged_on_a_live_look() -> None:
    entries = [made("once", "objective", "assert"), made("safe", "safeguard", "assert")]
    runner = FakeLooker()
    run, records = post_run(FakeWatch("bad"), runner, *entries)
    run.run()
    outcomes = [run.outcomes[name] for name in ("once", "safe")]
    assert all(isinstance(o, VerificationResult) and o.success for o in outcomes)
    assert {r.entry for r in records.all if isinstance(r, Sampled)} == {"once", "safe"}


def test_what_nobody_takes_any_more_is_not_kept() -> None:
    watch = FakeWatch("bad")
    feeds = Feeds([CONVERGE], watch, clock=SYSTEM_CLOCK)
    feeds.start()
    stream = feeds.stream(CONVERGE, WAIT_SEC)
    assert isinstance(stream, Stream)
    assert stream.take(WAIT_SEC) is not None
    watch.show("fixed", "good")
    assert len(stream.items) == 1
    feeds.release("fixed")
    watch.show("fixed", "bad")
    watch.tell("fixed", watch.gap())
    assert len(stream.items) == 0


def test_an_entry_that_has_passed_is_fed_no_more() -> None:
    watch = FakeWatch("good")
    run, records = post_run(watch, FakeLooker(), CONVERGE, SOAK)
    released: list[str] = []
    release = run._feeds.release

    def note(name: str) -> None:
        released.append(name)
        release(name)

    run._feeds.release = note  # type: ignore[method-assign]
    run.run()
    assert sorted(set(released)) == ["fixed", "steady"]
    assert [r.coverage for r in records.all if isinstance(r, Subscribed)] == ["watched", "watched"]


def test_how_an_entry_is_observed_is_recorded_once_whenever_its_streams_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "OPEN_WAIT_SEC", 0.0)
    may_open = threading.Event()

    class Late(FakeWatch):
        def start(self, subscriptions: Sequence[Subscription], timeout_sec: float) -> Started:
            assert may_open.wait(WAIT_SEC)
            return super().start(subscriptions, timeout_sec)

    watch = Late()
    settling = made("steady", "objective", "hold", hold_window_sec=0.05, hold_settle_sec=60)
    runner = FakeLooker({"steady": lambda: PASS if watch.started.is_set() else FAIL})
    run, records = post_run(watch, runner, settling, total_sec=120.0)
    monkeypatch.setenv("BENCH_HOLD_INTERVAL_SEC", "0.01")
    thread = threading.Thread(target=run.run)
    thread.start()
    runner.await_calls(1, ["steady"])
    may_open.set()
    thread.join(WAIT_SEC)
    assert not thread.is_alive()
    (how,) = [r for r in records.all if isinstance(r, Subscribed)]
    assert (how.coverage, how.why) == ("sampled", "its streams did not open within 0 s")
