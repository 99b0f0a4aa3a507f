"""One entry of a recorded task, fed with what was recorded. Pure.

Each driver does with the records of an entry what the live code did with the observations behind
them, through the same windows and rules. Where the check is another one than the run judged, the
run may have stopped looking too early for it; then nothing better than an error comes out.
"""

from __future__ import annotations

from devops_bench.evalharness.budget import EntryOutcome
from devops_bench.evalharness.converge import converged, is_converged
from devops_bench.evalharness.drivers import Driver, IgnoringDriver, reason_of
from devops_bench.evalharness.rejudging_holds import HoldDriver, SoakDriver
from devops_bench.results.evidence.records import Judged, Marked, Sampled
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry


class ConvergeDriver(IgnoringDriver):
    """A converge entry: see :class:`~devops_bench.evalharness.converge.Converge`.

    Args:
        entry: The entry as it is now.
    """

    def __init__(self, entry: VerificationEntry) -> None:
        self._entry = entry
        self._began: float | None = None
        self._last: VerificationResult | None = None
        self._last_recorded: VerificationResult | None = None
        self._passed_at: float | None = None
        self._outcome: VerificationResult | None = None

    def judged(self, record: Judged, result: VerificationResult) -> None:
        """Take in a watched state."""
        if record.watch == "post_run":
            self._take(record.result, result, record.at_sec)

    def sampled(self, record: Sampled, result: VerificationResult) -> None:
        """Take in a sample."""
        self._take(record.result, result, record.ended_sec)

    def marked(self, record: Marked) -> None:
        """Begin and end the wait."""
        if record.entry != self._entry.name:
            return
        if record.mark == "cut_short":
            # Also of a wait that had just ended: it was given up before that was taken in.
            self._outcome = VerificationResult.errored(reason_of(record))
        elif self._outcome is not None:
            return
        elif record.mark == "converge_begin":
            self._began = record.at_sec
        elif record.mark == "converge_end" and self._began is not None:
            self._outcome = self._conclude(record, self._began)

    def outcome(self, end_sec: float) -> EntryOutcome | None:
        """Return what it came to."""
        del end_sec  # a wait that did not end has come to nothing
        return self._outcome

    def _take(self, recorded: VerificationResult, result: VerificationResult, at: float) -> None:
        if self._began is None or self._outcome is not None or self._passed_at is not None:
            return
        self._last, self._last_recorded = result, recorded
        if is_converged(result):
            self._passed_at = at

    def _conclude(self, end: Marked, began: float) -> VerificationResult:
        cancelled = bool((end.detail or {}).get("cancelled"))
        passed_then = bool((end.detail or {}).get("passed"))
        passed = self._passed_at is not None
        ended = self._passed_at if self._passed_at is not None else end.at_sec
        if passed_then and not passed:
            seen = self._last.reason if self._last is not None else "nothing"
            return VerificationResult.errored(
                f"it was not true while the run looked, which stopped when the recorded check "
                f"passed; last seen: {seen}"
            )
        result = converged(self._last, passed=passed, cancelled=cancelled)
        return result.model_copy(update={"elapsed_time": max(0.0, ended - began)})


class AssertDriver(IgnoringDriver):
    """An entry in assert mode: judged once."""

    def __init__(self, entry: VerificationEntry) -> None:
        self._entry = entry
        self._outcome: VerificationResult | None = None

    def sampled(self, record: Sampled, result: VerificationResult) -> None:
        """Take in the one sample."""
        del record
        if self._outcome is None:
            self._outcome = result

    def marked(self, record: Marked) -> None:
        """Note that it was given up."""
        if record.mark == "cut_short" and record.entry == self._entry.name:
            self._outcome = VerificationResult.errored(reason_of(record))

    def outcome(self, end_sec: float) -> EntryOutcome | None:
        """Return what it came to."""
        del end_sec
        return self._outcome


def driver_of(entry: VerificationEntry, recorded: VerificationEntry, *, same: bool) -> Driver:
    """Return what takes the records of an entry.

    Args:
        entry: The entry as it is now, of the recorded role and mode.
        recorded: The entry as it was recorded.
        same: Whether the check is the one that was recorded.
    """
    if entry.resolved_mode == "converge":
        return ConvergeDriver(entry)
    if entry.resolved_mode == "assert":
        return AssertDriver(entry)
    if entry.role == "safeguard":
        return HoldDriver(entry, recorded, changed=not same)
    fields = ("hold_window_sec", "hold_settle_sec")
    windows = all(getattr(entry, name) == getattr(recorded, name) for name in fields)
    return SoakDriver(entry, changed=not (same and windows))
