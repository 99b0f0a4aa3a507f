"""No agent: what is there is judged as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.options import AgentOptions, refuse_arguments
from devops_bench.agents.sandbox.report import NOTHING_RAN, SandboxReport

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task


@AGENTS.register("none")
class NoAgent:
    """Stands for a turn that somebody else had, or nobody.

    Unlike ``noop`` this is no control: it says nothing about a spec, only about a cluster.
    """

    name = "none"

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> NoAgent:  # noqa: ARG003
        """Return it; it suits every task.

        Raises:
            InvalidInputError: Words were given after ``--``.
        """
        refuse_arguments(cls.name, options)
        return cls()

    def run(self, turn: AgentTurn) -> AgentResult:  # noqa: ARG002
        """Return at once: there is no turn."""
        return AgentResult(
            AgentStatus.COMPLETED,
            0.0,
            reason="no agent: judged what was there",
            sandbox=SandboxReport(NOTHING_RAN),
        )
