"""From the runs of all controls to the report: controls, kills, dead weight, rates. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from devops_bench.results.model import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NOT_EVALUATED,
    EXIT_PASSED,
)
from devops_bench.results.qualification.judge import (
    BuiltinResult,
    ControlRun,
    Judgement,
    judge,
    judge_builtin,
)
from devops_bench.results.qualification.plan import ControlPlan
from devops_bench.scoring.statistics import Rate, flakes

REPORT_VERSION = 1
"""Raised when a reader of the last version could misread a new report."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EntryInfo(_Record):
    """An entry of a task, as the report names it."""

    name: str
    role: Literal["objective", "safeguard"]
    severity: Literal["catastrophic", "recoverable"] | None = None


class TaskPlan(_Record):
    """A task to qualify.

    Attributes:
        task: Its id.
        source: Its file.
        fingerprint: A hash of what the task is made of.
        controls: What it is qualified by.
        entries: What it is judged by.
        not_applicable: A sentence for each generic mutant that does not apply to it.
        notices: What the reader should know about its controls.
    """

    task: str
    source: str
    fingerprint: str
    controls: list[ControlPlan]
    entries: list[EntryInfo]
    not_applicable: list[str] = Field(default_factory=list)
    notices: list[str] = Field(default_factory=list)


class Bound(_Record):
    """A rate and how high the true one may be.

    Attributes:
        count: How often.
        total: In how many runs.
        upper: The bound, 0 to 1, one-sided 95 % (Clopper and Pearson); 1 without runs.
    """

    count: int
    total: int
    upper: float

    @classmethod
    def of(cls, rate: Rate) -> Bound:
        """Return the bound of a rate."""
        return cls(count=rate.count, total=rate.total, upper=rate.upper)


class Rates(_Record):
    """What the repeats say.

    Attributes:
        false_pass: Of the runs that must not pass and could be evaluated, those that passed. A run
            whose script did not end well cannot.
        false_fail: Of the oracle's runs that could be evaluated, those that failed.
        flake: Of all runs, those that came to something else than most of their control's did.
        not_evaluable: Of all runs, those that could not be evaluated.
    """

    false_pass: Bound
    false_fail: Bound
    flake: Bound
    not_evaluable: Bound


class ControlReport(_Record):
    """What one control came to.

    Attributes:
        plan: Which, and what was expected.
        runs: How many runs have ended.
        statuses: How many runs came to each status.
        judgement: The worst of its runs'; null without a run.
        reasons: What was said of the runs that were not as expected, each once.
        outcome_min: The least outcome of its runs; null without any.
        outcome_max: The greatest.
        failed_entries: How many runs each entry failed in.
        kills: The same without runs whose script did not end well: what failed there may have
            failed because nothing was done.
        exit_codes: The exit codes of its script other than 0, each once; negative for signals.
        builtin: What a generic mutant came to, the worst of its runs'; null for others.
    """

    plan: ControlPlan
    runs: int
    statuses: dict[str, int]
    judgement: Judgement | None
    reasons: list[str]
    outcome_min: float | None = None
    outcome_max: float | None = None
    failed_entries: dict[str, int] = Field(default_factory=dict)
    kills: dict[str, int] = Field(default_factory=dict)
    exit_codes: list[int] = Field(default_factory=list)
    builtin: BuiltinResult | None = None


class EntryReport(_Record):
    """What one entry is worth.

    Attributes:
        entry: Which.
        killed: The controls that made it fail at least once; the oracle is none of them, and no
            run counts whose script did not end well.
        dead_weight: Whether it failed in no run of any control, and all of them have run.
    """

    entry: EntryInfo
    killed: list[str]
    dead_weight: bool


class TaskReport(_Record):
    """What one task came to."""

    task: str
    source: str
    controls: list[ControlReport]
    entries: list[EntryReport]
    rates: Rates
    not_applicable: list[str] = Field(default_factory=list)
    notices: list[str] = Field(default_factory=list)
    elapsed_sec: float = 0.0


class QualificationReport(_Record):
    """What a qualification came to; ``report.json`` is this as JSON.

    Attributes:
        schema_version: See :data:`REPORT_VERSION`.
        harness_version: The version of devops-bench.
        repeat: How often each control was to run.
        verification_timeout_sec: Seconds that one entry could take to become true.
        tasks: What each task came to.
        rates: The same over all of them.
        missing: How many runs have not ended.
        interrupted: Whether it was interrupted.
    """

    schema_version: int = REPORT_VERSION
    harness_version: str = ""
    repeat: int
    verification_timeout_sec: float
    tasks: list[TaskReport]
    rates: Rates
    missing: int = 0
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """What ``qualify`` exits with: 130 over 3 over 1 over 0.

        A control without all of its runs counts as not evaluable.
        """
        if self.interrupted:
            return EXIT_INTERRUPTED
        judgements = [control.judgement for task in self.tasks for control in task.controls]
        if self.missing or None in judgements or "not_evaluable" in judgements:
            return EXIT_NOT_EVALUATED
        return EXIT_FAILED if "unexpected" in judgements else EXIT_PASSED


def make_report(
    tasks: Sequence[TaskPlan],
    runs: Iterable[ControlRun],
    *,
    repeat: int,
    verification_timeout_sec: float,
    harness_version: str = "",
    interrupted: bool = False,
) -> QualificationReport:
    """Return the report.

    Args:
        tasks: What was to be run.
        runs: What has ended; those of no planned control are passed over.
        repeat: How often each control was to run, ≥ 1.
        verification_timeout_sec: Seconds that one entry could take to become true.
        harness_version: The version of devops-bench.
        interrupted: Whether it was interrupted.
    """
    by_control: dict[tuple[str, str], list[ControlRun]] = {}
    for run in runs:
        by_control.setdefault((run.task, run.control), []).append(run)
    known = [
        (plan, by_control.get((plan.task, plan.name), []))
        for task in tasks
        for plan in task.controls
    ]
    return QualificationReport(
        harness_version=harness_version,
        repeat=repeat,
        verification_timeout_sec=verification_timeout_sec,
        tasks=[_task_report(task, by_control) for task in tasks],
        rates=_rates(known),
        missing=sum(max(0, repeat - len(ended)) for _, ended in known),
        interrupted=interrupted,
    )


def _task_report(task: TaskPlan, by_control: dict[tuple[str, str], list[ControlRun]]) -> TaskReport:
    known = [(plan, by_control.get((plan.task, plan.name), [])) for plan in task.controls]
    controls = [_control_report(plan, runs) for plan, runs in known]
    return TaskReport(
        task=task.task,
        source=task.source,
        controls=controls,
        entries=[_entry_report(entry, controls) for entry in task.entries],
        rates=_rates(known),
        not_applicable=task.not_applicable,
        notices=task.notices,
        elapsed_sec=sum(run.elapsed_sec for _, runs in known for run in runs),
    )


def _control_report(plan: ControlPlan, runs: Sequence[ControlRun]) -> ControlReport:
    judged = [judge(plan, run) for run in runs]
    found = {judgement for judgement, _ in judged}
    order: tuple[Judgement, ...] = ("not_evaluable", "unexpected", "as_expected")
    outcomes = [run.outcome for run in runs if run.outcome is not None]
    codes = {run.agent_exit_code for run in runs} - {None, 0}
    return ControlReport(
        plan=plan,
        runs=len(runs),
        statuses=dict(Counter(run.status for run in runs)),
        judgement=next((one for one in order if one in found), None),
        reasons=list(dict.fromkeys(reason for _, reason in judged if reason)),
        outcome_min=min(outcomes, default=None),
        outcome_max=max(outcomes, default=None),
        failed_entries=_failed(runs),
        kills=_failed([run for run in runs if not run.script_fault]),
        exit_codes=sorted(code for code in codes if code is not None),
        builtin=_worst_builtin(runs) if plan.kind == "builtin" else None,
    )


def _failed(runs: Iterable[ControlRun]) -> dict[str, int]:
    return dict(Counter(name for run in runs for name in run.named("fail")))


def _worst_builtin(runs: Sequence[ControlRun]) -> BuiltinResult | None:
    order: tuple[BuiltinResult, ...] = (
        *("missed", "error", "not_done", "not_allowed"),
        *("caught", "does_not_apply"),
    )
    found = {judge_builtin(run) for run in runs}
    return next((one for one in order if one in found), None)


def _entry_report(entry: EntryInfo, controls: Sequence[ControlReport]) -> EntryReport:
    others = [one for one in controls if one.plan.kind != "oracle"]
    killed = [one.plan.name for one in others if one.kills.get(entry.name)]
    ever = any(one.failed_entries.get(entry.name) for one in others)
    return EntryReport(
        entry=entry, killed=killed, dead_weight=not ever and all(one.runs for one in controls)
    )


def _rates(known: Sequence[tuple[ControlPlan, Sequence[ControlRun]]]) -> Rates:
    false_pass = false_fail = flake = not_evaluable = Rate(0, 0)
    for plan, runs in known:
        if plan.kind == "builtin":
            continue
        told = [run for run in runs if not run.script_fault]
        passed = sum(run.status == "passed" for run in told)
        evaluated = sum(run.status in ("passed", "failed") for run in told)
        if plan.kind == "oracle":
            false_fail += Rate(evaluated - passed, evaluated)
        elif plan.must_not_pass:
            false_pass += Rate(passed, evaluated)
        flake += flakes(run.signature for run in runs)
        not_evaluable += Rate(len(runs) - evaluated, len(runs))
    return Rates(
        false_pass=Bound.of(false_pass),
        false_fail=Bound.of(false_fail),
        flake=Bound.of(flake),
        not_evaluable=Bound.of(not_evaluable),
    )
