"""The soak: an objective must become true and then stay true through a window after the turn."""

from __future__ import annotations

import threading

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.evalharness.observation import HoldObservation, _fold_sample
from devops_bench.evalharness.sampler import HOLD_SAMPLE_TIMEOUT_SEC, EntryRunner, next_slot
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry


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
    into: HoldObservation | None = None,
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
        into: An empty observation to fill and return, so that the caller keeps what was seen when
            a check never returns; by default a new one.
    """
    soak = _Soak(
        entry,
        verifier if verifier is not None else VerifierAgent(),
        clock,
        cancel if cancel is not None else threading.Event(),
        into if into is not None else HoldObservation(),
    )
    return soak.run(window_sec, interval_sec, deadline, settle_sec)


class _Soak:
    """One soak; keeps what the loop needs besides its four numbers."""

    def __init__(
        self,
        entry: VerificationEntry,
        runner: EntryRunner,
        clock: Clock,
        cancel: threading.Event,
        observation: HoldObservation,
    ) -> None:
        self._entry = entry
        self._runner = runner
        self._clock = clock
        self._cancel = cancel
        self._observation = observation

    def run(
        self, window_sec: float, interval_sec: float, deadline: float, settle_sec: float
    ) -> HoldObservation:
        obs = self._observation
        due = self._clock.monotonic()
        latest_begin = due + settle_sec
        window_begin: float | None = None
        while not (reason := self._why_stop(deadline, window_begin is not None)):
            began_at = self._clock.monotonic()
            result = self._sample(deadline - began_at)
            if window_begin is None and (result.success or began_at >= latest_begin):
                window_begin = began_at
            last_slot = latest_begin if window_begin is None else window_begin + window_sec
            due, missed = next_slot(due, interval_sec, self._clock.monotonic())
            if window_begin is not None:
                _fold_sample(obs, result, began_at - window_begin)
                if began_at >= last_slot:
                    return obs
                obs.missed_count += missed
            due = min(due, last_slot)
            self._clock.wait(self._cancel, min(due, deadline) - self._clock.monotonic())
        obs.cut_short = reason
        return obs

    def _why_stop(self, deadline: float, began: bool) -> str | None:
        when = "before its end" if began else "before it had begun"
        if self._cancel.is_set():
            return f"the run was interrupted {when}"
        if self._clock.monotonic() >= deadline:
            return f"the verification deadline came {when}"
        return None

    def _sample(self, remaining_sec: float) -> VerificationResult:
        timeout = min(HOLD_SAMPLE_TIMEOUT_SEC, remaining_sec)
        try:
            return self._runner.run_entry(self._entry, timeout)
        except Exception as exc:  # noqa: BLE001 - a check that raises was not observed: an error
            return VerificationResult.errored(f"the check raised {exc!r}")
