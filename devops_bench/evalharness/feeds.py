"""Watching what is judged after the turn: each entry gets its states, to be taken one by one."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from devops_bench.core.clock import Clock
from devops_bench.evalharness.backlog import Backlog, Fed, FedState
from devops_bench.evalharness.watching import Assignment, EntryWatch, WatchFactory
from devops_bench.k8s.watch.results import FenceResult
from devops_bench.results.evidence.records import EvidenceSink, NullSink
from devops_bench.verification.spec import VerificationEntry

START_TIMEOUT_SEC = 10.0
"""What opening the streams may take; then everything is sampled."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What one watched entry is fed.

    Attributes:
        streams: What is watched, for the reader.
        items: Its states and gaps, in order.
    """

    streams: tuple[str, ...]
    items: Backlog

    def take(self, timeout_sec: float) -> Fed | None:
        """Return the next state or gap, ``None`` if there is none within the time."""
        return self.items.take(timeout_sec)


class Feeds:
    """Watches entries after the turn.

    Args:
        entries: Converge entries and soaks.
        factory: Makes the watcher; without one everything is sampled.
        clock: Where time comes from.
        sink: Where what is seen is recorded; by default nowhere.
    """

    def __init__(
        self,
        entries: Iterable[VerificationEntry],
        factory: WatchFactory | None,
        *,
        clock: Clock,
        sink: EvidenceSink | None = None,
    ) -> None:
        self._entries = tuple(entries)
        self._clock = clock
        self._items = {entry.name: Backlog(clock) for entry in self._entries}
        self._watch = EntryWatch(
            self._entries,
            factory,
            clock=clock,
            sink=sink if sink is not None else NullSink(),
            name="post_run",
            on_state=lambda name, result, state: self._feed(name, FedState(result, state)),
            on_gap=self._feed,
        )
        self._assignment = Assignment()
        self._ready = threading.Event()
        self._possible = factory is not None and bool(self._entries)

    def start(self) -> None:
        """Begin to open the streams, on a thread of its own; does not wait."""
        if self._possible:
            threading.Thread(target=self._run, name="post-run-watch", daemon=True).start()
        else:
            self._ready.set()

    def stream(self, entry: VerificationEntry, timeout_sec: float) -> Stream | str:
        """Return what an entry is fed, or why it has to be sampled; then it is released.

        Whoever asks decides by the answer, and records it: streams that open later change nothing.

        Args:
            entry: The entry.
            timeout_sec: Seconds to wait for the streams to open at most.
        """
        if not self._clock.wait(self._ready, timeout_sec):
            self.release(entry.name)
            return f"its streams did not open within {timeout_sec:g} s"
        streams, items = self._assignment.watched.get(entry.name), self._items.get(entry.name)
        if streams is None or items is None:
            self.release(entry.name)
            return self._assignment.sampled.get(entry.name, "there is no watcher")
        return Stream(streams, items)

    def release(self, name: str) -> None:
        """Feed an entry no more, since nobody takes what it is fed; safe to call twice."""
        items = self._items.pop(name, None)
        if items is not None:
            items.close()

    def fence(self, timeout_sec: float) -> FenceResult:
        """Make sure that everything up to now was judged; never raises."""
        return self._watch.fence(timeout_sec)

    def stop(self) -> None:
        """End the watcher; never raises."""
        self._watch.stop(5.0)

    def _run(self) -> None:
        self._assignment = self._watch.start(START_TIMEOUT_SEC)
        self._ready.set()

    def _feed(self, name: str, fed: Fed) -> None:
        items = self._items.get(name)
        if items is not None:
            items.put(fed)
