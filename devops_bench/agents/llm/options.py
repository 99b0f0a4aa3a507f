"""The words of ``--agent llm -- …``."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.redaction import redact
from devops_bench.tasks.model import McpServer

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
DEFAULT_STEPS = 100
DEFAULT_REQUEST_TIMEOUT_SEC = 300.0
DEFAULT_TOOL_TIMEOUT_SEC = 120.0


class _McpEntry(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_of_both(self) -> _McpEntry:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a command or a url")
        return self


class _McpFile(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    servers: dict[str, _McpEntry] = Field(alias="mcpServers")


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """What the user said about the model.

    Attributes:
        model: ``PROVIDER:MODEL`` as pydantic-ai names them, or the model's own name when there is
            a ``base_url``.
        base_url: The address of an OpenAI-compatible server, ``None`` for the provider's own.
        api_key_env: The variable that holds the key for ``base_url``.
        max_steps: Requests to the model, ≥ 1.
        max_tokens: Tokens of the whole turn, sent and written, ≥ 1; ``None`` for no limit.
        request_timeout_sec: Seconds that the model may be silent, > 0.
        tool_timeout_sec: Seconds that a tool may take, > 0.
        retries: How often a request that failed is tried again, ≥ 0.
        temperature: Of the model, ``None`` for its own.
        mcp_servers: By name.
        secrets: What files of MCP servers took from variables of our environment.
    """

    model: str
    base_url: str | None = None
    api_key_env: str = DEFAULT_KEY_VARIABLE
    max_steps: int = DEFAULT_STEPS
    max_tokens: int | None = None
    request_timeout_sec: float = DEFAULT_REQUEST_TIMEOUT_SEC
    tool_timeout_sec: float = DEFAULT_TOOL_TIMEOUT_SEC
    retries: int = 2
    temperature: float | None = None
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def parse_llm_options(
    words: Sequence[str], base_dir: Path, of_the_task: Mapping[str, McpServer] | None = None
) -> LlmOptions:
    """Return the options of the words after ``--``.

    Args:
        words: The words.
        base_dir: What a relative path of the user is relative to.
        of_the_task: MCP servers that the task brings.

    Raises:
        InvalidInputError: One is not known or has no such value, or an MCP file cannot be read.
    """
    found = _parser().parse_args(list(words))
    servers: dict[str, McpServer] = dict(of_the_task or {})
    secrets: list[str] = []
    for name in found.mcp:
        file = base_dir / Path(name).expanduser()
        for key, server in read_mcp_file(file, secrets.append).items():
            if key in servers:
                raise InvalidInputError(f"the MCP server {key!r} is there twice")
            servers[key] = server
    for key, server in servers.items():
        if server.url is not None:
            _require_url(f"the MCP server {key!r}: its url", server.url)
    if found.base_url is not None:
        _require_url("--agent llm: --base-url", found.base_url)
    return LlmOptions(
        model=found.model,
        base_url=found.base_url,
        api_key_env=_key_variable(found.api_key_env, found.base_url),
        max_steps=found.max_steps,
        max_tokens=found.max_tokens,
        request_timeout_sec=found.request_timeout,
        tool_timeout_sec=found.tool_timeout,
        retries=found.retries,
        temperature=found.temperature,
        mcp_servers=servers,
        secrets=tuple(secrets),
    )


def _key_variable(said: str | None, base_url: str | None) -> str:
    """Return the variable with the key; one that the user named must hold one."""
    if said is None:
        return DEFAULT_KEY_VARIABLE
    if base_url is None:
        raise InvalidInputError(
            "--agent llm: --api-key-env is for --base-url; a provider's key is in its own variable"
        )
    if not os.environ.get(said):
        raise InvalidInputError(f"--agent llm: --api-key-env {said}: that variable is not set")
    return said


def _require_url(what: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, a bracket that is not closed
        good = False
    if not good:
        raise InvalidInputError(f"{what} {redact(url)!r} is not http://HOST… or https://HOST…")


def read_mcp_file(
    file: Path, on_variable: Callable[[str], None] | None = None
) -> dict[str, McpServer]:
    """Return the servers of a JSON file with ``mcpServers``; ``$NAME`` in ``env`` is replaced.

    Args:
        file: The file.
        on_variable: Called with each value that stands in place of a ``$NAME``.

    Raises:
        InvalidInputError: It cannot be read, is no JSON or no such file, or names a variable that
            is not set.
    """
    try:
        servers = _McpFile.model_validate(json.loads(file.read_text("utf-8"))).servers
    except (OSError, ValueError) as exc:
        why = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else str(exc)
        raise InvalidInputError(f"{file} is no file of MCP servers: {why}") from exc
    return {
        name: McpServer(
            server.command,
            server.args,
            {key: _expanded(value, file, on_variable) for key, value in server.env.items()},
            server.url,
            {key: _expanded(value, file, on_variable) for key, value in server.headers.items()},
        )
        for name, server in servers.items()
    }


def _expanded(text: str, file: Path, on_variable: Callable[[str], None] | None) -> str:
    if not text.startswith("$"):
        return text
    name = text[1:].removeprefix("{").removesuffix("}")
    if name not in os.environ:
        raise InvalidInputError(f"{file} names the variable {name}, which is not set")
    value = os.environ[name]
    if on_variable is not None:
        on_variable(value)
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInputError(f"--agent llm: {message}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="--agent llm --", add_help=False, allow_abbrev=False)
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url")
    parser.add_argument("--api-key-env")
    parser.add_argument("--max-steps", type=_positive_int, default=DEFAULT_STEPS)
    parser.add_argument("--max-tokens", type=_positive_int)
    parser.add_argument("--request-timeout", type=_seconds, default=DEFAULT_REQUEST_TIMEOUT_SEC)
    parser.add_argument("--tool-timeout", type=_seconds, default=DEFAULT_TOOL_TIMEOUT_SEC)
    parser.add_argument("--retries", type=_count, default=2)
    parser.add_argument("--temperature", type=_temperature)
    parser.add_argument("--mcp", action="append", default=[], metavar="FILE")
    return parser


def _count(text: str) -> int:
    return _whole(text, 0)


def _positive_int(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    wanted = f"{text!r} is not a whole number from {least} on"
    try:
        number = int(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(wanted) from exc
    if number < least:
        raise argparse.ArgumentTypeError(wanted)
    return number


def _temperature(text: str) -> float:
    try:
        return float(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from exc


def _seconds(text: str) -> float:
    wanted = f"{text!r} is not a number of seconds greater than 0"
    try:
        number = float(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(wanted) from exc
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(wanted)
    return number
