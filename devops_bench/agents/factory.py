"""From the word after ``--agent`` to an agent for each task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

# Imported because importing them registers them.
from devops_bench.agents import command, control, human, idle, script  # noqa: F401
from devops_bench.agents.base import AGENTS, Agent
from devops_bench.agents.llm import agent as _llm  # noqa: F401
from devops_bench.agents.options import AgentClass, AgentOptions, refuse_arguments
from devops_bench.agents.presets import agent as _presets  # noqa: F401

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task


def make_agent(name: str, options: AgentOptions) -> Callable[[Task], Agent]:
    """Return what makes the agent for a task.

    Calling it for every task of a run touches nothing and finds everything that is wrong with the
    choice, so that this can be done before the first cluster is asked for.

    Args:
        name: A name in ``AGENTS``.
        options: What the user said about it.

    Raises:
        UnknownNameError: There is no such agent.
    """
    agent_class = AGENTS.get(name)

    def factory(task: Task) -> Agent:
        if isinstance(agent_class, AgentClass):
            return agent_class.for_task(task, options)
        refuse_arguments(name, options)  # a plug-in that takes neither task nor options
        return agent_class()

    return factory
