"""Running entries: looking at the cluster, judging, and waiting for what has to become true."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.faults import named
from devops_bench.k8s.view import Reading, ResourceQuery, Snapshot, View, ViewSource
from devops_bench.verification.base import Check, CheckNode, Probe, ProbeContext
from devops_bench.verification.combinators import (
    ending_sec_of,
    evaluate,
    is_pure,
    own_timeout_sec_of,
    queries_of,
)
from devops_bench.verification.probes.execution import ProbeRunner, side_by_side
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)

SAMPLE_TIMEOUT_SEC: Final = 30.0
"""Seconds that one sample of a converge entry or a hold may take at most."""

_FIRST_PAUSE_SEC: Final = 0.1
_LONGEST_PAUSE_SEC: Final = 1.0
_PAUSE_FACTOR: Final = 1.3
_SHORTEST_TIMEOUT_SEC: Final = 0.001
_ROOM_FACTOR: Final = 4.0
_LEAST_ROOM_SEC: Final = 0.5
_LARGEST_SHARE: Final = 0.1


class VerifierAgent:
    """Judges checks on a cluster, and runs entries on it. Safe to use from several threads.

    Args:
        source: Where views come from; without one every pure check is an error.
        probe_context: What probes may use.
        clock: Where time comes from.
        cancel: When it is set, a converge entry stops waiting.
    """

    def __init__(
        self,
        source: ViewSource | None = None,
        *,
        probe_context: ProbeContext | None = None,
        clock: Clock = SYSTEM_CLOCK,
        cancel: threading.Event | None = None,
    ) -> None:
        self._source = source
        self._clock = clock
        self._cancel = cancel if cancel is not None else threading.Event()
        self._probes = ProbeRunner(probe_context or ProbeContext(), clock)

    def sample(self, check: CheckNode, timeout_sec: float) -> VerificationResult:
        """Judge ``check`` once; never raises.

        All that its pure leaves read is read as one view. Probes below a ``parallel`` run at the
        same time; the probes of a ``sequence`` that come after a failure do not run.

        Args:
            check: The root of a tree of checks.
            timeout_sec: Seconds that the sample may take; what has not been observed by then is an
                error.

        Returns:
            The result; whatever went wrong on the way is an error with the reason.
        """
        return self.sample_and_readings(check, timeout_sec)[0]

    def sample_and_readings(
        self, check: CheckNode, timeout_sec: float
    ) -> tuple[VerificationResult, Mapping[ResourceQuery, Reading] | None]:
        """Judge ``check`` once as :meth:`sample` does, and say what its pure leaves read.

        Returns:
            The result, and the answer to each query; ``None`` where that is not known.
        """
        start = self._clock.monotonic()
        deadline = start + max(timeout_sec, _SHORTEST_TIMEOUT_SEC)
        view: View | str = "the cluster was not read"
        try:
            view = self._view(check, deadline)

            def judge_leaf(leaf: CheckNode) -> VerificationResult:
                return self._judge_leaf(leaf, view, deadline)

            result = evaluate(check, judge_leaf, None if is_pure(check) else side_by_side)
        except Exception as exc:  # a sample that broke is one that saw nothing
            log.warning("sample.failed", check=check.type, error=str(exc), exc_info=True)
            result = VerificationResult.errored(f"the check broke: {_said(exc)}")
        elapsed = max(0.0, self._clock.monotonic() - start)
        readings = view.readings if isinstance(view, Snapshot) else None
        return result.model_copy(update={"elapsed_time": elapsed}), readings

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        """Run an entry by its mode; never raises.

        ``assert`` is judged once. ``converge`` is judged until it passes on a status that is not
        stale, or until ``timeout_sec`` has passed: then its last sample is returned, an error if
        that was one. ``hold`` is judged once, whatever the budget is: a window is somebody else's
        job.

        Args:
            entry: The entry.
            timeout_sec: The entry's budget in seconds.
        """
        if entry.resolved_mode == "converge":
            return self._converge(entry.check, timeout_sec)
        if entry.resolved_mode == "hold":
            return self.sample(entry.check, SAMPLE_TIMEOUT_SEC)
        return self.sample(entry.check, timeout_sec)

    def _converge(self, check: CheckNode, timeout_sec: float) -> VerificationResult:
        start = self._clock.monotonic()
        deadline = start + timeout_sec
        longest = max(SAMPLE_TIMEOUT_SEC, own_timeout_sec_of(check))
        pause = _FIRST_PAUSE_SEC
        while True:
            began = self._clock.monotonic()
            result = self.sample(check, min(deadline - began, longest))
            now = self._clock.monotonic()
            if result.success and not result.stale:
                break
            room = deadline - now - time_to_end(now - began, timeout_sec) - ending_sec_of(check)
            if room <= 0 or self._clock.wait(self._cancel, min(pause, room)):
                result = not_converged(result, cancelled=self._cancel.is_set())
                break
            pause = min(pause * _PAUSE_FACTOR, _LONGEST_PAUSE_SEC)
        elapsed = max(0.0, self._clock.monotonic() - start)
        return result.model_copy(update={"elapsed_time": elapsed})

    def _view(self, check: CheckNode, deadline: float) -> View | str:
        """Return a view of what ``check`` reads, or why there is none."""
        queries = queries_of(check)
        if not queries:
            return Snapshot()
        if self._source is None:
            return "there is no cluster to read from"
        try:
            return self._source.view(queries, self._left(deadline))
        except Exception as exc:  # whatever it was, nothing was observed
            log.warning("view.failed", error=str(exc), exc_info=True)
            return f"the cluster could not be read: {_said(exc)}"

    def _judge_leaf(self, leaf: CheckNode, view: View | str, deadline: float) -> VerificationResult:
        if isinstance(leaf, Probe):
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return VerificationResult.errored("the time ran out before the probe could start")
            return self._probes.run(leaf, left)
        if not isinstance(leaf, Check):
            return VerificationResult.errored(f"a check of type {leaf.type} cannot be judged")
        if isinstance(view, str):
            return VerificationResult.errored(view)
        try:
            return leaf.judge(view)
        except Exception as exc:  # a judge that broke has not judged
            log.warning("judge.failed", check=leaf.type, error=str(exc), exc_info=True)
            return VerificationResult.errored(f"the {leaf.type} check broke: {_said(exc)}")

    def _left(self, deadline: float) -> float:
        return max(deadline - self._clock.monotonic(), _SHORTEST_TIMEOUT_SEC)


def not_converged(last: VerificationResult, *, cancelled: bool) -> VerificationResult:
    """Return what a converge entry comes to that did not pass in time, by its last sample."""
    if cancelled:
        return VerificationResult.errored(
            f"interrupted before it passed; last seen: {last.reason}", raw=last.raw
        )
    if not last.success:
        return last
    reason = f"{last.reason}; the status is behind the object's generation, so it is not yet true"
    return last.model_copy(update={"success": False, "status": "fail", "reason": reason})


def time_to_end(last_took_sec: float, budget_sec: float) -> float:
    """Return what must be left of a budget for one more sample to be worth its start.

    A sample that cannot end in time would only hide the last one that did, so it gets several times
    what that took; but a small budget is there to be used, not to be kept.
    """
    ample = max(last_took_sec * _ROOM_FACTOR, _LEAST_ROOM_SEC)
    return max(last_took_sec, min(ample, budget_sec * _LARGEST_SHARE))


def _said(exc: Exception) -> str:
    return named(exc)[:500]
