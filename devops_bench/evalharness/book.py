"""The table of observations that several threads write and anybody may read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import structlog

from devops_bench.core.clock import Clock
from devops_bench.evalharness.observation import HoldObservation
from devops_bench.evalharness.window import EntryWindow, Method
from devops_bench.k8s.view import Reading, ResourceQuery
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult
from devops_bench.k8s.watch.types import StateInfo
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
)
from devops_bench.verification.result import VerificationResult

log = structlog.get_logger(__name__)

_T = TypeVar("_T")

OnSample = Callable[[str, VerificationResult, HoldObservation], None]
"""Called after each sample or state that counts, with the entry's name, what it came to, and a copy
of the observation without its coverage."""

Readings = Mapping[ResourceQuery, Reading] | None


@dataclass(frozen=True, slots=True)
class BaselineFailure:
    """A safeguard that did not hold before the agent's turn.

    Attributes:
        name: The entry.
        reason: Its newest sample's reason, or that there was none.
    """

    name: str
    reason: str


class ObservationBook:
    """Observations by entry name. What feeds it (samples, watched states) is no matter here.

    Everything is recorded before it is folded, and in the order in which it is folded.

    Args:
        methods: The entries, and how each is observed.
        clock: Where time comes from.
        on_sample: Told of each sample that counted; what it raises is logged and dropped.
        sink: Where everything is recorded.
    """

    def __init__(
        self,
        methods: Mapping[str, Method],
        *,
        clock: Clock,
        on_sample: OnSample | None = None,
        sink: EvidenceSink | None = None,
    ) -> None:
        self._clock = clock
        self._on_sample = on_sample
        self._sink: EvidenceSink = sink if sink is not None else NullSink()
        self._changed = threading.Condition()
        self._windows = {name: EntryWindow(method) for name, method in methods.items()}
        self._shown_again: set[str] = set()
        self._closed = False

    def observe(self, name: str, method: Method) -> None:
        """Say how an entry is observed from now on; only before its window begins."""
        with self._changed:
            self._windows[name].method = method

    def method(self, name: str) -> Method:
        """Return how an entry is observed."""
        with self._changed:
            return self._windows[name].method

    def open(self) -> None:
        """Begin the windows now, whether or not the entries hold."""
        with self._changed:
            self._begin()

    def state(self, name: str, result: VerificationResult, state: StateInfo) -> None:
        """Record a watched state, judged.

        Args:
            name: The entry.
            result: What the state came to.
            state: Which state.
        """
        with self._changed:
            if self._closed:
                return
            self._sink.record(Judged("turn", name, state.rv, state.at_sec, state.origin, result))
            again = state.origin == "again"
            if again:
                self._shown_again.add(name)
            window = self._windows[name]
            counts = window.state(result, state.rv, state.at_sec, again=again)
            copy = window.newest_observation()
            self._changed.notify_all()
        if counts or not window.begun:
            self._tell(name, result, copy)

    def gap(self, name: str, gap: Gap) -> None:
        """Record a gap of what an entry reads."""
        with self._changed:
            if self._closed:
                return
            self._sink.record(GapNoted("turn", name, gap))
            self._windows[name].gap(gap)
            self._changed.notify_all()

    def fold(
        self,
        name: str,
        result: VerificationResult,
        began_at: float,
        readings: Readings = None,
    ) -> None:
        """Record one sample, which has ended now.

        One that began before the window, or ends after the book was closed, does not count.

        Args:
            name: The entry; all its samples come from one thread.
            result: What the sample came to.
            began_at: When it began, on the clock's monotonic axis.
            readings: What it read, where that is known.
        """
        with self._changed:
            window = self._windows[name]
            if self._closed:
                return
            now = self._clock.monotonic()
            self._sink.record(Sampled(name, began_at, now, readings, result))
            counts = window.sample(result, began_at, now)
            copy = window.newest_observation()
            self._changed.notify_all()
        if counts or not window.begun:
            self._tell(name, result, copy)

    def count_missed(self, name: str, count: int) -> None:
        """Record that ``count`` due samples were not taken."""
        with self._changed:
            if not self._closed:
                self._sink.record(Missed(name, count))
                self._windows[name].missed(count)

    def finish(self, name: str) -> None:
        """Record that a sampled entry was observed to the end of its window."""
        with self._changed:
            if not self._closed:
                now = self._mark("entry_finished", name)
                self._windows[name].finish(now)

    def turn_ending(self) -> None:
        """Record that the agent has ended: what is watched from now on waits for the fence."""
        with self._changed:
            now = self._mark("turn_ending")
            for window in self._windows.values():
                window.ending(now)
                if window.method.mode == "sampled" and window.method.scope == "run":
                    window.end_turn_sampled()

    def turn_ended(self, fence: FenceResult) -> None:
        """Record the fence that was asked for after :meth:`turn_ending`."""
        with self._changed:
            now = self._clock.monotonic()
            self._sink.record(Fenced("turn", None, now, fence))
            for name, window in self._watched():
                window.end(now, fence.end_rv(name), fence.why_not(name))

    def run_ending(self) -> None:
        """Record that everything after the turn was judged."""
        with self._changed:
            now = self._mark("run_ending")
            for window in self._windows.values():
                window.run_ending(now)

    def run_ended(self, fence: FenceResult) -> None:
        """Record the fence that was asked for after :meth:`run_ending`."""
        with self._changed:
            now = self._clock.monotonic()
            self._sink.record(Fenced("turn", None, now, fence))
            for name, window in self._watched():
                window.end_run(now, fence.end_rv(name), fence.why_not(name))

    def cut_short(self, names: Iterable[str], reason: str) -> list[str]:
        """End the windows of those entries that were not observed to their end.

        Returns:
            The names of those.
        """
        with self._changed:
            if self._closed:
                return []
            return self._cut(names, reason)

    def close(self, reason: str) -> list[str]:
        """End the book: nothing counts any more. Safe to call twice.

        Args:
            reason: What cut the window of every entry short that was not finished.

        Returns:
            The names of those entries, none when the book was closed before.
        """
        with self._changed:
            if self._closed:
                return []
            cut = self._cut(self._windows, reason)
            self._mark("closed")
            self._closed = True
            self._changed.notify_all()
            return sorted(cut)

    def snapshot(self) -> dict[str, HoldObservation]:
        """Return a copy of every observation, all of one moment."""
        with self._changed:
            now = self._clock.monotonic()
            return {name: window.observation(now) for name, window in self._windows.items()}

    def await_holding(self, deadline: float) -> list[BaselineFailure]:
        """Wait until the newest judgement of every entry is a pass and no gap is open.

        Args:
            deadline: When to give up, on the clock's monotonic axis.

        Returns:
            The entries of which that is not so; empty when all hold.
        """
        with self._changed:
            return self._await(self._not_holding, deadline)

    def begin_if_holding(self, shown: Iterable[str], deadline: float) -> bool:
        """Begin the windows if every entry still holds when some were shown once more.

        Those judgements are the first sample of each observation; whatever came before is
        forgotten, since it was not the agent's doing.

        Args:
            shown: The watched entries: each is waited for until it was shown again, so that all
                that was queued before was judged.
            deadline: When to give up.

        Returns:
            Whether the windows have begun.
        """
        wanted = set(shown)
        with self._changed:
            self._await(lambda: sorted(wanted - self._shown_again), deadline)
            if wanted - self._shown_again or self._not_holding() or self._closed:
                return False
            self._begin()
            return True

    def expect_again(self) -> None:
        """Forget which entries were shown once more."""
        with self._changed:
            self._shown_again.clear()

    def _begin(self) -> None:
        now = self._mark("window_begin")
        for window in self._windows.values():
            window.begin(now)

    def _await(self, missing: Callable[[], list[_T]], deadline: float) -> list[_T]:
        while left := missing():
            remaining = deadline - self._clock.monotonic()
            if remaining <= 0 or self._closed:
                return left
            self._changed.wait(remaining)
        return []

    def _not_holding(self) -> list[BaselineFailure]:
        failures: list[BaselineFailure] = []
        for name, window in self._windows.items():
            newest, gap = window.newest, window.pending_gap()
            if newest is None:
                failures.append(BaselineFailure(name, "its first sample did not end in time"))
            elif newest.status != "pass":
                failures.append(BaselineFailure(name, newest.reason))
            elif gap is not None:
                failures.append(BaselineFailure(name, f"{gap.stream}: {gap.cause}"))
        return failures

    def _watched(self) -> list[tuple[str, EntryWindow]]:
        return [(n, w) for n, w in self._windows.items() if w.method.mode == "watched"]

    def _cut(self, names: Iterable[str], reason: str) -> list[str]:
        cut = [name for name in names if not self._windows[name].finished]
        now = self._clock.monotonic()
        for name in cut:
            self._sink.record(Marked("cut_short", now, name, {"reason": reason}))
            self._windows[name].cut_short(reason, now)
        return cut

    def _mark(self, mark: Mark, entry: str | None = None) -> float:
        now = self._clock.monotonic()
        self._sink.record(Marked(mark, now, entry))
        return now

    def _tell(self, name: str, result: VerificationResult, observation: HoldObservation) -> None:
        """Tell the listener, without the lock: a slow one delays no other entry."""
        if self._on_sample is None:
            return
        try:
            self._on_sample(name, result, observation)
        except Exception:
            log.exception("monitor.listener_failed", entry=name)
