"""From what was seen of an entry to its row in the report, and from rows to the score."""

from __future__ import annotations

from collections.abc import Iterable

from devops_bench.evalharness.budget import EntryOutcome
from devops_bench.evalharness.coverage import Coverage
from devops_bench.evalharness.observation import AfterTurn, HoldObservation, hold_verdict
from devops_bench.results.model import AfterTurnRow, CoverageRow, GapRow, ReportRow
from devops_bench.scoring.rollup import Part, ScoredEntry, Verdict
from devops_bench.tasks.model import EntryError
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry


def row_of(entry: VerificationEntry, outcome: EntryOutcome | None, missing: str) -> ReportRow:
    """Return the row of an entry.

    Args:
        entry: The entry.
        outcome: What it came to; ``None`` when it was not judged, which is an error.
        missing: Why it was not judged, if it was not.
    """
    if isinstance(outcome, HoldObservation):
        return hold_row(entry, outcome)
    if outcome is not None:
        row = _row(entry, outcome.success, outcome.status, outcome.reason)
        row["elapsed_sec"] = outcome.elapsed_time
        return row
    return _row(entry, False, "error", f"it was not judged: {missing}")


def hold_row(entry: VerificationEntry, obs: HoldObservation | None) -> ReportRow:
    """Return the row of an entry in hold mode, an error when there is no observation of it."""
    seen = obs if obs is not None else HoldObservation()
    row = _row(entry, *hold_verdict(seen))
    row["hold_sample_count"] = seen.sample_count
    row["hold_error_count"] = seen.error_count
    row["hold_missed_count"] = seen.missed_count
    row["hold_first_violation_reason"] = seen.first_violation_reason
    row["hold_first_violation_at_sec"] = seen.first_violation_at_sec
    row["hold_first_observed_at_sec"] = seen.first_observed_at_sec
    row["hold_last_observed_at_sec"] = seen.last_observed_at_sec
    row["hold_cut_short"] = seen.cut_short
    if seen.coverage is not None:
        row["coverage"] = _coverage_row(seen.coverage)
    if seen.after_turn is not None:
        row["after_turn"] = _after_turn_row(seen.after_turn)
    return row


def _coverage_row(coverage: Coverage) -> CoverageRow:
    return CoverageRow(
        mode=coverage.mode,
        why_sampled=coverage.why_sampled,
        streams=list(coverage.streams),
        from_sec=coverage.from_sec,
        to_sec=coverage.to_sec,
        states_judged=coverage.states_judged,
        gaps=[
            GapRow(
                stream=gap.stream,
                cause=gap.cause,
                from_sec=gap.from_sec,
                to_sec=gap.to_sec,
                from_rv=gap.from_rv,
                to_rv=gap.to_rv,
                closed=gap.closed,
                how=gap.how,
            )
            for gap in coverage.gaps
        ],
        largest_blind_spot_sec=coverage.largest_blind_spot_sec,
        accepts_gaps=coverage.accepts_gaps,
    )


def _after_turn_row(after: AfterTurn) -> AfterTurnRow:
    return AfterTurnRow(
        states_judged=after.states_judged,
        violated=after.violated,
        first_violation_reason=after.first_violation_reason,
        first_violation_at_sec=after.first_violation_at_sec,
        why_incomplete=after.why_incomplete,
    )


def invalid_row(error: EntryError) -> ReportRow:
    """Return the row of an entry that did not parse: an error that withholds correctness."""
    return ReportRow(
        name=error.name,
        role=None,
        severity=None,
        mode=None,
        weight=None,
        success=False,
        status="error",
        reason=f"the entry is not valid: {error.reason}",
    )


def verdict_of(entry: VerificationEntry, outcome: EntryOutcome) -> VerificationResult:
    """Return what an outcome amounts to, for whoever shows it."""
    if isinstance(outcome, VerificationResult):
        return outcome
    success, status, reason = hold_verdict(outcome)
    return VerificationResult(success=success, status=status, reason=reason, name=entry.name)


def scored(rows: Iterable[ReportRow]) -> list[ScoredEntry]:
    """Return what the score needs of each row.

    A row without a role comes from an entry that did not parse. It counts as an errored
    objective, so that it withholds correctness.
    """
    return [
        ScoredEntry(row["name"], _part(row), row["weight"] or 1.0, row["status"]) for row in rows
    ]


def _part(row: ReportRow) -> Part:
    if row["role"] != "safeguard":
        return "objective"
    return "recoverable" if row["severity"] == "recoverable" else "catastrophic"


def _row(entry: VerificationEntry, success: bool, status: Verdict, reason: str) -> ReportRow:
    row = ReportRow(
        name=entry.name,
        role=entry.role,
        severity=entry.severity,
        mode=entry.resolved_mode,
        weight=entry.weight,
        success=success,
        status=status,
        reason=reason,
    )
    if entry.title:
        row["title"] = entry.title
    if entry.group:
        row["group"] = entry.group
    if entry.failure_hint:
        row["failure_hint"] = entry.failure_hint
    return row
