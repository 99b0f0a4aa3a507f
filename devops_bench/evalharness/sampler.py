"""Samples one entry on a schedule of its own."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, runtime_checkable

import structlog

from devops_bench.core.clock import Clock
from devops_bench.core.faults import named
from devops_bench.evalharness.book import ObservationBook, Readings
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)

HOLD_SAMPLE_TIMEOUT_SEC = 10.0
"""What one sample of a hold entry may take before it is an error."""


LAST_LOOK_SEC = 5.0
"""So long the last look of a window is taken again where it could not be judged."""

_AGAIN_SEC = 0.25
_LEAST_LOOKS = 2


class EntryRunner(Protocol):
    """Judges entries; ``VerifierAgent`` is one. Called by several threads at once."""

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        """Run the entry by its mode: a hold entry is sampled once."""
        ...


class Look(NamedTuple):
    """One live look at an entry.

    Attributes:
        result: What it came to.
        readings: What its pure leaves read; ``None`` when that is not known.
    """

    result: VerificationResult
    readings: Readings


@runtime_checkable
class Looker(Protocol):
    """Looks at entries, and says what it read. Called by several threads at once."""

    def look(self, entry: VerificationEntry, timeout_sec: float) -> Look:
        """Judge the entry once, whatever its mode is; never raises."""
        ...


def look_once(runner: EntryRunner, entry: VerificationEntry, timeout_sec: float) -> Look:
    """Look at an entry once; one that raises was not observed, and is an error.

    Args:
        runner: Who judges; one that is no :class:`Looker` runs the entry by its mode.
        entry: The entry.
        timeout_sec: Seconds that it may take, > 0.
    """
    try:
        if isinstance(runner, Looker):
            return runner.look(entry, timeout_sec)
        return Look(runner.run_entry(entry, timeout_sec), None)
    except Exception as exc:  # noqa: BLE001 - whatever it was, nothing was observed
        return Look(
            VerificationResult.errored(f"the check raised {named(exc)}"),
            None,
        )


def next_slot(due: float, interval_sec: float, now: float) -> tuple[float, int]:
    """Return when the next sample is due, and how many slots were missed before it.

    Slots lie on a fixed grid, so that slow samples do not shift the schedule.

    Args:
        due: The slot of the sample that has just ended.
        interval_sec: Seconds between two slots, > 0.
        now: The time now, on the same axis as ``due``.
    """
    missed = max(0, math.floor((now - due) / interval_sec))
    return due + (missed + 1) * interval_sec, missed


class Sampler:
    """A daemon thread that samples one entry until it is told that the window ends.

    A sample never overlaps the next. After the end it takes one last sample, which begins after
    that; only then does it call the entry finished. One that could not be judged is taken again, at
    least once and for :data:`LAST_LOOK_SEC`: without it nobody saw the end, which two errors in a
    row then say. A check that never returns keeps this thread and no other, and leaves the entry
    unfinished.

    Args:
        entry: What is sampled.
        runner: Who judges it.
        interval_sec: Seconds between the beginnings of two samples, > 0.
        book: Where samples go.
        ending: Set when the window ends.
        clock: Where time comes from.
    """

    def __init__(
        self,
        entry: VerificationEntry,
        runner: EntryRunner,
        *,
        interval_sec: float,
        book: ObservationBook,
        ending: threading.Event,
        clock: Clock,
    ) -> None:
        self._entry = entry
        self._runner = runner
        self._interval = interval_sec
        self._book = book
        self._ending = ending
        self._clock = clock
        self._never = threading.Event()
        self._judged = False
        self._thread = threading.Thread(
            target=self._run, name=f"safeguard-sampler-{entry.name}", daemon=True
        )

    def start(self) -> None:
        """Begin; the first sample is due at once."""
        self._thread.start()

    def join(self, timeout_sec: float) -> None:
        """Wait for the last sample to end, at most ``timeout_sec`` seconds."""
        self._thread.join(max(0.0, timeout_sec))

    def _run(self) -> None:
        try:
            self._sample_until_the_end()
        except Exception:
            # The entry stays unfinished, and so is an error: nobody saw the rest of its window.
            log.exception("monitor.sampler_failed", entry=self._entry.name)

    def _sample_until_the_end(self) -> None:
        due = self._clock.monotonic()
        while not self._ending.is_set():
            self._sample()
            due, missed = next_slot(due, self._interval, self._clock.monotonic())
            if missed:
                self._book.count_missed(self._entry.name, missed)
            self._clock.wait(self._ending, due - self._clock.monotonic())
        self._look_last()
        self._book.finish(self._entry.name)

    def _look_last(self) -> None:
        """Look at what is there at the end; two looks at least before that counts as unseen."""
        until = self._clock.monotonic() + LAST_LOOK_SEC
        looks = 1
        while self._sample().status == "error":
            over = looks >= _LEAST_LOOKS and self._clock.monotonic() >= until
            if over or not self._judged:
                return  # what could never be judged is an error whatever comes
            self._clock.wait(self._never, _AGAIN_SEC)
            looks += 1

    def _sample(self) -> VerificationResult:
        began_at = self._clock.monotonic()
        look = look_once(self._runner, self._entry, HOLD_SAMPLE_TIMEOUT_SEC)
        self._book.fold(self._entry.name, look.result, began_at, look.readings)
        self._judged = self._judged or look.result.status != "error"
        return look.result


class SamplerGroup:
    """Samplers whose windows end together, started and ended by a thread ``safeguard-monitor``.

    Args:
        entries: What is sampled; none is fine.
        make: Makes the sampler of an entry; the event is set when the windows end.
        clock: Where time comes from.
    """

    def __init__(
        self,
        entries: Iterable[VerificationEntry],
        make: Callable[[VerificationEntry, threading.Event], Sampler],
        clock: Clock,
    ) -> None:
        self._entries = tuple(entries)
        self._make = make
        self._clock = clock
        self._ending = threading.Event()
        self._give_up_at = 0.0
        self._thread: threading.Thread | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries."""
        return tuple(entry.name for entry in self._entries)

    def start(self) -> None:
        """Begin to sample; does nothing without entries."""
        if self._entries:
            thread = threading.Thread(target=self._run, name="safeguard-monitor", daemon=True)
            thread.start()
            self._thread = thread

    def end(self, give_up_at: float) -> None:
        """End the windows: each entry gets one last sample, beginning now. Does not wait.

        Args:
            give_up_at: When a sample that has not ended is given up, monotonic seconds.
        """
        if not self._ending.is_set():
            self._give_up_at = give_up_at
            self._ending.set()

    def join(self, timeout_sec: float) -> None:
        """Wait until the last samples have ended or were given up."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(0.0, timeout_sec))

    def _run(self) -> None:
        try:
            samplers = [self._make(entry, self._ending) for entry in self._entries]
            for sampler in samplers:
                sampler.start()
            self._ending.wait()
            for sampler in samplers:
                sampler.join(self._give_up_at - self._clock.monotonic())
        except Exception:
            # Whatever has no sampler stays unfinished, and so is an error.
            log.exception("monitor.failed")
            self._ending.wait()
