"""The protocol of an agent: a turn in, a result out."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from devops_bench.core.registry import Registry


class AgentStatus(StrEnum):
    """How the agent's turn ended; none of them says that the task was achieved."""

    COMPLETED = "completed"
    """It ended by itself with exit code 0."""
    FAILED = "failed"
    """It ended by itself with another exit code, or by a signal that was not ours."""
    TIMED_OUT = "timed_out"
    """It was ended at the deadline of its turn."""
    CANCELLED = "cancelled"
    """It was ended because the run was interrupted."""
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
    """

    prompt: str
    kubeconfig: Path | None
    work_dir: Path
    output_dir: Path
    timeout_sec: float
    cancel: threading.Event
    environment: Mapping[str, str] = field(default_factory=dict)
    path_prefix: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What the turn came to.

    Attributes:
        status: How it ended.
        elapsed_sec: Seconds from start to end, ≥ 0.
        exit_code: The exit code, negative for a signal, ``None`` when no process ran.
        reason: One sentence for the reader.
        leftover_processes: How many processes it left behind and that were ended for it.
    """

    status: AgentStatus
    elapsed_sec: float
    exit_code: int | None = None
    reason: str = ""
    leftover_processes: int = 0


class Agent(Protocol):
    """Whoever gets the turn: a control, a script, a command."""

    name: str

    def run(self, turn: AgentTurn) -> AgentResult:
        """Take the turn and return when it is over and nothing of it runs any more.

        Raises:
            AgentError: It could not be started at all, or not be watched to its end.
        """
        ...


AGENTS: Registry[type[Agent]] = Registry("agent", entry_point_group="devops_bench.agents")
"""Every agent class by the name that ``--agent`` takes."""
