"""Which controls a task is qualified by, and what is expected of each."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from devops_bench.tasks.model import Task

ControlKind: TypeAlias = Literal["oracle", "noop", "partial", "mutant", "builtin"]
"""What is expected of a control; of a ``builtin`` one, a generic mutant, nothing is."""

MUST_NOT_PASS: Final = ("noop", "mutant")
"""The kinds for which a pass is a false one, whatever else the task says."""


class ControlPlan(BaseModel):
    """One control of a task.

    Attributes:
        task: The task's id.
        name: The control's name, unique in the task and safe as a folder's.
        kind: What is expected of it.
        title: What it does, for a reader; only of generic mutants.
        min_outcome: The least outcome of a ``partial``; null for others.
        max_outcome: The greatest outcome of a ``partial``; null for others.
        caught_by: The entries that must fail because of a ``mutant``; empty for others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    name: str
    kind: ControlKind
    title: str = ""
    min_outcome: float | None = None
    max_outcome: float | None = None
    caught_by: list[str] = Field(default_factory=list)

    @property
    def expected(self) -> str:
        """What is expected, for a reader."""
        if self.kind == "oracle":
            return "passes"
        if self.kind == "noop":
            return "fails, and no safeguard does"
        if self.kind == "partial":
            return f"outcome {self.min_outcome:g} to {self.max_outcome:g}"
        if self.kind == "mutant":
            return f"caught by {', '.join(map(repr, self.caught_by))}"
        return "-"

    @property
    def must_not_pass(self) -> bool:
        """Whether a run that passes is a false pass."""
        if self.kind == "partial":
            return self.max_outcome is not None and self.max_outcome < 1
        return self.kind in MUST_NOT_PASS


def plan_controls(task: Task) -> list[ControlPlan]:
    """Return the controls of a task: its oracle, doing nothing, and what else it names."""
    controls = task.controls
    plans = [ControlPlan(task=task.id, name="oracle", kind="oracle")] if controls.oracle else []
    plans.append(ControlPlan(task=task.id, name="noop", kind="noop"))
    if controls.partial is not None:
        plans.append(
            ControlPlan(
                task=task.id,
                name="partial",
                kind="partial",
                min_outcome=controls.partial.min_outcome,
                max_outcome=controls.partial.max_outcome,
            )
        )
    plans += [
        ControlPlan(task=task.id, name=mutant.name, kind="mutant", caught_by=list(mutant.caught_by))
        for mutant in controls.mutants
    ]
    return plans
