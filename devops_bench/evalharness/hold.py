"""Hold entries: who observes them, and when.

A safeguard in hold mode is observed during the agent's turn by :class:`SafeguardMonitor`; an
objective in hold mode after it, by :func:`run_hold_window`. An objective never goes to the monitor
(it is not true yet when the turn begins), a safeguard never to the soak. Both fold what they see
by the same functions, and :func:`hold_verdict` judges both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.evalharness.book import BaselineFailure, ObservationBook, OnSample
from devops_bench.evalharness.limits import seconds_from_environment
from devops_bench.evalharness.observation import (
    HOLD_TRAILING_ERROR_SAMPLES,
    HoldObservation,
    _fold_error_sample,
    _fold_sample,
    hold_verdict,
)
from devops_bench.evalharness.sampler import EntryRunner, Sampler
from devops_bench.evalharness.soak import run_hold_window
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry

__all__ = [
    "HOLD_TRAILING_ERROR_SAMPLES",
    "HoldObservation",
    "SafeguardMonitor",
    "_default_poll_interval",
    "_fold_error_sample",
    "_fold_sample",
    "hold_verdict",
    "run_hold_window",
]

log = structlog.get_logger(__name__)

DEFAULT_JOIN_TIMEOUT_SEC = 30.0
"""Enough for a sample at work and the last one after it, each at its own bound."""

_JOIN_SLACK_SEC = 1.0


def _default_poll_interval() -> float:
    """Return the seconds between two samples of an entry that does not say it itself.

    ``BENCH_HOLD_INTERVAL_SEC``; 5 when it is unset, and, with a logged warning, when it is no
    number, not finite or not positive.
    """
    return seconds_from_environment("BENCH_HOLD_INTERVAL_SEC", 5.0)


class SafeguardMonitor:
    """Observes safeguards while the agent has the cluster.

    Each entry is sampled by a thread of its own, so that a slow, hung or raising check neither
    delays nor stops the others; the daemon thread ``safeguard-monitor`` starts and ends them.

    Args:
        entries: Safeguards in hold mode; none is fine.
        verifier: Who judges them; by default one without a cluster, for probes that need none.
        clock: Where time comes from.
        on_sample: Told of each sample that counted, from the thread that took it.

    Raises:
        ValueError: An entry is no safeguard in hold mode, or two have the same name.
    """

    def __init__(
        self,
        entries: Iterable[VerificationEntry],
        *,
        verifier: EntryRunner | None = None,
        clock: Clock = SYSTEM_CLOCK,
        on_sample: OnSample | None = None,
    ) -> None:
        self._entries = tuple(entries)
        for entry in self._entries:
            if entry.role != "safeguard" or entry.resolved_mode != "hold":
                raise ValueError(
                    f"the monitor takes safeguards in hold mode, {entry.name!r} is "
                    f"{entry.role} in {entry.resolved_mode} mode"
                )
        names = [entry.name for entry in self._entries]
        if len(set(names)) != len(names):
            raise ValueError(f"the names of entries must differ: {sorted(names)}")
        self._verifier: EntryRunner = verifier if verifier is not None else VerifierAgent()
        self._clock = clock
        self._book = ObservationBook(names, clock=clock, on_sample=on_sample)
        self._ending = threading.Event()
        self._give_up_at = 0.0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to sample every entry; does nothing without entries.

        Raises:
            ValueError: It was started or stopped before.
        """
        if self._thread is not None or self._ending.is_set():
            raise ValueError("a monitor is started once")
        if not self._entries:
            return
        self._book.open()
        thread = threading.Thread(target=self._run, name="safeguard-monitor", daemon=True)
        thread.start()
        self._thread = thread

    def await_baseline(self, timeout_sec: float) -> list[BaselineFailure]:
        """Wait until every entry holds, and begin the observed window there.

        Args:
            timeout_sec: Seconds to wait at most.

        Returns:
            The entries that still do not hold; empty when the turn may begin.
        """
        return self._book.await_baseline(self._clock.monotonic() + timeout_sec)

    def stop(self, join_timeout_sec: float = DEFAULT_JOIN_TIMEOUT_SEC) -> None:
        """End the window: one last sample of each entry, beginning now, then the threads end.

        Bounded, safe to call twice or without :meth:`start`, and never raises. An entry whose
        last sample does not end in time was not observed to its end, and is an error unless it
        was violated.

        Args:
            join_timeout_sec: Seconds to wait at most.
        """
        wait_sec = max(0.0, join_timeout_sec)
        if not self._ending.is_set():
            self._give_up_at = self._clock.monotonic() + wait_sec
            self._ending.set()
        try:
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join(wait_sec + _JOIN_SLACK_SEC)
        finally:
            self._close()

    def get_observations(self) -> dict[str, HoldObservation]:
        """Return what was observed so far, by entry name: a copy, all of one moment."""
        return self._book.snapshot()

    def _run(self) -> None:
        try:
            samplers = [self._sampler(entry) for entry in self._entries]
            for sampler in samplers:
                sampler.start()
            self._ending.wait()
            for sampler in samplers:
                sampler.join(self._give_up_at - self._clock.monotonic())
        except Exception:
            # Whatever has no sampler stays unfinished, and so is an error.
            log.exception("monitor.failed")
            self._ending.wait()
        finally:
            self._close()

    def _sampler(self, entry: VerificationEntry) -> Sampler:
        return Sampler(
            entry,
            self._verifier,
            interval_sec=entry.hold_poll_interval_sec or _default_poll_interval(),
            book=self._book,
            ending=self._ending,
            clock=self._clock,
        )

    def _close(self) -> None:
        unfinished = self._book.close("its last sample did not end after the turn had ended")
        if unfinished and self._thread is not None:
            log.warning("monitor.samples_unfinished", entries=unfinished)
