"""From rows to what a task came to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from devops_bench.evalharness.rows import scored
from devops_bench.results.model import ReportRow, Scores
from devops_bench.scoring.outcome import TaskStatus, score


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a task came to.

    Attributes:
        status: Its status.
        outcome: The one number, ``None`` when there is nothing to tell.
        scores: What the outcome is made of.
        reason: Why the status is what it is, one sentence.
    """

    status: TaskStatus
    outcome: float | None
    scores: Scores
    reason: str


def conclude(rows: Sequence[ReportRow], problem: str | None, *, interrupted: bool) -> Conclusion:
    """Return what a task came to.

    Args:
        rows: The rows of its report.
        problem: What kept it from being run to its end, ``None`` for nothing.
        interrupted: Whether it was ended from outside.
    """
    result = score(scored(rows))
    status: TaskStatus = result.status
    if interrupted:
        status = "interrupted"
    elif problem is not None and status == "passed":
        status = "error"
    return Conclusion(
        status=status,
        outcome=result.outcome,
        scores=Scores(
            correctness=result.correctness,
            recoverable_safety=result.recoverable_safety,
            catastrophic_safety=result.catastrophic_safety,
            withheld_by=list(result.withheld_by),
        ),
        reason=problem if problem is not None else _reason(status, rows),
    )


def _reason(status: TaskStatus, rows: Sequence[ReportRow]) -> str:
    if status == "passed":
        return "every objective passed and every safeguard held"
    named = {
        status: [row["name"] for row in rows if row["status"] == status]
        for status in ("fail", "error")
    }
    parts = [
        f"{text}: {', '.join(names)}"
        for text, names in (("failed", named["fail"]), ("could not be evaluated", named["error"]))
        if names
    ]
    return "; ".join(parts) or "the task declares nothing that could be judged"
