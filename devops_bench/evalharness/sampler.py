"""Samples one entry on a schedule of its own."""

from __future__ import annotations

import math
import threading
from typing import Protocol

import structlog

from devops_bench.core.clock import Clock
from devops_bench.evalharness.book import ObservationBook
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)

HOLD_SAMPLE_TIMEOUT_SEC = 10.0
"""What one sample of a hold entry may take before it is an error."""


class EntryRunner(Protocol):
    """Judges entries; ``VerifierAgent`` is one. Called by several threads at once."""

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        """Run the entry by its mode: a hold entry is sampled once."""
        ...


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
    that; only then does it call the entry finished. A check that never returns keeps this thread
    and no other, and leaves the entry unfinished.

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
        self._sample()
        self._book.finish(self._entry.name)

    def _sample(self) -> None:
        began_at = self._clock.monotonic()
        try:
            result = self._runner.run_entry(self._entry, HOLD_SAMPLE_TIMEOUT_SEC)
        except Exception as exc:  # noqa: BLE001 - a check that raises was not observed: an error
            self._book.fold_error(self._entry.name, f"the check raised {exc!r}", began_at)
        else:
            self._book.fold(self._entry.name, result, began_at)
