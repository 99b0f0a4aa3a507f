"""The agent that has the turn and does nothing: every task must fail with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.options import AgentOptions, refuse_arguments
from devops_bench.agents.sandbox.report import NOTHING_RAN, SandboxReport

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task


@AGENTS.register("noop")
class NoopAgent:
    """Takes its turn and returns at once."""

    name = "noop"

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> NoopAgent:  # noqa: ARG003
        """Return the agent; it suits every task.

        Raises:
            InvalidInputError: Words were given after ``--``.
        """
        refuse_arguments(cls.name, options)
        return cls()

    def run(self, turn: AgentTurn) -> AgentResult:  # noqa: ARG002
        """Do nothing."""
        return AgentResult(
            AgentStatus.COMPLETED,
            0.0,
            reason="did nothing, as it should",
            sandbox=SandboxReport(NOTHING_RAN),
        )
