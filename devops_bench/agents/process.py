"""What all agents that are programs share: their folder, their environment, their end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.lines import LineReader
from devops_bench.agents.sandbox.session import Launch, SandboxSession, open_session
from devops_bench.core.errors import AgentError, SupervisionError
from devops_bench.core.process import EndedBy, ProcessResult, Program, run_program
from devops_bench.core.runtime import private_folder

INHERITED_VARIABLES = frozenset({"PATH", "LANG", "TERM", "TZ"})
"""What an agent gets of our own environment, besides ``LC_*``. Everything else may be a secret."""

NOT_CHECKED = "what it left behind was not checked: this system does not let us look"
"""Said where a daemon that forked twice may have outlived the turn."""

STDOUT_NAME = "agent.stdout"
STDERR_NAME = "agent.stderr"

# The deadline is a promise to the benchmark; the grace after it is one to the agent's files.
_GRACE_SEC = 5.0


@contextlib.contextmanager
def agent_home(turn: AgentTurn) -> Iterator[Path]:
    """Yield the agent's own home: private, apart from the results, gone after the turn.

    It holds ``.kube/config`` (a copy of the turn's kubeconfig, mode 0600) and ``tmp/``. It is not
    among the results, which people upload, because the kubeconfig is a credential.

    Raises:
        AgentError: It could not be made.
    """
    with contextlib.ExitStack() as stack:
        try:
            home = stack.enter_context(private_folder("an agent's home")) / "home"
            home.mkdir(mode=0o700)
            (home / "tmp").mkdir(mode=0o700)
            if turn.kubeconfig is not None:
                (home / ".kube").mkdir(mode=0o700)
                copy = home / ".kube" / "config"
                copy.touch(mode=0o600)
                copy.write_bytes(turn.kubeconfig.read_bytes())
        except OSError as exc:
            raise AgentError(f"the agent's home could not be made: {exc}") from exc
        yield home


def agent_environment(
    turn: AgentTurn, home: Path, ours: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the whole environment of the agent.

    Args:
        turn: ``environment`` and ``path_prefix`` are added, and the kubeconfig's copy is named.
        home: The agent's home, as :func:`agent_home` makes it.
        ours: The environment to choose from; that of this process when it is ``None``.
    """
    ours = os.environ if ours is None else ours
    env = {
        name: value
        for name, value in ours.items()
        if name in INHERITED_VARIABLES or name.startswith("LC_")
    }
    env.update(turn.environment)
    env["HOME"] = str(home)
    env["TMPDIR"] = str(home / "tmp")
    if turn.kubeconfig is not None:
        env["KUBECONFIG"] = str(home / ".kube" / "config")
    folders = [str(folder) for folder in turn.path_prefix]
    env["PATH"] = os.pathsep.join([*folders, env.get("PATH") or os.defpath])
    return env


@contextlib.contextmanager
def agent_sandbox(
    turn: AgentTurn, home: Path, reads: Sequence[Path] = ()
) -> Iterator[SandboxSession | None]:
    """Yield the sandbox that the turn asks for, ``None`` when it asks for none.

    Args:
        turn: The turn.
        home: The agent's home, as :func:`agent_home` makes it.
        reads: Files and folders that this kind of agent must be able to read; absolute.

    Raises:
        AgentError: The sandbox cannot be had.
    """
    if turn.sandbox is None:
        yield None
        return
    with open_session(
        turn.sandbox,
        home=home,
        work_dir=turn.work_dir,
        path_prefix=turn.path_prefix,
        reads=reads,
    ) as session:
        yield session


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """A program of an agent.

    Attributes:
        argv: The program and its arguments.
        stdin: What it reads; ``None`` for nothing.
        extra_env: Variables besides those of :func:`agent_environment`, which win over these.
        reads: Files and folders that it must be able to read in a sandbox; absolute.
        on_line: Called with each line of its standard output, without its end, as it comes;
            ``None`` writes its words to the transcript.
        terminal: A terminal that it gets instead of the three streams.
    """

    argv: Sequence[str]
    stdin: bytes | None = None
    extra_env: Mapping[str, str] | None = None
    reads: Sequence[Path] = ()
    on_line: Callable[[str], None] | None = None
    terminal: int | None = None


def run_agent_program(
    argv: Sequence[str],
    turn: AgentTurn,
    home: Path,
    *,
    stdin: bytes | None = None,
    extra_env: Mapping[str, str] | None = None,
    reads: Sequence[Path] = (),
) -> AgentResult:
    """Run a program whose words have no structure, see :func:`run_program_for_turn`."""
    program = AgentProgram(argv, stdin=stdin, extra_env=extra_env, reads=reads)
    return run_program_for_turn(program, turn, home)


def run_program_for_turn(program: AgentProgram, turn: AgentTurn, home: Path) -> AgentResult:
    """Run the agent's program for its turn, and end everything that it started.

    Args:
        program: What to run.
        turn: The turn.
        home: The agent's home, as :func:`agent_home` makes it.

    Raises:
        AgentError: It could not be started, or not be watched to its end, or the sandbox could not
            be had.
    """
    transcript = turn.transcript
    show = program.on_line or (lambda line: transcript.output("stdout", line))
    secrets = transcript.secrets
    # Who reads its lines may read JSON, which is cleaned when it goes to the transcript.
    words = program.on_line is None
    stdout = LineReader(show, whole=words, secrets=secrets if words else None)
    stderr = LineReader(lambda line: transcript.output("stderr", line), whole=True, secrets=secrets)
    env = {**(program.extra_env or {}), **agent_environment(turn, home)}
    with agent_sandbox(turn, home, program.reads) as session:
        launch = None if session is None else _launch(session, program, env)
        with (
            contextlib.closing(stdout),
            contextlib.closing(stderr),
            _told_as_agent_errors(program.argv[0]),
        ):
            result = run_program(
                Program(
                    argv=program.argv if launch is None else launch.argv,
                    cwd=turn.work_dir,
                    env=env if launch is None else launch.env,
                    stdout=turn.output_dir / STDOUT_NAME,
                    stderr=turn.output_dir / STDERR_NAME,
                    stdin=program.stdin,
                    secrets=secrets,
                    grace_sec=_GRACE_SEC,
                    on_stdout=stdout.feed,
                    on_stderr=stderr.feed,
                    terminal=program.terminal,
                ),
                timeout_sec=turn.timeout_sec,
                cancel=turn.cancel,
            )
        if session is not None and launch is not None:
            result = _finished(session, launch, result)
        report = None if session is None else session.report()
    return AgentResult(
        status=_status(result),
        elapsed_sec=result.elapsed_sec,
        exit_code=result.exit_code,
        reason=_reason(result, turn.timeout_sec),
        leftover_processes=result.leftovers if report is None else None,
        sandbox=report,
        records=(turn.output_dir / STDOUT_NAME, turn.output_dir / STDERR_NAME),
    )


def _finished(session: SandboxSession, launch: Launch, result: ProcessResult) -> ProcessResult:
    code = session.finish(launch, asked=result.ended_by is not EndedBy.ITSELF)
    # The kernel ends what is left over with the first program, and nobody counts: what was seen
    # here is what makes the sandbox.
    return replace(result, exit_code=result.exit_code if code is None else code, leftovers=0)


@contextlib.contextmanager
def _told_as_agent_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as exc:
        reason = _refusal(exc, name) if isinstance(exc, OSError) else str(exc)
        raise AgentError(f"the agent {name!r} could not be started: {reason}") from exc
    except SupervisionError as exc:
        raise AgentError(f"the end of the agent's turn was not observed: {exc}") from exc


def _launch(session: SandboxSession, program: AgentProgram, env: Mapping[str, str]) -> Launch:
    return session.launch(program.argv, env, terminal=program.terminal is not None)


def _refusal(exc: OSError, command: str) -> str:
    """Return what the system refused, with the file when it is not the command itself."""
    reason = exc.strerror or str(exc)
    return f"{exc.filename}: {reason}" if exc.filename not in (None, command) else reason


def _status(result: ProcessResult) -> AgentStatus:
    if result.lost or result.unkillable:
        return AgentStatus.LOST
    if result.ended_by is EndedBy.DEADLINE:
        return AgentStatus.TIMED_OUT
    if result.ended_by is EndedBy.CANCEL:
        return AgentStatus.CANCELLED
    return AgentStatus.COMPLETED if result.exit_code == 0 else AgentStatus.FAILED


def _reason(result: ProcessResult, timeout_sec: float) -> str:
    if result.ended_by is EndedBy.DEADLINE:
        text = f"ended when its {timeout_sec:g} s were over"
    elif result.ended_by is EndedBy.CANCEL:
        text = "ended because the run was interrupted"
    elif result.exit_code is None:
        text = "ended"
    elif result.exit_code < 0:
        text = f"ended by signal {-result.exit_code}"
    else:
        text = f"exited with code {result.exit_code}"
    if result.lost:
        text += "; its supervisor was killed: processes may have escaped"
    if result.leftovers is None:
        text += f"; {NOT_CHECKED}"
    elif result.leftovers:
        text += f"; {result.leftovers} process(es) that it left behind were ended"
    if result.unkillable:
        text += f"; {result.unkillable} of its processes could not be ended"
    dropped = result.stdout_dropped + result.stderr_dropped
    if dropped:
        why = f" ({result.output_fault})" if result.output_fault else ""
        text += f"; {dropped} bytes of its output were not kept{why}"
    return text
