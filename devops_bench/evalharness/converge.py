"""Waiting for what has to become true: it passes when the state arrives, or at a look."""

from __future__ import annotations

import threading

from devops_bench.core.clock import Clock
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.backlog import FedState
from devops_bench.evalharness.feeds import Stream
from devops_bench.evalharness.sampler import EntryRunner, Look, look_once
from devops_bench.k8s.watch.gap import Gap
from devops_bench.results.evidence.records import (
    EvidenceSink,
    GapNoted,
    Judged,
    Marked,
    Sampled,
)
from devops_bench.verification.combinators import ending_sec_of, own_timeout_sec_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import SAMPLE_TIMEOUT_SEC, not_converged, time_to_end
from devops_bench.verification.spec import VerificationEntry

BESIDES_SEC = 5.0
"""A watched entry is also looked at so often, should a stream be broken and not yet mended."""

_FIRST_PAUSE_SEC = 0.1
_LONGEST_PAUSE_SEC = 1.0
_PAUSE_FACTOR = 1.3
_LONGEST_WAIT_SEC = 0.5


class Converge:
    """One converge entry at work.

    Args:
        entry: The entry.
        runner: Who looks.
        clock: Where time comes from.
        sink: Where everything is recorded before it counts.
        cancel: Ends the wait at once.
    """

    def __init__(
        self,
        entry: VerificationEntry,
        runner: EntryRunner,
        *,
        clock: Clock,
        sink: EvidenceSink,
        cancel: threading.Event,
    ) -> None:
        self._entry = entry
        self._runner = runner
        self._clock = clock
        self._sink = sink
        self._cancel = cancel
        self._last: VerificationResult | None = None
        self._took = 0.0
        # A probe may need more than other samples get, and part of that for ending what it started.
        self._longest = max(SAMPLE_TIMEOUT_SEC, own_timeout_sec_of(entry.check))
        self._ending = ending_sec_of(entry.check)

    def run(self, stream: Stream | None, start: float, timeout_sec: float) -> VerificationResult:
        """Wait until the check passes on a status that is not stale.

        Args:
            stream: What the entry is fed; ``None`` when it has to be sampled.
            start: When its time began, monotonic seconds.
            timeout_sec: Seconds that it may take.

        Returns:
            The pass; else what was seen last, an error if that was one.
        """
        deadline = start + timeout_sec
        name = self._entry.name
        self._sink.record(Marked("converge_begin", start, name, {"timeout_sec": timeout_sec}))
        passed_at = self._wait(stream, deadline)
        ended = self._clock.monotonic() if passed_at is None else passed_at
        cancelled = self._cancel.is_set()
        how: JsonObject = {"passed": passed_at is not None, "cancelled": cancelled}
        self._sink.record(Marked("converge_end", ended, name, how))
        return converged(self._last, passed=passed_at is not None, cancelled=cancelled).model_copy(
            update={"elapsed_time": max(0.0, ended - start)}
        )

    def _wait(self, stream: Stream | None, deadline: float) -> float | None:
        """Return when it passed, ``None`` if it did not."""
        pause = _FIRST_PAUSE_SEC
        due_at_once = self._clock.monotonic()
        due = due_at_once + (BESIDES_SEC if stream is not None else 0.0)
        budget = deadline - due_at_once
        final = False
        while not self._cancel.is_set():
            now = self._clock.monotonic()
            last_due = deadline - time_to_end(self._took, budget) - self._ending
            if self._cannot_end(deadline - now):
                return None
            if not final and now >= min(due, last_due):
                final = now >= last_due and self._last is not None
                passed_at = self._look(deadline)
                if passed_at is not None:
                    return passed_at
                pause = min(pause * _PAUSE_FACTOR, _LONGEST_PAUSE_SEC)
                due = self._clock.monotonic() + (BESIDES_SEC if stream is not None else pause)
                continue
            if now >= deadline or (final and stream is None):
                return None
            until = deadline if final else min(due, last_due, deadline)
            left = min(until - now, _LONGEST_WAIT_SEC)
            if stream is None:
                self._clock.wait(self._cancel, left)
            elif (passed_at := self._take(stream, left)) is not None:
                return passed_at
        return None

    def _cannot_end(self, left_sec: float) -> bool:
        """Return whether another run of a probe would only hide what the last one saw."""
        return self._ending > 0 and self._last is not None and left_sec < self._took + self._ending

    def _look(self, deadline: float) -> float | None:
        began = self._clock.monotonic()
        timeout = max(0.001, min(deadline - began, self._longest))
        look: Look = look_once(self._runner, self._entry, timeout)
        ended = self._clock.monotonic()
        self._took = ended - began
        self._sink.record(Sampled(self._entry.name, began, ended, look.readings, look.result))
        self._last = look.result
        return ended if is_converged(look.result) else None

    def _take(self, stream: Stream, timeout_sec: float) -> float | None:
        fed = stream.take(timeout_sec)
        name = self._entry.name
        if isinstance(fed, Gap):
            self._sink.record(GapNoted("post_run", name, fed))
        elif isinstance(fed, FedState):
            state = fed.state
            self._sink.record(
                Judged("post_run", name, state.rv, state.at_sec, state.origin, fed.result)
            )
            self._last = fed.result
            if is_converged(fed.result):
                return state.at_sec
        return None


def is_converged(result: VerificationResult) -> bool:
    """Return whether a converge entry passes on this result: not on a stale status."""
    return result.success and not result.stale


def converged(
    last: VerificationResult | None, *, passed: bool, cancelled: bool
) -> VerificationResult:
    """Return what a converge entry came to.

    Args:
        last: What was seen last, ``None`` if nothing was.
        passed: Whether it passed on that.
        cancelled: Whether the wait was interrupted.
    """
    if last is None:
        return VerificationResult.errored("the verification budget ran out before it was judged")
    return last if passed else not_converged(last, cancelled=cancelled)
