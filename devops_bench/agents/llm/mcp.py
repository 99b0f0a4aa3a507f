"""MCP servers for a model: started with the agent's environment, in its sandbox, and ended."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from devops_bench.agents.base import AgentTurn
from devops_bench.agents.llm.tools import Workbench
from devops_bench.agents.sandbox.session import Launch, SandboxSession
from devops_bench.core.boundedfile import BoundedFile
from devops_bench.core.marking import MARKER_VARIABLE, end_marked
from devops_bench.core.pump import pumped
from devops_bench.core.redaction import SECRET_NAMES
from devops_bench.core.secretforms import RedactedOutput
from devops_bench.tasks.model import McpServer

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

_INIT_TIMEOUT_SEC = 30.0
_END_TIMEOUT_SEC = 5.0
_MAX_STDERR_BYTES = 4 * 1024 * 1024


class McpTools:
    """The servers of one turn; at its end none of their processes is left.

    Args:
        servers: By name; their tools are called ``NAME_TOOL``.
        bench: The environment of the agent's programs.
        session: The sandbox that their programs run in, ``None`` for none.
        turn: The turn.

    Attributes:
        leftovers: Processes that had to be ended after the turn.
    """

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        bench: Workbench,
        session: SandboxSession | None,
        turn: AgentTurn,
    ) -> None:
        self._servers = servers
        self._bench = bench
        self._session = session
        self._turn = turn
        self._marker = secrets.token_hex(16)
        self._launches: list[Launch] = []
        self._outputs = contextlib.ExitStack()
        for server in servers.values():
            turn.transcript.secrets.add(*_secrets_of(server))
        self.leftovers = 0

    def __enter__(self) -> McpTools:
        """Return itself; a server starts when the model's turn does."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End what the servers left behind."""
        with self._outputs:
            if self._servers:
                self.leftovers = end_marked(self._marker, _END_TIMEOUT_SEC)
            if self._session is not None:
                for launch in self._launches:
                    self._session.finish(launch, asked=True)

    def toolsets(self) -> Sequence[AbstractToolset[object]]:
        """Return a toolset for each server."""
        if not self._servers:
            return ()
        from fastmcp.client.transports import StdioTransport  # only where there is a server
        from pydantic_ai.mcp import MCPToolset

        made: list[AbstractToolset[object]] = []
        for name, server in self._servers.items():
            if server.url is not None:
                toolset: MCPToolset[object] = MCPToolset(
                    server.url,
                    id=name,
                    headers=dict(server.headers),
                    init_timeout=_INIT_TIMEOUT_SEC,
                )
            else:
                argv, env = self._command(server)
                transport = StdioTransport(
                    command=argv[0],
                    args=argv[1:],
                    env=env,
                    cwd=str(self._turn.work_dir),
                    keep_alive=False,
                    log_file=self._stderr(name),
                )
                toolset = MCPToolset(transport, id=name, init_timeout=_INIT_TIMEOUT_SEC)
            made.append(toolset.prefixed(name))
        return made

    def _stderr(self, name: str) -> TextIO:
        """Return where a server's error output goes: to a file, without secrets."""
        file = BoundedFile(self._turn.output_dir / f"mcp-{name}.stderr", _MAX_STDERR_BYTES)
        sink = RedactedOutput(file, self._turn.transcript.secrets)
        return self._outputs.enter_context(pumped(sink))

    def _command(self, server: McpServer) -> tuple[list[str], dict[str, str]]:
        argv = [server.command or "", *server.args]
        env = {**self._bench.env, **server.env}
        if self._session is not None:
            launch = self._session.launch(argv, env)
            self._launches.append(launch)
            argv, env = launch.argv, launch.env
        return argv, {**env, MARKER_VARIABLE: self._marker}


def _secrets_of(server: McpServer) -> Iterator[str]:
    for name, value in (*server.env.items(), *server.headers.items()):
        if SECRET_NAMES.search(name):
            yield value
            yield value.split(" ")[-1]  # of "Bearer …"
