"""The soak: an objective must become true and then stay true through a window after the turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.evalharness.backlog import FedState
from devops_bench.evalharness.feeds import Stream
from devops_bench.evalharness.observation import HoldObservation
from devops_bench.evalharness.sampler import (
    HOLD_SAMPLE_TIMEOUT_SEC,
    EntryRunner,
    look_once,
    next_slot,
)
from devops_bench.evalharness.window import EntryWindow, Method
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult
from devops_bench.results.evidence.records import (
    EvidenceSink,
    Fenced,
    GapNoted,
    Judged,
    Mark,
    Marked,
    Missed,
    NullSink,
    Sampled,
    Subscribed,
)
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry

SOAK_FENCE_SEC = 8.0
"""What the fence at the end of a watched soak may take."""

_LONGEST_WAIT_SEC = 0.5


@dataclass(frozen=True, slots=True)
class SoakContext:
    """What a soak works with.

    Attributes:
        clock: Where time comes from.
        cancel: Ends the window at once when it is set.
        sink: Where everything is recorded before it is folded.
    """

    clock: Clock = SYSTEM_CLOCK
    cancel: threading.Event = field(default_factory=threading.Event)
    sink: EvidenceSink = field(default_factory=NullSink)


def run_hold_window(
    entry: VerificationEntry,
    window_sec: float,
    *,
    interval_sec: float,
    deadline: float,
    settle_sec: float = 0.0,
    verifier: EntryRunner | None = None,
    clock: Clock = SYSTEM_CLOCK,
    cancel: threading.Event | None = None,
) -> HoldObservation:
    """Sample an objective through its window and return what was seen.

    The window begins with the first sample that passes, at the latest ``settle_sec`` seconds from
    now (with 0: now), and ends with a sample that begins at or after its end. A violation does
    not end it. When ``deadline`` comes first the observation says so, and is no pass; when it has
    passed already no sample is taken.

    Args:
        entry: An objective in hold mode.
        window_sec: Seconds that the check must stay true, > 0.
        interval_sec: Seconds between the beginnings of two samples, > 0.
        deadline: When to stop, absolute, on the clock's monotonic axis. No sample begins after it.
        settle_sec: Seconds that the check may take to become true, ≥ 0.
        verifier: Who judges; by default one without a cluster.
        clock: Where time comes from.
        cancel: Ends the window at once when it is set.
    """
    context = SoakContext(clock, cancel if cancel is not None else threading.Event())
    soak = Soak(entry, window_sec, settle_sec, deadline, context)
    soak.sample(verifier if verifier is not None else VerifierAgent(), interval_sec)
    return soak.observation()


class Soak:
    """One soak at work; what it has seen may be read while it runs.

    Args:
        entry: An objective in hold mode.
        window_sec: Seconds that the check must stay true, > 0.
        settle_sec: Seconds that it may take to become true, ≥ 0.
        deadline: When to stop, monotonic seconds.
        context: What it works with.
    """

    def __init__(
        self,
        entry: VerificationEntry,
        window_sec: float,
        settle_sec: float,
        deadline: float,
        context: SoakContext,
    ) -> None:
        self._entry = entry
        self._window_sec = window_sec
        self._settle_sec = settle_sec
        self._deadline = deadline
        self._context = context
        self._clock = context.clock
        self._window = EntryWindow(Method.of(entry, "sampled"))
        self._began = 0.0
        # Held while something is recorded and folded, so that giving it up falls between two.
        self._lock = threading.RLock()
        self._sink = context.sink

    def observation(self, at_sec: float | None = None) -> HoldObservation:
        """Return a copy of what was seen until a moment, by default until now."""
        return self._window.observation(self._clock.monotonic() if at_sec is None else at_sec)

    def give_up(self, reason: str) -> HoldObservation:
        """End it for whoever waits no longer; what it still sees is neither recorded nor counted.

        Args:
            reason: Why; of no meaning to a window that was observed to its end.

        Returns:
            What was seen until now.
        """
        with self._lock:
            self._cut_short(reason)
            self._sink = NullSink()
            return self.observation()

    def refuse(self, why: str) -> None:
        """Note that it is not observed at all."""
        self._cut_short(f"coverage: watch asks for more than samples, and {why}")

    def sample(self, runner: EntryRunner, interval_sec: float, why: str = "") -> None:
        """Sample it through its window.

        Args:
            runner: Who judges.
            interval_sec: Seconds between the beginnings of two samples, > 0.
            why: Why it is not watched.
        """
        method = Method.of(self._entry, "sampled", interval_sec)
        window = self._observe(method.because(why))
        due = self._clock.monotonic()
        latest_begin = due + self._settle_sec
        while not (reason := self._why_stop()):
            began_at = self._sample_once(runner)
            newest = window.newest
            settled = newest is not None and newest.success
            if not window.begun and (settled or began_at >= latest_begin):
                self._begin(began_at)
            last_slot = self._began + self._window_sec if window.begun else latest_begin
            due, missed = next_slot(due, interval_sec, self._clock.monotonic())
            if window.begun:
                if began_at >= last_slot:
                    with self._lock:
                        window.finish(self._mark("soak_end"))
                    return
                self._note_missed(missed)
            due = min(due, last_slot)
            wait_until = min(due, self._deadline)
            self._clock.wait(self._context.cancel, wait_until - self._clock.monotonic())
        self._cut_short(reason)

    def watch(self, stream: Stream, fence: Callable[[float], FenceResult]) -> None:
        """Watch it through its window, which ends with a fence.

        Args:
            stream: What it is fed.
            fence: Makes sure that everything up to now was fed; takes the seconds it may need.
        """
        method = Method.of(self._entry, "watched")
        window = self._observe(method.watching(stream.streams))
        latest_begin = self._clock.monotonic() + self._settle_sec
        while not (reason := self._why_stop()):
            now = self._clock.monotonic()
            if window.newest is not None and not window.begun and now >= latest_begin:
                self._begin(now)
            end = self._began + self._window_sec if window.begun else latest_begin
            if window.begun and now >= end:
                self._fence(stream, fence)
                return
            until = min(end, self._deadline) if window.newest is not None else self._deadline
            self._take(stream, min(max(0.0, until - now), _LONGEST_WAIT_SEC))
        self._cut_short(reason)

    def _fence(self, stream: Stream, fence: Callable[[float], FenceResult]) -> None:
        name = self._entry.name
        with self._lock:
            self._window.ending(self._mark("soak_end"))
        left = self._deadline - self._clock.monotonic()
        result = fence(max(0.1, min(SOAK_FENCE_SEC, left)))
        while self._take(stream, 0.0):
            pass
        with self._lock:
            now = self._clock.monotonic()
            self._sink.record(Fenced("post_run", name, now, result))
            self._window.end(now, result.end_rv(name), result.why_not(name))

    def _take(self, stream: Stream, timeout_sec: float) -> bool:
        """Take in what comes next; return whether anything came."""
        fed, name = stream.take(timeout_sec), self._entry.name
        with self._lock:
            if isinstance(fed, Gap):
                self._sink.record(GapNoted("post_run", name, fed))
                self._window.gap(fed)
            elif isinstance(fed, FedState):
                rv, at_sec, origin = fed.state.rv, fed.state.at_sec, fed.state.origin
                self._sink.record(Judged("post_run", name, rv, at_sec, origin, fed.result))
                self._window.state(fed.result, rv, at_sec, again=origin == "again")
                if not self._window.begun and fed.result.success:
                    self._begin(at_sec)
        return fed is not None

    def _sample_once(self, runner: EntryRunner) -> float:
        """Take a sample; return when it began."""
        began = self._clock.monotonic()
        timeout = min(HOLD_SAMPLE_TIMEOUT_SEC, self._deadline - began)
        look = look_once(runner, self._entry, timeout)
        with self._lock:
            ended = self._clock.monotonic()
            self._sink.record(Sampled(self._entry.name, began, ended, look.readings, look.result))
            self._window.sample(look.result, began, ended)
        return began

    def _begin(self, at_sec: float) -> None:
        self._began = at_sec
        with self._lock:
            self._sink.record(Marked("soak_begin", at_sec, self._entry.name))
            self._window.begin(at_sec)

    def _note_missed(self, count: int) -> None:
        if count:
            with self._lock:
                self._sink.record(Missed(self._entry.name, count))
                self._window.missed(count)

    def _mark(self, mark: Mark) -> float:
        now = self._clock.monotonic()
        self._sink.record(Marked(mark, now, self._entry.name))
        return now

    def _observe(self, method: Method) -> EntryWindow:
        """Begin anew, observed in this way."""
        interval = method.interval_sec if method.mode == "sampled" else None
        name, streams, why = self._entry.name, method.streams, method.why_sampled
        with self._lock:
            self._sink.record(Subscribed("post_run", name, method.mode, streams, why, interval))
            self._window = EntryWindow(method)
            return self._window

    def _cut_short(self, reason: str) -> None:
        with self._lock:
            if self._window.finished:
                return
            now = self._clock.monotonic()
            self._sink.record(Marked("cut_short", now, self._entry.name, {"reason": reason}))
            self._window.cut_short(reason, now)

    def _why_stop(self) -> str | None:
        when = "before its end" if self._window.begun else "before it had begun"
        if self._context.cancel.is_set():
            return f"the run was interrupted {when}"
        if self._clock.monotonic() >= self._deadline:
            return f"the verification deadline came {when}"
        return None
