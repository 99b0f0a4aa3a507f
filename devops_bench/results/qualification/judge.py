"""What one run of a control says about the spec. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from devops_bench.results.model import TaskResult
from devops_bench.results.qualification.plan import ControlPlan
from devops_bench.scoring.outcome import TaskStatus
from devops_bench.scoring.rollup import Verdict
from devops_bench.tasks.model import EXIT_DOES_NOT_APPLY, EXIT_NOT_ALLOWED

Judgement: TypeAlias = Literal["as_expected", "unexpected", "not_evaluable"]
"""Whether a control did as it should; the last when that could not be observed."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EntryVerdict(_Record):
    """What an entry came to in one run."""

    name: str
    role: Literal["objective", "safeguard"] | None
    status: Verdict


class ControlRun(_Record):
    """One run of a control, as it is kept.

    Attributes:
        task: The task's id.
        control: The control's name.
        attempt: Which repeat, from 1.
        status: What the task came to.
        outcome: 0 to 1; null when there is nothing to tell.
        entries: What each entry came to.
        reason: Why the status is what it is.
        agent_exit_code: The exit code of the control's script; null when it ran none.
        agent_status: How the turn went; empty when there was none.
        elapsed_sec: Seconds that the run took.
        folder: The run's folder, relative to the qualification's; empty when it left none.
    """

    task: str
    control: str
    attempt: int = Field(ge=1)
    status: TaskStatus
    outcome: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    entries: list[EntryVerdict] = Field(default_factory=list)
    reason: str = ""
    agent_exit_code: int | None = None
    agent_status: str = ""
    elapsed_sec: float = 0.0
    folder: str = ""

    @model_validator(mode="after")
    def _agree(self) -> ControlRun:
        if self.status == "passed" and any(entry.status != "pass" for entry in self.entries):
            raise ValueError("it passed, and an entry of it did not")
        return self

    def named(self, status: Verdict, role: str | None = None) -> list[str]:
        """Return the names of the entries with a status, of one role or of any."""
        return [
            entry.name
            for entry in self.entries
            if entry.status == status and role in (None, entry.role)
        ]

    @property
    def signature(self) -> tuple[TaskStatus, tuple[str, ...]]:
        """What two runs of one control must share: the status, and which entries failed."""
        return self.status, tuple(sorted(self.named("fail")))

    @property
    def script_fault(self) -> str:
        """Why what the control was to do was perhaps not done, a clause; empty when it was done.

        Only the script itself knows that, and says it by exit code 0.
        """
        code = self.agent_exit_code
        if self.agent_status == "timed_out":
            return "its script was ended when its turn was over"
        if code is not None and code < 0:
            return f"its script was ended by signal {-code}"
        if code not in (None, 0):
            return f"its script exited with code {code}"
        ended = self.agent_status in ("", "completed")
        return "" if ended else f"the turn of its script ended as {self.agent_status}"


def record_of(
    plan: ControlPlan, attempt: int, result: TaskResult, *, elapsed_sec: float, folder: str
) -> ControlRun:
    """Return what is kept of a finished run.

    Args:
        plan: Which control it was.
        attempt: Which repeat, from 1.
        result: What the task came to.
        elapsed_sec: Seconds that the run took.
        folder: Its folder, relative to the qualification's.
    """
    agent = result.agent
    return ControlRun(
        task=plan.task,
        control=plan.name,
        attempt=attempt,
        status=result.status,
        outcome=result.outcome,
        entries=[
            EntryVerdict(name=row["name"], role=row["role"], status=row["status"])
            for row in result.verification_report
        ],
        reason=result.reason,
        agent_exit_code=None if agent is None else agent.exit_code,
        agent_status="" if agent is None else agent.status,
        elapsed_sec=elapsed_sec,
        folder=folder,
    )


def judge(plan: ControlPlan, run: ControlRun) -> tuple[Judgement, str]:
    """Return whether the control did as it should, and why it did not.

    A control whose script did not end well says nothing about the spec, whatever failed: it may
    have failed because nothing was done. An author who means it to go on writes ``|| true``.

    Args:
        plan: What was expected.
        run: What came of it.

    Returns:
        The judgement, and for all but the first one sentence; of a generic mutant nothing is
        expected, so that it always did.
    """
    if plan.kind == "builtin":
        return "as_expected", ""
    if run.status == "interrupted":
        return "not_evaluable", run.reason or "it was interrupted"
    judged = _judge_by_kind(plan, run)
    if run.script_fault:
        also = f" (as it is: {judged[1]})" if judged[1] else ""
        return "not_evaluable", f"{run.script_fault}: what it is for was perhaps not done{also}"
    return judged


def _judge_by_kind(plan: ControlPlan, run: ControlRun) -> tuple[Judgement, str]:
    judged: tuple[Judgement, str]
    if plan.kind == "mutant":
        judged = _judge_mutant(plan, run)
    elif run.status == "error":
        judged = ("not_evaluable", run.reason or "it could not be evaluated")
    elif plan.kind == "oracle":
        judged = _judge_oracle(run)
    elif plan.kind == "noop":
        judged = _judge_noop(run)
    else:
        judged = _judge_partial(plan, run)
    return judged


def _judge_oracle(run: ControlRun) -> tuple[Judgement, str]:
    if run.status == "passed":
        return "as_expected", ""
    return "unexpected", f"the right solution fails: {_listed(run.named('fail'))}"


def _judge_noop(run: ControlRun) -> tuple[Judgement, str]:
    broken = run.named("fail", "safeguard")
    if run.status == "passed":
        return "unexpected", "doing nothing passes"
    if broken:
        return "unexpected", f"nothing was done, and yet a safeguard fails: {_listed(broken)}"
    return "as_expected", ""


def _judge_partial(plan: ControlPlan, run: ControlRun) -> tuple[Judgement, str]:
    least, most = plan.min_outcome, plan.max_outcome
    if run.outcome is None or least is None or most is None:
        return "not_evaluable", run.reason or "it has no outcome"
    if least <= run.outcome <= most:
        return "as_expected", ""
    failed = run.named("fail")
    said = f"its outcome is {run.outcome:.3g}, not {least:g} to {most:g}"
    return "unexpected", said + (f"; failed: {_listed(failed)}" if failed else "")


def _judge_mutant(plan: ControlPlan, run: ControlRun) -> tuple[Judgement, str]:
    statuses = {entry.name: entry.status for entry in run.entries}
    passed = [name for name in plan.caught_by if statuses.get(name) == "pass"]
    unseen = [name for name in plan.caught_by if statuses.get(name) in (None, "error")]
    if passed:
        others = run.named("fail")
        also = f" (failed instead: {_listed(others)})" if others else ""
        return "unexpected", f"not caught by {_listed(passed)}{also}"
    if unseen:
        why = run.reason or "they could not be evaluated"
        return "not_evaluable", f"whether {_listed(unseen)} would catch it is not known: {why}"
    return "as_expected", ""


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names) or "nothing"


BuiltinResult: TypeAlias = Literal[
    "caught", "missed", "error", "not_done", "not_allowed", "does_not_apply"
]
"""What a generic mutant came to: an entry failed; the task passed; nothing could be said; its
script failed, so that the harm was perhaps not done; the API server refused it for want of rights;
there is nothing that it could do."""


def judge_builtin(run: ControlRun) -> BuiltinResult:
    """Return what the spec made of a generic mutant; harm that was not done is not judged."""
    if run.agent_exit_code == EXIT_DOES_NOT_APPLY:
        return "does_not_apply"
    if run.agent_exit_code == EXIT_NOT_ALLOWED:
        return "not_allowed"
    if run.script_fault:
        return "not_done"
    if run.named("fail"):
        return "caught"
    return "error" if run.status in ("error", "interrupted") else "missed"
