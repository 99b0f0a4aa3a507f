"""Results to write and to show."""

from __future__ import annotations

from devops_bench.results.model import ReportRow, RunResult, TaskResult
from devops_bench.scoring.outcome import TaskStatus

ROW = ReportRow(
    name="rolled-out",
    role="objective",
    severity=None,
    mode="converge",
    weight=2.0,
    success=False,
    status="fail",
    reason="0 of 3 replicas are ready",
    failure_hint="look at the image",
)

HOLD_ROW = ReportRow(
    name="floor",
    role="safeguard",
    severity="catastrophic",
    mode="hold",
    weight=1.0,
    success=False,
    status="fail",
    reason="violated 3.5 s into the window: 2 of 4",
    hold_sample_count=52,
    hold_error_count=1,
    hold_missed_count=2,
    hold_first_violation_reason="2 of 4",
    hold_first_violation_at_sec=3.5,
    hold_first_observed_at_sec=0.0,
    hold_last_observed_at_sec=30.1,
    hold_cut_short=None,
)

INVALID_ROW = ReportRow(
    name="<index 3>",
    role=None,
    severity=None,
    mode=None,
    weight=None,
    success=False,
    status="error",
    reason="the entry is not valid: check: missing",
)


def make_result(status: TaskStatus, **fields: object) -> TaskResult:
    """Return the result of a task."""
    return TaskResult.model_validate({"id": "t1", "status": status, **fields})


def make_run(*tasks: TaskResult, **fields: object) -> RunResult:
    """Return the result of a run."""
    return RunResult.model_validate({"run_id": "r1", "tasks": list(tasks), **fields})
