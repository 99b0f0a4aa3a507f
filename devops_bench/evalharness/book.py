"""The table of observations that several threads write and anybody may read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import structlog

from devops_bench.core.clock import Clock
from devops_bench.evalharness.observation import (
    HoldObservation,
    _fold_error_sample,
    _fold_sample,
)
from devops_bench.verification.result import VerificationResult

log = structlog.get_logger(__name__)

OnSample = Callable[[str, VerificationResult, HoldObservation], None]
"""Called after each sample with the entry's name, the sample, and a copy of the observation."""


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

    Args:
        names: The entries.
        clock: Where time comes from.
        on_sample: Told of each sample that counted; what it raises is logged and dropped.
    """

    def __init__(
        self, names: Iterable[str], *, clock: Clock, on_sample: OnSample | None = None
    ) -> None:
        self._clock = clock
        self._on_sample = on_sample
        self._changed = threading.Condition()
        self._observations = {name: HoldObservation() for name in names}
        self._newest: dict[str, VerificationResult] = {}
        self._unfinished = set(self._observations)
        self._origin = clock.monotonic()
        self._closed = False

    def open(self) -> None:
        """Begin the window now: seconds are counted from here."""
        with self._changed:
            self._origin = self._clock.monotonic()

    def fold(self, name: str, result: VerificationResult, began_at: float) -> None:
        """Record one sample.

        One that began before the window, or ends after the book was closed, does not count.

        Args:
            name: The entry; all its samples come from one thread.
            result: What the sample came to.
            began_at: When it began, on the clock's monotonic axis.
        """
        with self._changed:
            if self._closed or began_at < self._origin:
                return
            observation = self._observations[name]
            _fold_sample(observation, result, began_at - self._origin)
            copy = self._note(name, result, observation)
        self._tell(name, result, copy)

    def fold_error(self, name: str, reason: str, began_at: float) -> None:
        """Record one sample that raised instead of returning; see :meth:`fold`."""
        with self._changed:
            if self._closed or began_at < self._origin:
                return
            observation = self._observations[name]
            _fold_error_sample(observation, reason)
            result = VerificationResult.errored(reason)
            copy = self._note(name, result, observation)
        self._tell(name, result, copy)

    def count_missed(self, name: str, count: int) -> None:
        """Record that ``count`` due samples were not taken."""
        with self._changed:
            self._observations[name].missed_count += count

    def finish(self, name: str) -> None:
        """Record that the entry was observed to the end of its window."""
        with self._changed:
            if not self._closed:
                self._unfinished.discard(name)

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
            self._closed = True
            for name in self._unfinished:
                self._observations[name].cut_short = reason
            self._changed.notify_all()
            return sorted(self._unfinished)

    def snapshot(self) -> dict[str, HoldObservation]:
        """Return a copy of every observation, all of one moment."""
        with self._changed:
            return {name: replace(obs) for name, obs in self._observations.items()}

    def await_baseline(self, deadline: float) -> list[BaselineFailure]:
        """Wait until the newest sample of every entry is a pass, then begin the window there.

        Those passes are the first sample of each observation; whatever came before is forgotten,
        since it was not the agent's doing.

        Args:
            deadline: When to give up, on the clock's monotonic axis.

        Returns:
            The entries whose newest sample is no pass; empty when the window has begun.
        """
        with self._changed:
            while failures := self._not_passing():
                remaining = deadline - self._clock.monotonic()
                if remaining <= 0 or self._closed:
                    return failures
                self._changed.wait(remaining)
            self._origin = self._clock.monotonic()
            for name in self._observations:
                observation = HoldObservation()
                _fold_sample(observation, self._newest[name], 0.0)
                self._observations[name] = observation
            return []

    def _not_passing(self) -> list[BaselineFailure]:
        failures: list[BaselineFailure] = []
        for name in self._observations:
            newest = self._newest.get(name)
            if newest is None:
                failures.append(BaselineFailure(name, "its first sample did not end in time"))
            elif newest.status != "pass":
                failures.append(BaselineFailure(name, newest.reason))
        return failures

    def _note(
        self, name: str, result: VerificationResult, observation: HoldObservation
    ) -> HoldObservation:
        """Keep the newest sample, wake whoever waits, and return a copy for the listener."""
        self._newest[name] = result
        self._changed.notify_all()
        return replace(observation)

    def _tell(self, name: str, result: VerificationResult, observation: HoldObservation) -> None:
        """Tell the listener, without the lock: a slow one delays no other entry."""
        if self._on_sample is None:
            return
        try:
            self._on_sample(name, result, observation)
        except Exception:
            log.exception("monitor.listener_failed", entry=name)
