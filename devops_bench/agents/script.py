"""The agent that is a script of the user's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, AgentResult, AgentTurn
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.process import agent_home, run_agent_program
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task


def script_argv(file: Path) -> list[str]:
    """Return how a script is started: by itself if it can be, otherwise with bash.

    A file is started by itself when it is executable and says what runs it (``#!``, or it is an
    ELF program); a text without ``#!`` is what a shell would run, so bash does.

    Args:
        file: An existing file.

    Raises:
        OSError: It could not be read.
    """
    path = str(file)
    if not os.access(file, os.X_OK):
        return ["bash", path]
    try:
        with file.open("rb") as stream:
            head = stream.read(4)
    except PermissionError:
        return [path]  # executable and not readable: the system may still run it
    return [path] if head.startswith((b"#!", b"\x7fELF")) else ["bash", path]


@AGENTS.register("script")
class ScriptAgent:
    """Runs ``FILE [ARGUMENT…]`` with the prompt on its standard input.

    Args:
        file: The script, an absolute path.
        arguments: Its arguments.
    """

    name = "script"

    def __init__(self, file: Path, arguments: tuple[str, ...] = ()) -> None:
        self._file = file
        self._arguments = arguments

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> ScriptAgent:  # noqa: ARG003
        """Return the agent; a relative file is relative to where devops-bench was started.

        Raises:
            InvalidInputError: No file was given, or it is not there.
        """
        if not options.arguments:
            raise InvalidInputError(
                "--agent script needs the file to run: --agent script FILE [ARGUMENT…]"
            )
        file = options.base_dir / Path(options.arguments[0]).expanduser()
        if not file.is_file():
            what = "is not a file" if file.exists() else "does not exist"
            raise InvalidInputError(f"the agent's script {options.arguments[0]} {what}")
        if not os.access(file, os.R_OK) and not os.access(file, os.X_OK):
            raise InvalidInputError(f"the agent's script {options.arguments[0]} cannot be read")
        return cls(file.absolute(), options.arguments[1:])

    def run(self, turn: AgentTurn) -> AgentResult:
        """Run the script for the turn.

        Raises:
            AgentError: It could not be started.
        """
        with agent_home(turn) as home:
            return run_agent_program(
                [*script_argv(self._file), *self._arguments],
                turn,
                home,
                stdin=turn.prompt.encode(),
                reads=(self._file,),
            )
