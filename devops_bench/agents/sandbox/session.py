"""A sandbox for one turn: what is started instead of the agent's program, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.sandbox.report import SandboxReport


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start.

    Attributes:
        argv: The command line.
        env: Its whole environment.
        key: What the session knows it by.
    """

    argv: list[str]
    env: dict[str, str]
    key: str


class SandboxSession(Protocol):
    """The sandbox of a turn; programs may be started in it, also side by side."""

    def launch(
        self, argv: Sequence[str], env: Mapping[str, str], *, terminal: bool = False
    ) -> Launch:
        """Return what to start so that a program runs in the sandbox.

        Args:
            argv: The program and its arguments; a name is looked up on the ``PATH`` of the sandbox.
            env: Its environment, with paths of ours.
            terminal: Whether its streams are a terminal.

        Raises:
            AgentError: The program is not in the sandbox, or the sandbox cannot be made.
        """
        ...

    def finish(self, launch: Launch, *, asked: bool = False) -> int | None:
        """Take note that what was started has ended, and end what is left of its program.

        Args:
            launch: What was started.
            asked: Whether it was us who ended it.

        Returns:
            The program's exit code where the sandbox knows better than who started it.

        Raises:
            AgentError: The program never ran, or nobody knows whether it ended.
        """
        ...

    def report(self) -> SandboxReport:
        """Return what the result says about it.

        Raises:
            AgentError: What led to the outside is not there any more.
        """
        ...


def open_session(
    options: SandboxOptions,
    *,
    home: Path,
    work_dir: Path,
    path_prefix: Sequence[Path] = (),
    reads: Sequence[Path] = (),
) -> AbstractContextManager[SandboxSession]:
    """Return the sandbox of a turn, to be entered.

    Args:
        options: What the user asked for.
        home: The agent's home; its ``.kube/config`` says which API server it may reach.
        work_dir: Its working folder.
        path_prefix: Folders of programs that are first on its ``PATH``.
        reads: Files and folders that this kind of agent needs; absolute.

    Raises:
        AgentError: On entering: the sandbox cannot be had, or the kubeconfig cannot be read.
    """
    # Late: each of them is only loaded where it is used.
    if options.kind == "docker":
        from devops_bench.agents.sandbox.dockersession import open_docker_session

        return open_docker_session(
            options, home=home, work_dir=work_dir, path_prefix=path_prefix, reads=reads
        )
    from devops_bench.agents.sandbox.bwrapsession import open_bwrap_session

    return open_bwrap_session(
        options, home=home, work_dir=work_dir, path_prefix=path_prefix, reads=reads
    )
