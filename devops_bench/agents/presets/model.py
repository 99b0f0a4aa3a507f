"""What a preset says, and where presets come from."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from devops_bench.agents.base import AgentStatus
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.faults import in_one_line

Scalar = str | int | float | bool

Emit = Literal[
    "message",
    "message_part",
    "reasoning",
    "tool_call",
    "tool_result",
    "usage",
    "error",
    "final",
    "outcome",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Matches(_Strict):
    """A condition on a text.

    Attributes:
        matches: A regular expression that must be found in it.
    """

    matches: str

    @field_validator("matches")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as exc:
            raise ValueError(f"no regular expression: {exc}") from exc
        return value


Condition = Matches | list[Scalar] | Scalar
"""An expression to be found, values of which one must be there, or the value itself."""


class Rule(_Strict):
    """What one kind of event means.

    A path is keys with dots between them. In ``take`` it may begin with ``=``: the rest is the
    value itself; and it may be a list: of texts the first that is there counts, of numbers the sum.

    Attributes:
        when: Conditions on the event, by path; all must hold.
        each: The path of a list in it, of which every element is looked at.
        each_when: Conditions on the element.
        emit: What it is: a record of the transcript, the ``usage``, the ``final`` text, or the
            ``outcome``. A ``message_part`` is joined with the next one. Of the outcomes of one
            event the first counts, of those of several events the last.
        take: From where the record's fields are taken: paths in the element, or in the event.
        status: What the ``outcome`` is.
        accumulate: Whether ``usage`` is added to what was said before, instead of replacing it.
    """

    when: dict[str, Condition]
    each: str | None = None
    each_when: dict[str, Condition] = Field(default_factory=dict)
    emit: Emit
    take: dict[str, str | list[str]] = Field(default_factory=dict)
    status: AgentStatus | None = None
    accumulate: bool = False


class Preset(_Strict):
    """A coding CLI.

    Attributes:
        title: Its name for people.
        documentation: Where what stands here is documented.
        command: Its program, looked up on ``PATH``.
        arguments: What makes it run headless and print JSON lines. The user's words come after.
        last_arguments: What comes after the user's words; ``{prompt}`` is replaced.
        prompt: Whether the prompt comes on standard input or as an argument.
        keys: Variables that its keys are usually in, for ``--agent-env``.
        hosts: What it talks to, for ``--allow-host``.
        environment: Variables that it gets.
        exit_codes: What an exit code means where the output does not say it.
        rules: What its events mean.
    """

    title: str
    documentation: str
    command: str
    arguments: list[str] = Field(default_factory=list)
    last_arguments: list[str] = Field(default_factory=list)
    prompt: Literal["stdin", "argument"] = "stdin"
    keys: list[str] = Field(default_factory=list)
    hosts: list[str] = Field(default_factory=list)
    environment: dict[str, str] = Field(default_factory=dict)
    exit_codes: dict[int, AgentStatus] = Field(default_factory=dict)
    rules: list[Rule]


@lru_cache(maxsize=1)
def preset_names() -> tuple[str, ...]:
    """Return the names of the presets that come with this package, sorted."""
    names = (entry.name for entry in resources.files(__package__ or "").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_preset(name: str) -> Preset:
    """Return a preset that comes with this package.

    Args:
        name: One of :func:`preset_names`.
    """
    text = resources.files(__package__ or "").joinpath(f"{name}.toml").read_text("utf-8")
    return _parsed(text, f"preset {name}")


def read_preset(file: Path) -> Preset:
    """Return a preset of the user's.

    Raises:
        InvalidInputError: The file cannot be read, is no TOML, or no preset.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInputError(f"the preset {file} cannot be read: {exc}") from exc
    return _parsed(text, str(file))


def _parsed(text: str, where: str) -> Preset:
    try:
        return Preset.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as exc:
        raise InvalidInputError(f"{where} is no TOML: {exc}") from exc
    except ValidationError as exc:
        raise InvalidInputError(f"{where} is no preset: {in_one_line(exc)}") from exc
