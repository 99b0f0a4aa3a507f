"""The protocol of an agent: a turn in, a result out."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.sandbox.report import SandboxReport
from devops_bench.agents.transcript import Transcript
from devops_bench.agents.usage import Usage
from devops_bench.core.registry import Registry

MAX_FINAL_TEXT = 16 * 1024
"""Characters of an agent's last words that are kept in its result."""


class AgentStatus(StrEnum):
    """How the agent's turn ended; none of them says that the task was achieved."""

    COMPLETED = "completed"
    """It ended by itself, a program with exit code 0, and said nothing else about its end."""
    FAILED = "failed"
    """It crashed: another exit code, a signal that was not ours, an error of its model or tools."""
    TIMED_OUT = "timed_out"
    """It was ended at the deadline of its turn."""
    CANCELLED = "cancelled"
    """It was ended because the run was interrupted."""
    REFUSED = "refused"
    """It, or its model, declined the task."""
    RATE_LIMITED = "rate_limited"
    """Its model's API took no more requests: a rate limit, a quota, an overload."""
    EMPTY = "empty"
    """It ended by itself and its answer is empty, although agents of its kind give one."""
    LIMIT_REACHED = "limit_reached"
    """It was ended at its own limit of steps or tokens."""
    LOST = "lost"
    """Nobody saw it end: what watched over it was killed, so processes of it may still run. Nothing
    that is judged afterwards can be trusted, the task is an error."""


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """What the agent is given.

    Attributes:
        prompt: The task's prompt, variables replaced.
        kubeconfig: The kubeconfig of the cluster, ``None`` without one.
        work_dir: A new empty folder, the agent's working directory.
        output_dir: Where what it prints is kept (``agent.stdout``, ``agent.stderr``).
        timeout_sec: Seconds the turn may take, > 0.
        cancel: Set when the turn must end at once.
        environment: Variables to pass besides the allow-list.
        path_prefix: Folders to put first on ``PATH`` (the plane's kubectl).
        transcript: Where what it says and does is written while it happens; the harness writes the
            prompt and the end.
        sandbox: What it may see and reach; ``None`` for everything that this process may.
    """

    prompt: str
    kubeconfig: Path | None
    work_dir: Path
    output_dir: Path
    timeout_sec: float
    cancel: threading.Event
    environment: Mapping[str, str] = field(default_factory=dict)
    path_prefix: tuple[Path, ...] = ()
    transcript: Transcript = field(default_factory=Transcript)
    sandbox: SandboxOptions | None = None


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What the turn came to.

    Attributes:
        status: How it ended.
        elapsed_sec: Seconds from start to end, ≥ 0.
        exit_code: The exit code, negative for a signal, ``None`` when no process ran.
        reason: One sentence for the reader.
        leftover_processes: How many processes it left behind and that were ended for it; ``None``
            where nobody looked, or could.
        final_text: Its last words, at most :data:`MAX_FINAL_TEXT` characters are kept.
        usage: What it used, ``None`` when nobody knows.
        transcript: Where a transcript of its own is; ``None`` when it wrote to that of the turn.
        sandbox: In which it ran; ``None`` counts as outside of any.
        records: Files that were written for it besides; one that is gone after the turn was taken
            away.
    """

    status: AgentStatus
    elapsed_sec: float
    exit_code: int | None = None
    reason: str = ""
    leftover_processes: int | None = None
    final_text: str = ""
    usage: Usage | None = None
    transcript: Path | None = None
    sandbox: SandboxReport | None = None
    records: tuple[Path, ...] = ()


class Agent(Protocol):
    """Whoever gets the turn: a control, a script, a command.

    A class of somebody else's that runs all its programs in the sandbox of its turn says so by an
    attribute ``honours_sandbox = True``; without it a sandbox is refused.
    """

    name: str

    def run(self, turn: AgentTurn) -> AgentResult:
        """Take the turn and return when it is over and nothing of it runs any more.

        Raises:
            AgentError: It could not be started at all, or not be watched to its end.
        """
        ...


AGENTS: Registry[type[Agent]] = Registry("agent", entry_point_group="devops_bench.agents")
"""Every agent class by the name that ``--agent`` takes."""
