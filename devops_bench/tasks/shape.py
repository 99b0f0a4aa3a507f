"""Validates the shape of a task file and says in words what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.tasks import rule_ids
from devops_bench.tasks.findings import Findings, did_you_mean
from devops_bench.tasks.schema import (
    ENTRY_KEYS,
    UNUSED_KEYS,
    AccessFile,
    AccessRuleFile,
    ControlsFile,
    MutantFile,
    OracleFile,
    PartialFile,
    ScoreFile,
    SetupFile,
    TaskFile,
)
from devops_bench.tasks.variables import is_variable_name
from devops_bench.tasks.yaml import DocPath

_PARTS: Final[Mapping[tuple[str, ...], type[BaseModel]]] = {
    (): TaskFile,
    ("setup",): SetupFile,
    ("access",): AccessFile,
    ("access", "rules", "*"): AccessRuleFile,
    ("controls",): ControlsFile,
    ("controls", "oracle"): OracleFile,
    ("controls", "partial"): PartialFile,
    ("controls", "partial", "score"): ScoreFile,
    ("controls", "mutants", "*"): MutantFile,
}
"""Which model has the keys that are allowed at a path; ``*`` is any place in a list."""

_EXPECTED: Final = {
    "string_type": "text",
    "float_type": "a number",
    "float_parsing": "a number",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "bool_type": "true or false",
}

_OUT_OF_RANGE: Final = ("greater_than", "greater_than_equal", "less_than_equal", "finite_number")


def used_part(raw: JsonObject, findings: Findings) -> JsonObject:
    """Return ``raw`` without the keys of the public format that have no effect; notice them."""
    unused = [key for key in raw if key in UNUSED_KEYS]
    if unused:
        message = f"not used here: {', '.join(unused)}"
        hint = "they load and have no effect"
        findings.add((unused[0],), message, hint, Level.NOTICE, key=True, rule=rule_ids.UNUSED_KEY)
    return {key: value for key, value in raw.items() if key not in UNUSED_KEYS}


def check_shape(raw: JsonObject, findings: Findings) -> None:
    """Add everything that is wrong with the task file's own fields (not with its entries)."""
    try:
        TaskFile.model_validate(raw)
    except ValidationError as exc:
        for error in exc.errors(include_url=False):
            _add(error, findings)
    ids = [key for key in ("id", "task_id") if raw.get(key) is not None]
    if not ids:
        findings.add((), "the task has no id", "give it one: id: my-task")
    elif len(ids) > 1:
        findings.add(("task_id",), "id and task_id mean the same", "keep one of them", key=True)
    entries = [key for key in ENTRY_KEYS if raw.get(key) is not None]
    if not entries:
        message = "nothing is verified: there is no verification_spec"
        findings.add((), message, "list at least one entry under verification_spec")
    elif len(entries) > 1:
        message = f"{ENTRY_KEYS[0]} and {ENTRY_KEYS[1]} mean the same"
        findings.add((ENTRY_KEYS[1],), message, "keep one of them", key=True)
    elif raw[entries[0]] == []:
        findings.add((entries[0],), "nothing is verified: the list is empty", "add an entry")


def default_variables(raw: JsonValue, findings: Findings) -> dict[str, str]:
    """Return the task's ``variables:`` as text; what is wrong with a value is found elsewhere."""
    defaults: dict[str, str] = {}
    for name, value in raw.items() if isinstance(raw, dict) else ():
        if not is_variable_name(name):
            message = f"{name!r} cannot be the name of a variable"
            hint = "letters, digits and _, not a digit first"
            findings.add(("variables", name), message, hint, key=True, rule=rule_ids.VARIABLE_FORM)
            continue
        if isinstance(value, bool):
            defaults[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            defaults[name] = str(value)
        if "{{" in defaults.get(name, ""):
            message = "a default cannot refer to a variable, it is taken as it is"
            findings.add(
                ("variables", name), message, "write the value out", rule=rule_ids.VARIABLE_FORM
            )
    return defaults


def _add(error: ErrorDetails, findings: Findings) -> None:
    path: DocPath = tuple(error["loc"])
    value: JsonValue = error["input"]
    kind = error["type"]
    if kind == "extra_forbidden":
        place = tuple("*" if isinstance(part, int) else part for part in path[:-1])
        model = _PARTS.get(place, TaskFile)
        hint = did_you_mean(str(path[-1]), model.model_fields)
        message = f"unknown key {str(path[-1])!r}"
        findings.add(path, message, hint, key=True, rule=rule_ids.UNKNOWN_FIELD)
    elif kind == "missing":
        findings.add(path[:-1], f"{path[-1]} is missing")
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind]
        findings.add(path, f"{expected} is needed here, not {_shown(value)}")
    elif kind in _OUT_OF_RANGE:
        seconds = "a finite number of seconds, greater than 0 and at most a week"
        bound = "a number from 0 to 1" if "score" in path else seconds
        findings.add(path, f"{_shown(value)} is out of range", f"write {bound}")
    elif kind == "missing":
        findings.add(path[:-1], f"{path[-1]} is missing", f"add {path[-1]}:")
    elif kind == "too_short":
        findings.add(path, "the list is empty", "name at least one")
    elif kind == "literal_error":
        known = error.get("ctx", {}).get("expected", "")
        findings.add(path, f"{_shown(value)} is not known here", f"known: {known}")
    else:
        findings.add(path, error["msg"])


def _shown(value: JsonValue) -> str:
    """Return a value for a message, short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
