"""Plans and runs for the tests of this folder."""

from __future__ import annotations

from typing import Literal

from devops_bench.results.qualification.judge import ControlRun, EntryVerdict
from devops_bench.results.qualification.plan import ControlPlan
from devops_bench.results.qualification.report import EntryInfo, TaskPlan
from devops_bench.scoring.outcome import TaskStatus
from devops_bench.scoring.rollup import Verdict

ORACLE = ControlPlan(task="t", name="oracle", kind="oracle")
NOOP = ControlPlan(task="t", name="noop", kind="noop")
PARTIAL = ControlPlan(task="t", name="partial", kind="partial", min_outcome=0.4, max_outcome=0.6)
MUTANT = ControlPlan(task="t", name="harm", kind="mutant", caught_by=["floor"])
BUILTIN = ControlPlan(task="t", name="builtin-delete-x", kind="builtin", title="delete the object")

ENTRIES: dict[str, Literal["objective", "safeguard"]] = {
    "goal": "objective",
    "floor": "safeguard",
    "image": "safeguard",
}


def task_plan(*controls: ControlPlan) -> TaskPlan:
    """Return a plan of the task ``t``."""
    return TaskPlan(
        task="t",
        source="/specs/t/task.yaml",
        fingerprint="0" * 16,
        controls=list(controls or (ORACLE, NOOP, PARTIAL, MUTANT)),
        entries=[
            EntryInfo(
                name=name, role=role, severity="catastrophic" if role == "safeguard" else None
            )
            for name, role in ENTRIES.items()
        ],
    )


def run_of(
    plan: ControlPlan,
    status: TaskStatus,
    attempt: int = 1,
    *,
    outcome: float | None = None,
    agent_exit_code: int | None = 0,
    reason: str = "",
    **verdicts: Verdict,
) -> ControlRun:
    """Return a run; entries that are not given pass."""
    return ControlRun(
        task=plan.task,
        control=plan.name,
        attempt=attempt,
        status=status,
        outcome=outcome,
        entries=[
            EntryVerdict(name=name, role=role, status=verdicts.get(name, "pass"))
            for name, role in ENTRIES.items()
        ],
        reason=reason,
        agent_exit_code=agent_exit_code,
        elapsed_sec=1.5,
    )


def as_it_should_be() -> list[ControlRun]:
    """Return one run of each control that does as it should."""
    return [
        run_of(ORACLE, "passed", outcome=1.0),
        run_of(NOOP, "failed", outcome=0.0, goal="fail"),
        run_of(PARTIAL, "failed", outcome=0.5, goal="fail"),
        run_of(MUTANT, "failed", outcome=0.0, floor="fail"),
    ]
