"""Whatever the order in which streams open, break and answer: a replay says what the run said."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from devops_bench.core.clock import Clock
from devops_bench.core.errors import ClusterError
from devops_bench.evalharness import budget, converge
from devops_bench.evalharness.default import DefaultEvalHarness
from devops_bench.evalharness.recordings import find_recordings
from devops_bench.evalharness.replay import Replayed, replay
from devops_bench.evalharness.sampler import Look
from devops_bench.k8s.watch.results import FenceResult, Started
from devops_bench.k8s.watch.types import Listener, Subscription
from devops_bench.k8s.watch.types import Recorder as StepRecorder
from devops_bench.results.model import ReportRow, TaskResult
from devops_bench.verification.spec import VerificationEntry
from tests.unit.evalharness.fakes import FakeAgent, FakeProvider, Recorder, make_task
from tests.unit.evalharness.fakewatch import valued
from tests.unit.evalharness.test_replay import RecordedAccess, RecordedWatch, as_bytes

ENTRIES = (
    valued("floor"),
    valued("run", hold_scope="run"),
    valued("fixed", "objective", "converge"),
    valued("steady", "objective", "hold", hold_window_sec=0.05, hold_poll_interval_sec=0.01),
    valued(
        "settles",
        "objective",
        "hold",
        hold_window_sec=0.04,
        hold_settle_sec=0.06,
        hold_poll_interval_sec=0.01,
    ),
    valued(
        "strict",
        "objective",
        "hold",
        hold_window_sec=0.04,
        hold_poll_interval_sec=0.01,
        coverage="watch",
    ),
    valued("at end", "objective", "assert"),
)


@dataclass(frozen=True)
class Schedule:
    """What goes wrong after the turn, and when.

    Attributes:
        opens_after: Seconds until the streams are open.
        start_fails: Whether they do not open at all.
        sampled: Entries that cannot be watched.
        events: What the watcher then shows: a value, or a gap.
        fence_fails: Whether no fence is reached.
        slow_look_sec: How long a look takes.
        interrupted: Whether Ctrl-C comes in the middle.
    """

    opens_after: float = 0.0
    start_fails: bool = False
    sampled: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    fence_fails: bool = False
    slow_look_sec: float = 0.0
    interrupted: bool = False


class ScheduledWatch(RecordedWatch):
    """The watcher of the turn behaves; the one after it keeps to the schedule."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.schedule = schedule
        self.after_turn = False

    def __call__(self, listener: Listener, recorder: StepRecorder, clock: Clock) -> ScheduledWatch:
        one = ScheduledWatch(self.schedule)
        one._listener, one._clock, one._steps = listener, clock, recorder.on_step
        one.after_turn = self.made != []
        if one.after_turn:
            one.sampled = dict.fromkeys(self.schedule.sampled, "forbidden")
        self.made.append(one)
        return one

    def start(self, subscriptions: Sequence[Subscription], timeout_sec: float) -> Started:
        if not self.after_turn:
            return super().start(subscriptions, timeout_sec)
        pause(self.schedule.opens_after)
        if self.schedule.start_fails:
            raise ClusterError("nobody answers")
        started = super().start(subscriptions, timeout_sec)
        threading.Thread(target=self._act, daemon=True).start()
        return started

    def fence(self, timeout_sec: float) -> FenceResult:
        if self.after_turn and self.schedule.fence_fails:
            self.why_not = "no bookmark came"
        return super().fence(timeout_sec)

    def _act(self) -> None:
        for number, event in enumerate(self.schedule.events):
            for name in self._subscriptions:
                if event in ("open gap", "closed gap"):
                    self.tell(name, self.gap(closed=event == "closed gap", number=number))
                else:
                    self.show(name, event)
            pause(0.01)


class ScheduledAccess(RecordedAccess):
    """Looks take as long as the schedule says."""

    def look(self, entry: VerificationEntry, timeout_sec: float) -> Look:
        assert isinstance(self.watch, ScheduledWatch)
        if entry.role == "objective":
            pause(self.watch.schedule.slow_look_sec)
        return super().look(entry, timeout_sec)


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


@pytest.fixture(scope="module", autouse=True)
def _hasty() -> Iterator[None]:
    """Let everything that waits for seconds wait for hundredths of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIFICATION_TIMEOUT_SEC", "0.2")
        patch.setattr(budget, "OPEN_WAIT_SEC", 0.02)
        patch.setattr(budget, "GRACE_SEC", 0.05)
        patch.setattr(budget, "HOLD_SAMPLE_TIMEOUT_SEC", 0.05)
        patch.setattr(converge, "BESIDES_SEC", 0.05)
        yield


class Impatient(Recorder):
    """Presses Ctrl-C when the first entry after the turn was judged, if the schedule says so."""

    def __init__(self, watch: RecordedWatch, *, interrupts: bool) -> None:
        super().__init__()
        self._watch = watch
        self._interrupts = interrupts

    def entry_judged(self, task_id: str, name: str, status: str, reason: str) -> None:
        super().entry_judged(task_id, name, status, reason)
        if self._interrupts and len(self._watch.made) > 1:
            self._interrupts = False
            raise KeyboardInterrupt


def run_and_replay(folder: Path, schedule: Schedule) -> tuple[TaskResult, Replayed]:
    watch = ScheduledWatch(schedule)
    access = ScheduledAccess(watch)
    harness = DefaultEvalHarness(
        FakeProvider(),
        lambda _: FakeAgent(),
        run_id="run",
        reporter=Impatient(watch, interrupts=schedule.interrupted),
        connect=lambda *_: access,
    )
    result = harness.run_task(make_task(*ENTRIES), folder / "run")
    (found,) = find_recordings(folder / "run")
    return result, replay(found)


def by_name(rows: Sequence[ReportRow]) -> dict[str, ReportRow]:
    return {row["name"]: row for row in rows}


NAMES = ("fixed", "steady", "settles", "strict")
SCHEDULES = st.builds(
    Schedule,
    opens_after=st.sampled_from([0.0, 0.01, 0.02, 0.03, 0.06]),
    start_fails=st.booleans(),
    sampled=st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple),
    events=st.lists(st.sampled_from(["good", "bad", "open gap", "closed gap"]), max_size=6).map(
        tuple
    ),
    fence_fails=st.booleans(),
    slow_look_sec=st.sampled_from([0.0, 0.0, 0.02, 0.15]),
    interrupted=st.sampled_from([False, False, True]),
)


@settings(max_examples=25, deadline=None)
@given(SCHEDULES)
@example(Schedule(opens_after=0.04))
@example(Schedule(opens_after=0.04, start_fails=True))
@example(Schedule(opens_after=0.04, sampled=("steady",)))
@example(Schedule(opens_after=0.04, slow_look_sec=0.15))
@example(Schedule(opens_after=0.04, slow_look_sec=0.02, interrupted=True))
@example(Schedule(slow_look_sec=0.4, sampled=NAMES))
def test_the_rows_of_a_replay_are_those_of_the_run(schedule: Schedule) -> None:
    with tempfile.TemporaryDirectory() as name:
        result, again = run_and_replay(Path(name), schedule)
    assert (result.status == "interrupted") is schedule.interrupted
    assert by_name(again.rows) == by_name(result.verification_report)
    assert as_bytes(again.rows) == as_bytes(result.verification_report)
    assert (again.conclusion.status, again.conclusion.reason) == (result.status, result.reason)
