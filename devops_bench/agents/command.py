"""The agent that is a command: any program, given the prompt."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, AgentResult, AgentTurn
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.process import agent_home, run_agent_program
from devops_bench.agents.sandbox.bwrap import is_system_path
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task

PROMPT_PLACEHOLDER = "{prompt}"
"""Replaced by the prompt wherever it stands in an argument."""


@AGENTS.register("command")
class CommandAgent:
    """Runs a command line; no shell.

    The prompt takes the place of ``{prompt}`` in the arguments; without one it comes on standard
    input. Either way standard input ends after it.

    Args:
        argv: The command and its arguments; the command is a name to look up on the agent's
            ``PATH``, or an absolute path.
    """

    name = "command"

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._argv = argv

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> CommandAgent:  # noqa: ARG003
        """Return the agent; a relative path is relative to where devops-bench was started.

        Raises:
            InvalidInputError: No command was given, or it is not found.
        """
        if not options.arguments:
            raise InvalidInputError(
                "--agent command needs the command to run: --agent command -- my-agent --flag"
            )
        command, *arguments = options.arguments
        return cls((located(command, options), *arguments))

    def run(self, turn: AgentTurn) -> AgentResult:
        """Run the command for the turn.

        Raises:
            AgentError: It could not be started.
        """
        in_arguments = any(PROMPT_PLACEHOLDER in word for word in self._argv[1:])
        command, *arguments = self._argv
        with agent_home(turn) as home:
            return run_agent_program(
                [command, *(word.replace(PROMPT_PLACEHOLDER, turn.prompt) for word in arguments)],
                turn,
                home,
                stdin=None if in_arguments else turn.prompt.encode(),
                reads=(Path(command),) if os.sep in command else (),
            )


def located(command: str, options: AgentOptions) -> str:
    """Return the command so that it is found from another folder too.

    Args:
        command: A name, or a path; a relative one is relative to ``options.base_dir``.
        options: What the user said.

    Raises:
        InvalidInputError: It is not found, not executable, or not in the sandbox that was asked
            for.
    """
    if options.in_image and (os.sep not in command or is_system_path(Path(command))):
        return command
    if os.sep in command:
        file = options.base_dir / Path(command).expanduser()
        if not file.is_file():
            raise InvalidInputError(f"the agent's command {command} does not exist")
        if not os.access(file, os.X_OK):
            raise InvalidInputError(
                f"the agent's command {command} is not executable "
                f"(chmod +x it, or use: --agent script {command})"
            )
        return str(file.absolute())
    search_path = os.environ.get("PATH") if options.search_path is None else options.search_path
    found = shutil.which(command, path=search_path)
    if found is None:
        here = options.base_dir / command
        hint = f" (did you mean ./{command}?)" if here.is_file() else ""
        raise InvalidInputError(f"the agent's command {command!r} is not found on the PATH{hint}")
    # A PATH may hold relative folders; the agent starts somewhere else.
    if not Path(found).is_absolute():
        return str(Path(found).absolute())
    if command != "kubectl":  # the sandbox brings one along
        require_in_sandbox(command, options, search_path)
    return command


def require_in_sandbox(command: str, options: AgentOptions, search_path: str | None) -> None:
    """Refuse a program of this machine that the sandbox that was asked for would not have.

    Args:
        command: A name, or an absolute path.
        options: What the user said.
        search_path: The ``PATH`` that a name is looked up on, ``None`` for that of this process.

    Raises:
        InvalidInputError: It would not; the message says what opens it.
    """
    sandbox = options.sandbox
    if sandbox is None or sandbox.kind != "bwrap":
        return
    path = os.environ.get("PATH", os.defpath) if search_path is None else search_path
    folders = [name for name in path.split(os.pathsep) if _in_sandbox(Path(name), sandbox)]
    found = shutil.which(command, path=os.pathsep.join(folders))
    outside = shutil.which(command, path=path)
    if outside is None:
        return  # it is not there at all, which is another fault
    if found is None or not _in_sandbox(Path(found), sandbox):
        raise InvalidInputError(
            f"{outside} is not in the sandbox: --sandbox-read {Path(outside).parent} opens it"
        )
    target = Path(found).resolve()
    if not _in_sandbox(target, sandbox):
        raise InvalidInputError(
            f"{found} is a link to {target}, which is not in the sandbox: "
            f"--sandbox-read {target.parent} opens it"
        )


def _in_sandbox(path: Path, sandbox: SandboxOptions) -> bool:
    return is_system_path(path) or any(path.is_relative_to(root) for root in sandbox.readable)
