"""From the word after ``--agent`` to an agent for each task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

# Imported because importing them registers them.
from devops_bench.agents import command, control, human, idle, script  # noqa: F401
from devops_bench.agents.base import AGENTS, Agent
from devops_bench.agents.foreign import ForeignAgent
from devops_bench.agents.llm import agent as _llm  # noqa: F401
from devops_bench.agents.options import AgentClass, AgentOptions, refuse_arguments
from devops_bench.agents.presets import agent as _presets  # noqa: F401
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.faults import named
from devops_bench.core.redaction import redact

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task

_OURS = "devops_bench."


def make_agent(name: str, options: AgentOptions) -> Callable[[Task], Agent]:
    """Return what makes the agent for a task.

    Calling it for every task of a run touches nothing and finds everything that is wrong with the
    choice, so that this can be done before the first cluster is asked for.

    Args:
        name: A name in ``AGENTS``.
        options: What the user said about it.

    Raises:
        UnknownNameError: There is no such agent.
        InvalidInputError: The plug-in of that name could not be loaded.
    """
    agent_class = AGENTS.get(name)
    ours = getattr(agent_class, "__module__", "").startswith(_OURS)

    def factory(task: Task) -> Agent:
        if ours and isinstance(agent_class, AgentClass):
            return agent_class.for_task(task, options)
        return _foreign(name, agent_class, task, options)

    return factory


def _foreign(
    name: str, agent_class: type[Agent], task: Task, options: AgentOptions
) -> ForeignAgent:
    """Return the agent of a class that is not ours, or refuse it."""
    try:
        if isinstance(agent_class, AgentClass):
            made: object = agent_class.for_task(task, options)
        else:
            refuse_arguments(name, options)  # it takes neither task nor options
            made = agent_class()
    except InvalidInputError:
        raise
    except (Exception, SystemExit) as exc:
        why = redact(named(exc))
        raise InvalidInputError(f"the agent {name} could not be made: {why}") from exc
    if not callable(getattr(made, "run", None)):
        raise InvalidInputError(
            f"the agent {name} could not be made: {type(made).__name__} has no method run(turn)"
        )
    agent: Agent = made
    if options.sandbox is not None and not _honours_sandbox(agent_class, agent):
        raise InvalidInputError(
            f"--sandbox {options.sandbox.kind}: the agent {name} would run outside of it: its "
            "class does not say that it starts its programs in the sandbox of its turn "
            "(honours_sandbox = True)"
        )
    return ForeignAgent(name, agent)


def _honours_sandbox(agent_class: type[Agent], agent: Agent) -> bool:
    said = getattr(agent_class, "honours_sandbox", False) or getattr(
        agent, "honours_sandbox", False
    )
    return said is True or type(agent).__module__.startswith(_OURS)
