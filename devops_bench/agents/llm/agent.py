"""The agent that is a model behind an API, with tools in its own folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, Agent, AgentResult, AgentTurn
from devops_bench.agents.llm.options import parse_llm_options
from devops_bench.agents.options import AgentOptions
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task

_EXTRA = "pip install 'devops-bench[llm]'"


@AGENTS.register("llm")
class LlmAgent:
    """Chosen by ``--agent llm -- --model PROVIDER:MODEL``; :class:`ModelAgent` takes the turn."""

    name = "llm"

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> Agent:
        """Return the agent; everything that can be wrong before a request is found here.

        Raises:
            InvalidInputError: The extra is not installed, the words are wrong, or there is no such
                model or no key for it.
        """
        chosen = parse_llm_options(options.arguments, options.base_dir, task.mcp_servers)
        try:
            from devops_bench.agents.llm.loop import ModelAgent, make_model  # half a second or more
        except ImportError as exc:
            raise InvalidInputError(f"--agent llm needs an extra ({exc}): {_EXTRA}") from exc
        return ModelAgent(chosen, make_model(chosen), options.prices)

    def run(self, turn: AgentTurn) -> AgentResult:
        """Never called: ``for_task`` makes what takes the turn."""
        raise NotImplementedError
