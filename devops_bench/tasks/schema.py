"""The shape of a task file, as models: what the loader validates and ``schema`` prints."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from devops_bench.core.json import JsonObject
from devops_bench.tasks.variables import VARIABLE_NAME
from devops_bench.verification.spec import json_schema as entries_json_schema

UNUSED_KEYS: Final = (
    "infrastructure",
    "expected_output",
    "validated",
    "task_version",
    "summary",
    "category",
    "tags",
    "check_groups",
    "chaos_spec",
    "documentation",
    "retrieval_context",
    "recoverable_safety",
)
"""Keys of the public format that load, whatever they hold, and have no effect."""

ENTRY_KEYS: Final = ("verification_spec", "verification_entries")
"""Where the entries stand: one of them."""

MAX_DURATION_SEC: Final = 7 * 24 * 3600
"""A week: more is a slip of the pen, and far below what an operating system can wait."""

SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""An id names a folder: no separator, not hidden, not ``..``, not an option."""

CONTROL_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,59}")
"""The name of a mutant: names a folder, and is typed on a command line."""

IMPLIED_CONTROLS: Final = ("oracle", "noop", "partial")
"""The controls that have their name from their kind."""

BUILTIN_PREFIX: Final = "builtin-"
"""What the names of generic mutants begin with."""


def _id(value: JsonValue) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError("task_id", "an id is text or an integer")
    if not SAFE_ID.fullmatch(str(value)):
        message = (
            "an id names a folder: 1 to 100 letters, digits, '.', '_' and '-', the first of them "
            "a letter or a digit"
        )
        raise PydanticCustomError("task_id", message)
    return value


def _control_name(value: str) -> str:
    if not CONTROL_NAME.fullmatch(value):
        message = "a control's name is 1 to 60 lower-case letters, digits and '-', a letter first"
        raise PydanticCustomError("control_name", message)
    if value in IMPLIED_CONTROLS or value.startswith(BUILTIN_PREFIX):
        raise PydanticCustomError("control_name", "that name belongs to another control")
    return value


def _variable(value: JsonValue) -> JsonValue:
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("variable", "a variable's value is text, a number or a boolean")
    return value


def _no_boolean(value: JsonValue) -> JsonValue:
    if isinstance(value, bool):
        raise PydanticCustomError("float_type", "not a number")
    return value


Id = Annotated[
    JsonValue,
    AfterValidator(_id),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": f"^{SAFE_ID.pattern}$"}, {"type": "integer"}]}
    ),
]
VariableValue = Annotated[
    JsonValue,
    AfterValidator(_variable),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Seconds = Annotated[
    float,
    Field(gt=0, le=MAX_DURATION_SEC, allow_inf_nan=False, strict=False),
    BeforeValidator(_no_boolean),
]
"""A number; text is read as one, since what a variable gives is text."""

Share = Annotated[
    float, Field(ge=0, le=1, allow_inf_nan=False, strict=False), BeforeValidator(_no_boolean)
]
"""A number from 0 to 1; text is read as one, since what a variable gives is text."""

ControlName = Annotated[
    str,
    AfterValidator(_control_name),
    WithJsonSchema({"type": "string", "pattern": f"^{CONTROL_NAME.pattern}$"}),
]


Capability = Literal["containers"]
"""``containers``: pods really run, so that one can execute in them and ask them over HTTP."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ScriptFile(_Part):
    """A shell script: a file or inline."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["script"]}, {"required": ["run"]}]}
    )

    script: str | None = Field(None, description="A file below the spec's folder.")
    run: str | None = Field(None, description="A shell script, inline.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.script is None) == (self.run is None):
            raise PydanticCustomError("oracle", "give exactly one of script and run")
        if self.run is not None and not self.run.strip():
            raise PydanticCustomError("oracle", "the script under run is blank")
        return self


class OracleFile(ScriptFile):
    """The right solution."""


class ScoreFile(_Part):
    """Between which outcomes a control must end, bounds included."""

    min: Share = Field(description="The least outcome, 0 to 1.")
    max: Share = Field(description="The greatest outcome, min to 1.")

    @model_validator(mode="after")
    def _ordered(self) -> ScoreFile:
        if self.min > self.max:
            raise PydanticCustomError("score", "min is greater than max")
        return self


class PartialFile(ScriptFile):
    """Some of the work: neither a solution nor nothing."""

    score: ScoreFile


class MutantFile(ScriptFile):
    """An agent that does harm, and the entries that must fail because of it."""

    name: ControlName = Field(description="Unique in the task; names a folder of results.")
    caught_by: list[str] = Field(min_length=1, description="The names of these entries.")


class ControlsFile(_Part):
    """Agents whose result is known; ``qualify`` runs them. Doing nothing is always one of them."""

    oracle: OracleFile | None = None
    partial: PartialFile | None = None
    mutants: list[MutantFile] = Field(default_factory=list)


class SetupFile(_Part):
    """What the task needs before the agent's turn."""

    manifests: list[str] = Field(
        default_factory=list, description="Files below the spec's folder, as kubectl reads them."
    )
    objects: list[JsonObject] = Field(
        default_factory=list, description="Kubernetes objects, inline."
    )
    ready: list[JsonObject] | None = Field(
        None, description="Checks that must pass first; default: every workload rolled out."
    )


class McpServerFile(_Part):
    """A server of the Model Context Protocol for agents that take them."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["command"]}, {"required": ["url"]}]}
    )

    command: str | None = Field(None, description="A program; it runs as the agent does.")
    args: list[str] = Field(default_factory=list, description="Its arguments.")
    env: dict[str, str] = Field(default_factory=dict, description="Variables that it gets.")
    url: str | None = Field(None, description="The address of a server over HTTP.")

    @model_validator(mode="after")
    def _exactly_one(self) -> McpServerFile:
        if (self.command is None) == (self.url is None):
            raise PydanticCustomError("mcp_server", "give exactly one of command and url")
        return self


def _never_null(schema: JsonObject) -> None:
    """Let a field of ``access`` be absent, but not null, which the loader refuses there."""
    alternatives = schema.pop("anyOf")
    if not isinstance(alternatives, list):
        raise TypeError("the field is not optional")
    for alternative in alternatives:
        if isinstance(alternative, dict) and alternative != {"type": "null"}:
            schema.update(alternative)
    del schema["default"]


class AccessRuleFile(_Part):
    """One RBAC rule, and where it holds."""

    apiGroups: list[str] | None = Field(  # noqa: N815 - Kubernetes' name
        None, description="API groups; default: the core group.", json_schema_extra=_never_null
    )
    resources: list[str] = Field(description="Plural names, or name/subresource.")
    verbs: list[str]
    resourceNames: list[str] | None = Field(  # noqa: N815 - Kubernetes' name
        None, description="Only these objects.", json_schema_extra=_never_null
    )
    namespaces: list[str] | None = Field(
        None,
        description="Where it holds; default: the namespaces of the access.",
        json_schema_extra=_never_null,
    )
    cluster: bool = Field(False, description="It holds in the whole cluster.")


class AccessFile(_Part):
    """What the agent may do on the cluster, and nothing else."""

    preset: str | None = Field(
        None,
        description="Rules of ours: view, edit or admin; none of them escalates.",
        json_schema_extra=_never_null,
    )
    namespaces: list[str] | None = Field(
        None,
        description="Where it holds; default: every namespace of the setup.",
        json_schema_extra=_never_null,
    )
    rules: list[AccessRuleFile] = Field(default_factory=list, description="More RBAC rules.")


class TaskFile(_Part):
    """A task of devops-bench."""

    id: Id | None = Field(None, description="Names the task and its folder of results.")
    task_id: Id | None = Field(None, description="The same as id.")
    name: str | None = Field(None, description="A short name for people.")
    title: str | None = Field(None, description="One line for people.")
    description: str | None = Field(None, description="Some lines for people.")
    prompt: str | None = Field(None, description="What the agent is told.")
    timeout_sec: Seconds | None = Field(None, description="Seconds of the agent's turn (1800).")
    verification_budget_sec: Seconds | None = Field(
        None, description="Seconds of everything after the turn (600)."
    )
    variables: dict[str, VariableValue] = Field(
        default_factory=dict,
        description="Defaults of variables; {{NAME}} refers to one.",
        json_schema_extra={"propertyNames": {"pattern": VARIABLE_NAME.pattern}},
    )
    requires: list[Capability] = Field(
        default_factory=list,
        description="What the cluster must offer; one without it refuses the task.",
    )
    setup: SetupFile | None = None
    access: AccessFile | None = Field(
        None,
        description="What the agent may do; default: all that the harness may.",
        json_schema_extra=_never_null,
    )
    controls: ControlsFile | None = None
    mcp_servers: dict[str, McpServerFile] = Field(
        default_factory=dict, description="MCP servers, by name, for agents that take them."
    )
    verification_spec: JsonValue = Field(None, description="What is judged.")
    verification_entries: JsonValue = Field(None, description="The same as verification_spec.")


def task_json_schema() -> JsonObject:
    """Return the JSON Schema (2020-12) of a task file, discriminated by ``type`` in its checks."""
    schema: JsonObject = TaskFile.model_json_schema()
    entries = entries_json_schema()
    definitions, properties = _part(schema, "$defs"), _part(schema, "properties")
    definitions.update(_part(entries, "$defs"))
    definitions["VerificationEntries"] = {
        key: value for key, value in entries.items() if not key.startswith("$")
    }
    for key in ENTRY_KEYS:
        properties[key] = {"$ref": "#/$defs/VerificationEntries"}
    for key in UNUSED_KEYS:
        properties[key] = {"description": "Loads, and has no effect."}
    ready = _part(definitions, "SetupFile", "properties", "ready")
    ready["anyOf"] = [{"type": "array", "items": {"$ref": "#/$defs/Check"}}, {"type": "null"}]
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "devops-bench task"
    schema["allOf"] = [
        {"oneOf": [{"required": ["id"]}, {"required": ["task_id"]}]},
        {"oneOf": [{"required": [key]} for key in ENTRY_KEYS]},
    ]
    return {key: _with_texts(one) for key, one in schema.items()}


_NUMBER_AS_TEXT: Final = r"\{\{|^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"


def _with_texts(node: JsonValue) -> JsonValue:
    """Let a text stand for each number, as the loader does: it may refer to a variable."""
    if isinstance(node, list):
        return [_with_texts(one) for one in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") not in ("number", "integer"):
        return {key: _with_texts(one) for key, one in node.items()}
    told: JsonObject = {}
    for key in ("title", "description", "default"):
        if key in node:
            told[key] = node[key]
    number = {key: one for key, one in node.items() if key not in told}
    return {**told, "anyOf": [number, {"type": "string", "pattern": _NUMBER_AS_TEXT}]}


def _part(schema: JsonObject, *keys: str) -> JsonObject:
    """Return an object inside of a schema, which is there."""
    for key in keys:
        inner = schema[key]
        if not isinstance(inner, dict):
            raise TypeError(f"{key} of the schema is not an object")
        schema = inner
    return schema
