"""The turn of a model: requests and tools until it answers, or something ends it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import time
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field, replace

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartEndEvent,
    TextPart,
    ThinkingPart,
)
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage, UsageLimits

from devops_bench.agents.base import MAX_FINAL_TEXT, AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.llm.answers import Answers, ServerNotStartedError, classified
from devops_bench.agents.llm.mcp import McpTools
from devops_bench.agents.llm.options import LlmOptions
from devops_bench.agents.llm.tools import ToolAnswer, Workbench
from devops_bench.agents.process import agent_home, agent_sandbox
from devops_bench.agents.sandbox.report import UNSANDBOXED, SandboxReport
from devops_bench.agents.transcript import Transcript
from devops_bench.agents.usage import Prices, Usage
from devops_bench.core.errors import AgentError, DevopsBenchError, InvalidInputError
from devops_bench.core.json import JsonValue

INSTRUCTIONS = (
    "You operate a Kubernetes cluster. Do what the user asks with the tools, check that it worked, "
    "and then answer in a few sentences what you did. Nobody can answer questions."
)

_CANCEL_POLL_SEC = 0.1
_TOOL_RETRIES = 3


# pydantic-ai has no error of its own for it.
_KEY_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]*)` environment variable")


def make_model(options: LlmOptions) -> Model:
    """Return the model that the options name.

    Raises:
        InvalidInputError: There is no such model, its provider's package is not installed, or it
            has no key.
    """
    try:
        if options.base_url is None:
            return infer_model(options.model)
        # Servers of one's own often want no key, and the client wants one.
        key = os.environ.get(options.api_key_env) or "none"
        provider = OpenAIProvider(base_url=options.base_url, api_key=key)
        provider.client.max_retries = options.retries
        return OpenAIChatModel(options.model.removeprefix("openai:"), provider=provider)
    except (UserError, ImportError, ValueError) as exc:
        raise InvalidInputError(
            f"--agent llm: the model {options.model!r}: {_refusal(str(exc))}"
        ) from exc


def _refusal(said: str) -> str:
    """Return why there is no such model; advice for programmers is of no use to who reads it."""
    key = _KEY_VARIABLE.search(said)
    if key is None:
        return said
    return (
        f"its key is missing: set the variable {key[1]} (the key of a server of your own, named by "
        "--base-url, may be in any variable: --api-key-env)"
    )


@dataclass(slots=True)
class _Turn:
    """What is shared by the tools, the events and the end of one turn."""

    bench: Workbench
    transcript: Transcript
    prices: Prices | None
    answers: Answers = field(default_factory=Answers)
    used: RunUsage = field(default_factory=RunUsage)
    exit_codes: dict[str, ToolAnswer] = field(default_factory=dict)
    last_text: str = ""
    written: Usage = field(default_factory=Usage)

    @property
    def usage(self) -> Usage:
        """What was used so far, as far as it was stated."""
        usage = Usage(requests=self.answers.requests)
        if self.answers.measured:
            used = self.used
            usage = replace(
                usage,
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                cached_input_tokens=used.cache_read_tokens,
            )
        return usage if self.prices is None else self.prices.priced(usage)

    def write_usage(self) -> None:
        """Write the usage to the transcript if there is more of it."""
        usage = self.usage
        if usage.requests and usage != self.written:
            self.written = usage
            self.transcript.usage(usage)


class ModelAgent:
    """Lets a model work with tools.

    Args:
        options: What the user said about it.
        model: The model.
        prices: What its tokens cost, ``None`` when nobody said.
    """

    name = "llm"

    def __init__(self, options: LlmOptions, model: Model, prices: Prices | None = None) -> None:
        self._options = options
        self._model = model
        self._prices = prices

    def run(self, turn: AgentTurn) -> AgentResult:
        """Let it work.

        Raises:
            AgentError: The sandbox could not be made, or the end of a tool was not observed.
        """
        began = time.monotonic()
        # Without a sandbox it can read what this process was given.
        key = os.environ.get(self._options.api_key_env, "")
        turn.transcript.secrets.add(key, *self._options.secrets)
        with agent_home(turn) as home, agent_sandbox(turn, home) as session:
            bench = Workbench(
                turn,
                home,
                session,
                deadline=began + turn.timeout_sec,
                timeout_sec=self._options.tool_timeout_sec,
            )
            state = _Turn(bench, turn.transcript, self._prices)
            with McpTools(self._options.mcp_servers, bench, session, turn) as servers:
                # Threads of tools are waited for at the end of asyncio.run.
                status, reason, text = asyncio.run(self._work(turn, state, servers, began))
            report = SandboxReport(UNSANDBOXED) if session is None else session.report()
            left = None if bench.leftovers is None else bench.leftovers + servers.leftovers
        if bench.unobserved:
            status, reason = AgentStatus.LOST, bench.unobserved
        return AgentResult(
            status=status,
            elapsed_sec=time.monotonic() - began,
            reason=reason,
            # In a sandbox the kernel ends them with the first one, and nobody counts.
            leftover_processes=left if session is None else None,
            final_text=text[:MAX_FINAL_TEXT],
            usage=state.usage,
            sandbox=report,
        )

    async def _work(
        self, turn: AgentTurn, state: _Turn, servers: McpTools, began: float
    ) -> tuple[AgentStatus, str, str]:
        """Return how it ended, why, and its last words."""
        task = asyncio.ensure_future(self._talk(turn, state, servers))
        try:
            deadline = began + turn.timeout_sec
            while not task.done() and not turn.cancel.is_set() and time.monotonic() < deadline:
                wait = min(_CANCEL_POLL_SEC, max(0.0, deadline - time.monotonic()))
                await asyncio.wait({task}, timeout=wait)
            if task.done():
                return _ended(task, state)
            if turn.cancel.is_set():
                return AgentStatus.CANCELLED, "ended because the run was interrupted", ""
            reason = f"ended when its {turn.timeout_sec:g} s were over"
            return AgentStatus.TIMED_OUT, reason, state.last_text
        finally:
            state.bench.stop.set()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):  # told above, or ended
                await task
            state.write_usage()

    async def _talk(self, turn: AgentTurn, state: _Turn, servers: McpTools) -> str:
        options = self._options
        settings = ModelSettings(timeout=options.request_timeout_sec)
        if options.temperature is not None:
            settings["temperature"] = options.temperature
        agent: PydanticAgent[_Turn, str] = PydanticAgent(
            self._model,
            deps_type=_Turn,
            instructions=INSTRUCTIONS,
            model_settings=settings,
            retries={"tools": _TOOL_RETRIES, "output": 0},
            toolsets=servers.toolsets(),
            capabilities=[state.answers],
        )
        _add_tools(agent)
        async with contextlib.AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(agent)
            except Exception as exc:
                raise ServerNotStartedError(str(exc)) from exc
            # A model that writes a file and reads it in one step means that order.
            stack.enter_context(agent.parallel_tool_call_execution_mode("sequential"))
            result = await agent.run(
                turn.prompt,
                deps=state,
                usage=state.used,
                usage_limits=UsageLimits(
                    request_limit=options.max_steps, total_tokens_limit=options.max_tokens
                ),
                event_stream_handler=_write_events,
            )
        return result.output


def _add_tools(agent: PydanticAgent[_Turn, str]) -> None:
    """Give the agent its four tools; their docstrings are what the model reads."""

    @agent.tool
    async def kubectl(  # noqa: D417 - the model is not told of ctx
        ctx: RunContext[_Turn], arguments: str, stdin: str | None = None
    ) -> str:
        """Run kubectl against the cluster.

        Args:
            arguments: What stands after kubectl, quoted as for a shell, e.g. "get pods -n shop".
            stdin: What it reads, for "apply -f -".
        """
        answer = await asyncio.to_thread(ctx.deps.bench.kubectl, arguments, stdin)
        return _answered(ctx, answer)

    @agent.tool
    async def bash(  # noqa: D417 - the model is not told of ctx
        ctx: RunContext[_Turn], command: str
    ) -> str:
        """Run a command line with bash in the working folder.

        Args:
            command: The command line. What it leaves running is ended.
        """
        return _answered(ctx, await asyncio.to_thread(ctx.deps.bench.bash, command))

    @agent.tool
    async def read_file(  # noqa: D417 - the model is not told of ctx
        ctx: RunContext[_Turn], path: str
    ) -> str:
        """Read a text file of the working folder.

        Args:
            path: Relative to the working folder.
        """
        return _answered(ctx, await asyncio.to_thread(ctx.deps.bench.read_file, path))

    @agent.tool
    async def write_file(  # noqa: D417 - the model is not told of ctx
        ctx: RunContext[_Turn], path: str, content: str
    ) -> str:
        """Write a text file of the working folder.

        Args:
            path: Relative to the working folder; folders are made.
            content: The whole new content.
        """
        return _answered(ctx, await asyncio.to_thread(ctx.deps.bench.write_file, path, content))


def _answered(ctx: RunContext[_Turn], answer: ToolAnswer) -> str:
    ctx.deps.exit_codes[ctx.tool_call_id or ""] = answer
    code = "" if answer.exit_code is None else f"exit code {answer.exit_code}\n"
    return code + answer.text


async def _write_events(ctx: RunContext[_Turn], events: AsyncIterable[AgentStreamEvent]) -> None:
    """Write what happens to the transcript."""
    state = ctx.deps
    state.write_usage()
    async for event in events:
        if isinstance(event, PartEndEvent):
            if isinstance(event.part, TextPart):
                state.last_text = event.part.content
                state.transcript.message("assistant", event.part.content)
            elif isinstance(event.part, ThinkingPart):
                state.transcript.reasoning(event.part.content)
        elif isinstance(event, FunctionToolCallEvent):
            part = event.part
            state.transcript.tool_call(part.tool_call_id, part.tool_name, _arguments(part.args))
        elif isinstance(event, FunctionToolResultEvent):
            answer = state.exit_codes.pop(event.tool_call_id, None)
            content = event.part.content
            state.transcript.tool_result(
                event.tool_call_id,
                content if isinstance(content, str) else event.part.model_response_str(),
                exit_code=None if answer is None else answer.exit_code,
                is_error=event.part.outcome != "success"
                or (answer is not None and answer.is_error),
            )


def _arguments(args: str | Mapping[str, object] | None) -> JsonValue:
    """Return a call's arguments; what a model made up may be no JSON, then as it is."""
    text = args if isinstance(args, str) else json.dumps(args, default=str)
    try:
        parsed: JsonValue = json.loads(text)
    except ValueError:
        return text
    return parsed


def _ended(task: asyncio.Future[str], state: _Turn) -> tuple[AgentStatus, str, str]:
    """Return what a turn came to that ended by itself."""
    exc = task.exception()
    if exc is None:
        text = task.result()
        if not text.strip():
            return AgentStatus.EMPTY, "its answer is empty", ""
        return AgentStatus.COMPLETED, "it answered", text
    if isinstance(exc, DevopsBenchError):
        raise AgentError(str(exc)) from exc
    status, what = classified(exc, state.answers)
    reason = f"{what}: {str(exc).partition(chr(10))[0][:300]}"
    state.transcript.error(f"{type(exc).__name__}: {exc}")
    return status, reason, state.last_text
