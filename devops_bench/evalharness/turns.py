"""The agent's turn: what it is given, what is written down of it, what it came to."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devops_bench.agents.base import (
    MAX_FINAL_TEXT,
    Agent,
    AgentResult,
    AgentStatus,
    AgentTurn,
)
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.sandbox.readable import readable_without_sandbox
from devops_bench.agents.sandbox.report import NOT_KNOWN, UNSANDBOXED
from devops_bench.agents.sandbox.report import SandboxReport as Confinement
from devops_bench.agents.transcript import TRANSCRIPT_NAME, Transcript
from devops_bench.clusters.base import Cluster
from devops_bench.core.dirs import state_dir
from devops_bench.core.errors import AgentError, RunInterruptedError
from devops_bench.core.faults import named
from devops_bench.core.secretforms import KnownSecrets
from devops_bench.evalharness.credentials import secrets_of_environment, secrets_of_file
from devops_bench.evalharness.taskrun import TaskRun
from devops_bench.k8s.useragent import NONCE
from devops_bench.results.model import AgentReport, SandboxReport, UsageReport
from devops_bench.tasks.model import DEFAULT_TIMEOUT_SEC


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What the user chose about the turn.

    Attributes:
        timeout_sec: Seconds that it may take, > 0; ``None`` for the task's own.
        environment: Variables that the agent gets besides the allow-list.
        sandbox: What it may see and reach; ``None`` for everything that this process may.
        cancel: Set to end it at once.
    """

    timeout_sec: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    sandbox: SandboxOptions | None = None
    cancel: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Given:
    """What the agent gets of the cluster.

    Attributes:
        cluster: The cluster, with the harness's own kubeconfig.
        kubeconfig: The agent's; the harness's, where the task does not say what it may do.
        token_folder: A folder with a token that its kubeconfig names and that is renewed during
            the turn; ``None`` when there is none.
        secrets: What of it must not be in the results, as far as it is known already.
    """

    cluster: Cluster
    kubeconfig: Path
    token_folder: Path | None = None
    secrets: KnownSecrets = field(default_factory=KnownSecrets)


def take_turn(run: TaskRun, agent: Agent, given: Given, options: TurnOptions) -> AgentStatus:
    """Let the agent work, and record how it went, whatever happens.

    Args:
        run: The task.
        agent: Who gets the turn.
        given: What it gets of the cluster.
        options: What the user chose.

    Raises:
        AgentError: It could not be started, broke down, or nobody saw its end.
        RunInterruptedError: The run was interrupted meanwhile.
    """
    with _transcript(run, given, options) as transcript:
        turn = _turn(run, given, options, transcript)
        transcript.turn_started(agent.name, turn.prompt)
        # Also at the end: what the agent moved away it had, and what it made readable it has.
        readable = _readable(run, given.cluster)
        began = run.clock.monotonic()
        result = AgentResult(AgentStatus.FAILED, 0.0, reason="it did not return")
        try:
            result = agent.run(turn)
        except BaseException as exc:
            result = _stopped_by(exc, run.clock.monotonic() - began, turn)
            if not isinstance(exc, Exception) or isinstance(exc, RunInterruptedError):
                raise
            # What is said of it goes into the result, the journal and to the terminal. The
            # exception that it comes from may hold secrets, so none is shown with it.
            text = str(exc) if isinstance(exc, AgentError) else _broke_down(agent, exc)
            raise AgentError(transcript.clean(text)) from None
        finally:
            result = _cleaned(result, transcript)
            transcript.turn_ended(
                result.status.value,
                result.reason,
                exit_code=result.exit_code,
                usage=result.usage,
            )
            own = () if result.transcript is None else (result.transcript,)
            run.records.expect((*result.records, *own))
            readable += _readable(run, given.cluster)
            run.on_agent(_report(run, agent, turn, result, readable))
    if turn.sandbox is not None and result.sandbox is None:
        run.notice(f"the agent {agent.name} does not say that it used the sandbox asked for")
    if transcript.problem is not None:
        run.notice(f"the transcript is not complete: {transcript.problem}")
    if result.status is AgentStatus.LOST:
        raise AgentError(f"the end of the agent's turn was not observed: {result.reason}")
    return result.status


def _turn(run: TaskRun, given: Given, options: TurnOptions, transcript: Transcript) -> AgentTurn:
    work_dir = run.folder / "workspace"
    work_dir.mkdir()
    bin_dir = given.cluster.bin_dir
    return AgentTurn(
        prompt=run.task.prompt,
        kubeconfig=given.kubeconfig,
        work_dir=work_dir,
        output_dir=run.folder,
        timeout_sec=options.timeout_sec or run.task.timeout_sec or DEFAULT_TIMEOUT_SEC,
        cancel=options.cancel,
        environment=options.environment,
        path_prefix=(bin_dir,) if bin_dir is not None else (),
        transcript=transcript,
        sandbox=_sandbox(run, given, options),
    )


@contextlib.contextmanager
def _transcript(run: TaskRun, given: Given, options: TurnOptions) -> Iterator[Transcript]:
    secrets = given.secrets
    secrets.add(NONCE)
    secrets.add(*options.environment.values(), *secrets_of_environment(os.environ))
    # Without a sandbox it can read the harness's and the user's as well as its own.
    cluster = given.cluster
    ours = {cluster.kubeconfig, *cluster.kubeconfig_files, *cluster.credentials}
    for file in {given.kubeconfig, *ours}:
        secrets.add(*secrets_of_file(file))
    try:
        transcript = Transcript(run.folder / TRANSCRIPT_NAME, secrets=secrets)
    except OSError as exc:
        # A full disk must not keep a turn from being taken.
        transcript = Transcript(secrets=secrets)
        transcript.problem = str(exc)
    if transcript.path is not None:
        run.records.mark(transcript.path)
        run.records.written(transcript.path, transcript.difference)
    with contextlib.closing(transcript):
        yield transcript


def _sandbox(run: TaskRun, given: Given, options: TurnOptions) -> SandboxOptions | None:
    """Return the sandbox with this task's folders hidden in it."""
    asked = options.sandbox
    if asked is None:
        return None
    # Of the state folder, where credentials are, it sees what is its own, whatever was opened.
    ours = (run.task.source.absolute().parent, run.folder.parent, state_dir())
    own = given.token_folder
    readable = asked.readable if own is None else (*asked.readable, own)
    return replace(asked, readable=readable, hidden=(*asked.hidden, *ours))


def _stopped_by(exc: BaseException, elapsed_sec: float, turn: AgentTurn) -> AgentResult:
    """Return what a turn came to that ended in an exception."""
    # Where a sandbox was asked for, nobody says now whether a program ever ran in it.
    sandbox = None if turn.sandbox is None else Confinement(NOT_KNOWN)
    status, reason = AgentStatus.CANCELLED, "the run was interrupted"
    if isinstance(exc, Exception) and not isinstance(exc, RunInterruptedError):
        status, reason = AgentStatus.FAILED, str(exc) or repr(exc)
    return AgentResult(status, elapsed_sec, reason=reason, sandbox=sandbox)


def _cleaned(result: AgentResult, transcript: Transcript) -> AgentResult:
    """Return the result without secrets in its words."""
    return replace(
        result,
        reason=transcript.clean(result.reason),
        final_text=transcript.clean(result.final_text)[:MAX_FINAL_TEXT],
    )


def _broke_down(agent: Agent, exc: Exception) -> str:
    return f"the agent {agent.name} broke down: {named(exc)}"


def _report(
    run: TaskRun, agent: Agent, turn: AgentTurn, result: AgentResult, readable: Sequence[str]
) -> AgentReport:
    transcript = result.transcript or turn.transcript.path
    return AgentReport(
        name=agent.name,
        status=result.status.value,
        exit_code=result.exit_code,
        elapsed_sec=result.elapsed_sec,
        timeout_sec=turn.timeout_sec,
        reason=result.reason,
        leftover_processes=result.leftover_processes,
        final_text=result.final_text,
        usage=_usage(result),
        transcript=None if transcript is None else _relative(transcript, run.folder),
        sandbox=_confinement(result.sandbox, readable),
    )


def _usage(result: AgentResult) -> UsageReport | None:
    usage = result.usage
    if usage is None or not usage.known:
        return None
    return UsageReport(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        requests=usage.requests,
        cost_usd=usage.cost_usd,
    )


def _readable(run: TaskRun, cluster: Cluster) -> tuple[str, ...]:
    """Return what of ours can be read now by whoever has no sandbox."""
    ours = [run.task.source.absolute().parent, run.folder.parent]
    ours += [cluster.kubeconfig, *cluster.kubeconfig_files]
    if cluster.audit_log is not None:
        ours.append(cluster.audit_log)
    return readable_without_sandbox(ours, os.environ)


def _confinement(found: Confinement | None, readable: Sequence[str]) -> SandboxReport:
    if found is None or found.state == UNSANDBOXED:
        return SandboxReport(state=UNSANDBOXED, readable=list(dict.fromkeys(readable)))
    return SandboxReport(
        state=found.state,
        reachable=list(found.reachable),
        connections=dict(found.connections),
        readable=list(found.readable),
        image=found.image,
    )


def _relative(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
