"""What a run leaves behind, as data. ``result.json`` is :class:`RunResult` written as JSON."""

from __future__ import annotations

import datetime as dt
from typing import Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # pydantic refuses typing's before Python 3.12

from devops_bench.results.trust import AccessReport, Attribution, IntegrityReport
from devops_bench.scoring.outcome import TaskStatus
from devops_bench.scoring.rollup import Verdict

SCHEMA_VERSION = 1
"""Raised when a reader of the last version could misread a new file; new fields do not raise it."""

EXIT_PASSED = 0
EXIT_FAILED = 1
EXIT_NOT_EVALUATED = 3
EXIT_INTERRUPTED = 130


class GapRow(TypedDict):
    """A stretch that was not observed while it happened; seconds after the start of the window.

    ``from_sec`` is negative for one that began before the window, ``to_sec`` null for one that
    lasted to its end. In a ``closed`` one every state was judged after all, or provably none
    existed; ``how`` says how, or why not.
    """

    stream: str
    cause: str
    from_sec: float
    to_sec: float | None
    from_rv: int | None
    to_rv: int | None
    closed: bool
    how: str


class CoverageRow(TypedDict):
    """How much of a hold entry's window was observed.

    ``watched``: every stored state was judged, but for the gaps. ``sampled``: what was there at the
    moments of the samples; a violation shorter than ``largest_blind_spot_sec`` can have been
    missed. ``accepts_gaps`` is the spec's ``coverage: best_effort``.
    """

    mode: Literal["watched", "sampled"]
    why_sampled: str
    streams: list[str]
    from_sec: float | None
    to_sec: float | None
    states_judged: int
    gaps: list[GapRow]
    largest_blind_spot_sec: float | None
    accepts_gaps: bool


class AfterTurnRow(TypedDict):
    """What was seen of a safeguard between the turn and the end of the run.

    It counts only with ``hold_scope: run``. ``why_incomplete`` is null when everything was seen.
    """

    states_judged: int
    violated: bool
    first_violation_reason: str | None
    first_violation_at_sec: float | None
    why_incomplete: str | None


class ReportRow(TypedDict):
    """What one entry came to.

    ``role``, ``severity``, ``mode`` and ``weight`` are ``None`` only for an entry that did not
    parse. The ``hold_*`` keys are there for entries in hold mode alone.
    """

    name: str
    role: Literal["objective", "safeguard"] | None
    severity: Literal["catastrophic", "recoverable"] | None
    mode: Literal["assert", "converge", "hold"] | None
    weight: float | None
    success: bool
    status: Verdict
    reason: str
    elapsed_sec: NotRequired[float]
    title: NotRequired[str]
    group: NotRequired[str]
    failure_hint: NotRequired[str]
    hold_sample_count: NotRequired[int]
    hold_error_count: NotRequired[int]
    hold_missed_count: NotRequired[int]
    hold_first_violation_reason: NotRequired[str | None]
    hold_first_violation_at_sec: NotRequired[float | None]
    hold_first_observed_at_sec: NotRequired[float | None]
    hold_last_observed_at_sec: NotRequired[float | None]
    hold_cut_short: NotRequired[str | None]
    coverage: NotRequired[CoverageRow]
    after_turn: NotRequired[AfterTurnRow]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scores(_Record):
    """The parts that the outcome is made of; see ``scoring.outcome.Score``.

    Attributes:
        correctness: 0 to 1; null without objectives, and when one errored.
        recoverable_safety: 0 to 1; null without such safeguards, and when one errored.
        catastrophic_safety: 1 or 0; null without such safeguards, and when one errored.
        withheld_by: The names of the entries that errored.
    """

    correctness: float | None = None
    recoverable_safety: float | None = None
    catastrophic_safety: float | None = None
    withheld_by: list[str] = Field(default_factory=list)


class UsageReport(_Record):
    """What the agent used; null where nobody said.

    Attributes:
        input_tokens: Tokens sent to the model, those from a cache included.
        output_tokens: Tokens that the model wrote.
        cached_input_tokens: How many of ``input_tokens`` came from a cache.
        requests: Requests to the model.
        cost_usd: US dollars: as the agent says, or by ``--prices``.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    requests: int | None = None
    cost_usd: float | None = None


class SandboxReport(_Record):
    """In what the agent ran.

    Attributes:
        state: ``bwrap``, ``docker``, ``unsandboxed``, ``no program ran``, or ``not known``: a
            sandbox was asked for, and the turn ended in an error before it said what ran.
        reachable: ``HOST:PORT`` of what it could reach; empty without a sandbox, where that is not
            known.
        connections: How often it connected to each of them.
        readable: What of ours it could read: in a sandbox what was opened for it, without one
            what was looked for and found readable.
        image: The image of ``docker`` with its digest; null without one.
    """

    state: str
    reachable: list[str] = Field(default_factory=list)
    connections: dict[str, int] = Field(default_factory=dict)
    readable: list[str] = Field(default_factory=list)
    image: str | None = None


class AgentReport(_Record):
    """How the agent's turn went; it does not decide the verdict.

    Attributes:
        name: Which agent.
        status: ``completed``, ``failed``, ``timed_out``, ``cancelled``, ``lost``, ``refused``,
            ``rate_limited``, ``empty`` or ``limit_reached``; see ``agents.base.AgentStatus``.
        exit_code: The exit code, negative for a signal, null when no process ran.
        elapsed_sec: Seconds that the turn took.
        timeout_sec: Seconds that the turn was allowed to take.
        reason: One sentence.
        leftover_processes: Processes that it left behind and that were ended for it; null where
            nobody looked, or could.
        final_text: Its last words, bounded, without credentials.
        usage: What it used; null when nobody knows.
        transcript: The file of what it said and did, in the task's folder; null without one.
        sandbox: In what it ran.
    """

    name: str
    status: str
    exit_code: int | None = None
    elapsed_sec: float = 0.0
    timeout_sec: float = 0.0
    reason: str = ""
    leftover_processes: int | None = 0
    final_text: str = ""
    usage: UsageReport | None = None
    transcript: str | None = None
    sandbox: SandboxReport | None = None


class ClusterReport(_Record):
    """Where the task ran.

    Attributes:
        name: The cluster's name.
        provider: ``local``, ``kind`` or ``kubeconfig``.
        description: Which cluster and why, one line.
        server_version: As the server says it.
    """

    name: str
    provider: str
    description: str
    server_version: str


class PhaseReport(_Record):
    """One phase of the task.

    Attributes:
        name: The phase.
        started_at_sec: Seconds after the task's start.
        elapsed_sec: Seconds that it took.
    """

    name: str
    started_at_sec: float
    elapsed_sec: float


class TaskResult(_Record):
    """What one task came to.

    Attributes:
        id: The task's id, and the name of its folder in the run's folder.
        status: ``passed``, ``failed``, ``error`` or ``interrupted``.
        outcome: 0 to 1; null when there is nothing to tell.
        scores: What the outcome is made of.
        reason: Why the status is what it is, one sentence.
        verification_report: One row for each entry, in the spec's order, then one for each that
            did not parse.
        name: The task's name, empty without one.
        source: The spec's file, with its folder.
        agent: How the turn went; null when there was none.
        cluster: Where it ran; null when there was none.
        phases: What was done, in order.
        left_behind: What of this run is still on the cluster, a sentence each.
        unverified: What about the identity of what was watched could not be fixed, a sentence each.
        recording_cut: Why the recording of what was seen is not whole; null when it is.
        started_at: When the task began (UTC).
        elapsed_sec: Seconds that the whole task took.
        access: What the agent could do; null when there was no agent.
        attribution: Whose doing the violations were, one for each violated safeguard.
        integrity: Whether the agent read or changed what it must not; null when it was not started.
    """

    id: str
    status: TaskStatus
    outcome: float | None = None
    scores: Scores = Field(default_factory=Scores)
    reason: str = ""
    verification_report: list[ReportRow] = Field(default_factory=list)
    name: str = ""
    source: str = ""
    agent: AgentReport | None = None
    cluster: ClusterReport | None = None
    phases: list[PhaseReport] = Field(default_factory=list)
    left_behind: list[str] = Field(default_factory=list)
    unverified: list[str] = Field(default_factory=list)
    recording_cut: str | None = None
    started_at: dt.datetime | None = None
    elapsed_sec: float = 0.0
    access: AccessReport | None = None
    attribution: list[Attribution] = Field(default_factory=list)
    integrity: IntegrityReport | None = None

    @property
    def contaminated(self) -> bool:
        """Whether the agent is known to have read or changed what it must not."""
        return self.integrity is not None and self.integrity.status == "contaminated"


class RunResult(_Record):
    """What a run came to.

    Attributes:
        schema_version: See :data:`SCHEMA_VERSION`.
        run_id: The run's id, and the name of its folder.
        tasks: One result for each task that has ended, in the order of the run.
        harness_version: The version of devops-bench.
        agent: The agent as it was asked for.
        started_at: When the run began (UTC).
        finished_at: When it ended; null while it runs, and for ever when it was killed.
        planned: The ids of all tasks of the run, in order.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: str
    tasks: list[TaskResult] = Field(default_factory=list)
    harness_version: str = ""
    agent: str = ""
    started_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None
    planned: list[str] = Field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """What ``run`` exits with: 130 over 3 over 1 over 0.

        A planned task without a result, and a run without any, count as not evaluated (3).
        """
        statuses = {task.status for task in self.tasks}
        if "interrupted" in statuses:
            return EXIT_INTERRUPTED
        missing = set(self.planned) - {task.id for task in self.tasks}
        if "error" in statuses or missing or not statuses:
            return EXIT_NOT_EVALUATED
        return EXIT_FAILED if "failed" in statuses else EXIT_PASSED
