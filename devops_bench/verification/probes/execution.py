"""Running probes: bounded in time, side by side, and never twice at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from devops_bench.core.clock import Clock
from devops_bench.core.faults import named
from devops_bench.verification.base import Probe, ProbeContext
from devops_bench.verification.result import VerificationResult

T = TypeVar("T")

GRACE_SEC: Final = 0.5
"""How much longer than its timeout a probe may take before it is left behind."""


class ProbeRunner:
    """Runs probes on threads of their own, so that one that hangs holds nobody.

    A thread cannot be ended from outside; a probe that does not come back is left behind, and is
    not started again while it still runs: it may keep state, and is not made for two calls at once.

    Args:
        context: What every probe may use.
        clock: Bounds the waiting.
    """

    def __init__(self, context: ProbeContext, clock: Clock) -> None:
        self._context = context
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[int, Probe] = {}

    def run(self, probe: Probe, timeout_sec: float) -> VerificationResult:
        """Ask ``probe`` once.

        Args:
            probe: The probe.
            timeout_sec: What it is told, seconds > 0.

        Returns:
            Its result; an error if it raised, did not return in time, or still runs from before.
        """
        with self._lock:
            if id(probe) in self._running:
                return VerificationResult.errored(
                    f"the {probe.type} probe has not returned from an earlier sample"
                )
            self._running[id(probe)] = probe
        answers: list[VerificationResult] = []
        done = threading.Event()

        def ask() -> None:
            try:
                answers.append(_ask(probe, self._context, timeout_sec))
            finally:
                with self._lock:
                    del self._running[id(probe)]
                done.set()

        start = self._clock.monotonic()
        threading.Thread(target=ask, name=f"probe-{probe.type}", daemon=True).start()
        if not self._clock.wait(done, timeout_sec + GRACE_SEC):
            return VerificationResult.errored(
                f"the {probe.type} probe did not return within {timeout_sec:g} s"
            )
        elapsed = max(0.0, self._clock.monotonic() - start)
        if not answers:
            return VerificationResult.errored(f"the {probe.type} probe ended without a result")
        return answers[0].model_copy(update={"elapsed_time": answers[0].elapsed_time or elapsed})


def _ask(probe: Probe, context: ProbeContext, timeout_sec: float) -> VerificationResult:
    try:
        answer: object = probe.probe(context, timeout_sec)
    except Exception as exc:  # noqa: BLE001 - a plug-in may raise anything; it was no observation
        return VerificationResult.errored(f"{probe.type}: {named(exc)}")
    if not isinstance(answer, VerificationResult):
        return VerificationResult.errored(
            f"{probe.type} answered with {type(answer).__name__}, not with a VerificationResult"
        )
    return answer


def side_by_side(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run ``jobs`` at the same time, each on a thread, and return what they return, in order.

    Every job returns in bounded time and raises nothing: they are judgements.
    """
    results: dict[int, T] = {}

    def work(index: int, job: Callable[[], T]) -> None:
        results[index] = job()

    threads = [
        threading.Thread(target=work, args=(index, job), name=f"parallel-{index}", daemon=True)
        for index, job in enumerate(jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[index] for index in range(len(jobs))]
