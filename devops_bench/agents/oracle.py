"""The agent that knows the answer: the task's own control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, AgentResult, AgentTurn
from devops_bench.agents.options import AgentOptions, refuse_arguments
from devops_bench.agents.process import agent_home, run_agent_program
from devops_bench.agents.script import script_argv
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task


@AGENTS.register("oracle")
class OracleAgent:
    """Runs ``controls.oracle`` of the task; with it the task must pass.

    A ``script`` runs as a script of the user's would, ``run`` with ``bash -euo pipefail``. The
    task's variables are in its environment under their own names, so that a script, whose text is
    not touched, can read them; an agent does not get them.

    Args:
        task: A task that has an oracle.
    """

    name = "oracle"

    def __init__(self, task: Task) -> None:
        self._task = task

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> OracleAgent:
        """Return the task's oracle.

        Raises:
            InvalidInputError: The task has none, its script is not there, or words were given
                after ``--``.
        """
        refuse_arguments(cls.name, options)
        oracle = task.controls.oracle
        if oracle is None:
            raise InvalidInputError(
                f"task {task.id} has no oracle: controls.oracle is missing in {task.source}"
            )
        if oracle.script is not None and not oracle.script.is_file():
            raise InvalidInputError(f"the oracle {oracle.script} of task {task.id} is not a file")
        return cls(task)

    def run(self, turn: AgentTurn) -> AgentResult:
        """Run the oracle for the turn.

        Raises:
            AgentError: It could not be started.
        """
        oracle = self._task.controls.oracle
        if oracle is None:
            raise ValueError(f"task {self._task.id} has no oracle")
        with agent_home(turn) as home:
            if oracle.script is not None:
                argv = script_argv(oracle.script)
            else:
                # A file rather than -c: an argument is bounded, and shows in every process list.
                file = home / "oracle.sh"
                file.write_text(oracle.run or "", encoding="utf-8")
                argv = ["bash", "-euo", "pipefail", str(file)]
            # A control may read what lies beside its script; it is no agent that must not see it.
            reads = () if oracle.script is None else (oracle.script.absolute().parent,)
            return run_agent_program(argv, turn, home, extra_env=self._task.variables, reads=reads)
