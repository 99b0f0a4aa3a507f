"""The agent that is a model behind an API, with tools in its own folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, Agent, AgentResult, AgentTurn
from devops_bench.agents.command import require_in_sandbox
from devops_bench.agents.llm.options import parse_llm_options
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.sandbox.bwrap import is_system_path
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import McpServer, Task

_EXTRA = "pip install 'devops-bench[llm]'"


@AGENTS.register("llm")
class LlmAgent:
    """Chosen by ``--agent llm -- --model PROVIDER:MODEL``; :class:`ModelAgent` takes the turn."""

    name = "llm"

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> Agent:
        """Return the agent; everything that can be wrong before a request is found here.

        Raises:
            InvalidInputError: The extra is not installed, the words are wrong, there is no such
                model or no key for it, or an MCP server's program is not there.
        """
        chosen = parse_llm_options(options.arguments, options.base_dir, task.mcp_servers)
        for server_name, server in chosen.mcp_servers.items():
            if server.command is not None:
                _require_program(server_name, server, options)
        try:
            from devops_bench.agents.llm.loop import ModelAgent, make_model  # half a second or more
        except ImportError as exc:
            raise InvalidInputError(f"--agent llm needs an extra ({exc}): {_EXTRA}") from exc
        return ModelAgent(chosen, make_model(chosen), options.prices)

    def run(self, turn: AgentTurn) -> AgentResult:
        """Never called: ``for_task`` makes what takes the turn."""
        raise NotImplementedError


def _require_program(name: str, server: McpServer, options: AgentOptions) -> None:
    """Refuse an MCP server whose program could not be started."""
    command = server.command or ""
    if options.in_image and (os.sep not in command or is_system_path(Path(command))):
        return  # it is looked up in the image, by the container
    what = f"the MCP server {name!r}: its program {command!r}"
    if os.sep in command and not Path(command).is_absolute():
        raise InvalidInputError(
            f"{what} is a relative path, and the server starts in the agent's empty folder: give "
            "its full path"
        )
    path = server.env.get("PATH", options.search_path)
    if command != "kubectl" and shutil.which(command, path=path) is None:
        where = "does not exist or is not executable" if os.sep in command else "is not on the PATH"
        raise InvalidInputError(f"{what} {where}")
    try:
        require_in_sandbox(command, options, path)
    except InvalidInputError as exc:
        raise InvalidInputError(f"{what}: {exc}") from exc
