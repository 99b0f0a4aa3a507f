"""The agents that do nothing: ``noop`` as a control of specs, ``none`` to judge what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from devops_bench.agents.base import AGENTS, AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.options import AgentOptions, refuse_arguments
from devops_bench.agents.sandbox.report import NOTHING_RAN, SandboxReport

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task


class _Idle:
    """Returns at once."""

    name: str
    reason: str

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> Self:  # noqa: ARG003
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
            reason=self.reason,
            leftover_processes=0,
            sandbox=SandboxReport(NOTHING_RAN),
        )


@AGENTS.register("noop")
class NoopAgent(_Idle):
    """Has the turn and does nothing: every task must fail with it."""

    name = "noop"
    reason = "did nothing, as it should"


@AGENTS.register("none")
class NoAgent(_Idle):
    """Stands for a turn that somebody else had, or nobody.

    Unlike ``noop`` this is no control: it says nothing about a spec, only about a cluster.
    """

    name = "none"
    reason = "no agent: judged what was there"
