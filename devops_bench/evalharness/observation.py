"""What was observed of one hold entry, and the one rule that judges it. Pure.

Whoever observes (the monitor during the turn, a soak after it, a watched store, a replay) folds
what it saw into a :class:`HoldObservation` through the same two functions, and the verdict comes
from :func:`hold_verdict` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from devops_bench.evalharness.coverage import TRAILING_ERRORS, Coverage
from devops_bench.verification.result import VerificationResult, VerificationStatus

HOLD_TRAILING_ERROR_SAMPLES: Final[int] = TRAILING_ERRORS
"""So many errors in a row at the end of a window mean that its end was not observed."""


@dataclass(frozen=True, slots=True)
class AfterTurn:
    """What was seen of a safeguard between the agent's turn and the end of the run.

    Attributes:
        states_judged: States, or samples, that were judged.
        violated: Whether one of them failed.
        first_violation_reason: The reason of the first that failed.
        first_violation_at_sec: When it was seen, seconds after the start of the window.
        why_incomplete: Why not everything was seen; ``None`` when it was.
    """

    states_judged: int = 0
    violated: bool = False
    first_violation_reason: str | None = None
    first_violation_at_sec: float | None = None
    why_incomplete: str | None = None


@dataclass(slots=True)
class HoldObservation:
    """What was observed of one hold entry so far. Changed in place by the fold.

    Attributes:
        violated: Whether a sample failed; never goes back to False.
        first_violation_reason: The reason of the first sample that failed.
        first_violation_at_sec: Seconds after the start of the window at which that sample began.
        sample_count: Samples that ended, errored ones included.
        error_count: Samples that could not be judged.
        last_sample_status: Of the newest sample; ``None`` before the first.
        trailing_error_count: Errors in a row up to the newest sample.
        last_error_reason: The reason of the newest sample that errored.
        missed_count: Samples that were due and not taken, because the one before was not over.
        first_observed_at_sec: When the first sample that could be judged began, seconds after the
            start of the window.
        last_observed_at_sec: The same of the newest one.
        cut_short: Why the window was not observed to its end; ``None`` when it was, and while it
            still runs.
        coverage: How much of the window was observed; ``None`` when nobody kept account of it.
        after_turn: What was seen after the turn; ``None`` when nobody looked.
    """

    violated: bool = False
    first_violation_reason: str | None = None
    first_violation_at_sec: float | None = None
    sample_count: int = 0
    error_count: int = 0
    last_sample_status: VerificationStatus | None = None
    trailing_error_count: int = 0
    last_error_reason: str | None = None
    missed_count: int = 0
    first_observed_at_sec: float | None = None
    last_observed_at_sec: float | None = None
    cut_short: str | None = None
    coverage: Coverage | None = None
    after_turn: AfterTurn | None = None


def _fold_sample(obs: HoldObservation, result: VerificationResult, elapsed_sec: float) -> None:
    """Fold one sample into ``obs``.

    Args:
        obs: Changed in place.
        result: What the sample came to.
        elapsed_sec: Seconds after the start of the window at which the sample began, ≥ 0.
    """
    if result.status == "error":
        _fold_error_sample(obs, result.reason)
        return
    obs.sample_count += 1
    obs.last_sample_status = result.status
    obs.trailing_error_count = 0
    if obs.first_observed_at_sec is None:
        obs.first_observed_at_sec = elapsed_sec
    obs.last_observed_at_sec = elapsed_sec
    if result.status == "fail" and not obs.violated:
        obs.violated = True
        obs.first_violation_reason = result.reason
        obs.first_violation_at_sec = elapsed_sec


def _fold_error_sample(obs: HoldObservation, reason: str | None = None) -> None:
    """Fold one sample that could not be judged: no violation, and no observation either.

    Args:
        obs: Changed in place.
        reason: What went wrong.
    """
    obs.sample_count += 1
    obs.error_count += 1
    obs.last_sample_status = "error"
    obs.trailing_error_count += 1
    obs.last_error_reason = reason


def hold_verdict(obs: HoldObservation) -> tuple[bool, VerificationStatus, str]:
    """Return the verdict of a hold entry as ``(success, status, reason)``.

    In this order: no samples is an error; only errors is an error; a violation is a fail, also
    when what came after it could not be observed; :data:`HOLD_TRAILING_ERROR_SAMPLES` errors in a
    row at the end, or a window that was cut short, is an error; last, a gap that was not closed is
    one, unless the spec accepts it; the rest is a pass. Errors that the entry recovered from, and a
    single one at the end, are absorbed and counted in the reason.

    Args:
        obs: An observation whose window is over.
    """
    if obs.sample_count == 0:
        return _error(obs, "it was never sampled in its window, so nothing is known about it")
    if obs.error_count >= obs.sample_count:
        return _error(
            obs,
            f"it could never be evaluated: all of {_count(obs.sample_count, 'sample')} errored, "
            f"the last with: {_last_error(obs)}",
        )
    if obs.violated:
        at = obs.first_violation_at_sec
        when = f"{at:.1f} s into the window" if at is not None else "in the window"
        return False, "fail", f"violated {when}: {obs.first_violation_reason}"
    if obs.trailing_error_count >= HOLD_TRAILING_ERROR_SAMPLES:
        return _error(
            obs,
            f"the last {obs.trailing_error_count} samples errored and it never recovered, "
            f"so the end of its window was not observed: {_last_error(obs)}",
        )
    if obs.cut_short is not None:
        return False, "error", f"its window was cut short: {obs.cut_short}"
    unseen = obs.coverage.unclosed() if obs.coverage is not None else ()
    if unseen and obs.coverage is not None and not obs.coverage.accepts_gaps:
        more = f"; and {_count(len(unseen) - 1, 'more gap')}" if len(unseen) > 1 else ""
        return False, "error", f"it was not observed throughout: {unseen[0]}{more}"
    return True, "pass", _held(obs)


def _error(obs: HoldObservation, reason: str) -> tuple[bool, VerificationStatus, str]:
    """Return an error that also names what cut the window short, where something did."""
    return False, "error", reason if obs.cut_short is None else f"{reason} ({obs.cut_short})"


def _last_error(obs: HoldObservation) -> str:
    return obs.last_error_reason or "no reason was given"


def _held(obs: HoldObservation) -> str:
    judged = obs.sample_count - obs.error_count
    coverage = obs.coverage
    watched = coverage is not None and coverage.mode == "watched"
    what = "stored state" if watched else "sample"
    reason = f"held in 1 {what}" if judged == 1 else f"held in each of {judged} {what}s"
    if obs.error_count:
        reason += f"; {obs.error_count} more could not be evaluated"
    if obs.missed_count:
        reason += f"; {_count(obs.missed_count, 'due sample')} not taken"
    if coverage is not None and (unseen := coverage.unclosed()):
        reason += f"; not observed, which the spec accepts: {'; '.join(map(str, unseen))}"
    return reason


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
