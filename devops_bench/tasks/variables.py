"""``{{NAME}}`` in the string values of a spec.

Values are replaced after the YAML was parsed and before it is validated: never in text, in
comments or in keys, and never twice, so that what a variable holds is taken as it is. ``{{{{``
stands for a literal ``{{``. A replaced value stays a string, also when it looks like a number: a
field that needs a number reads it from the text, and ``value: "{{N}}"`` compares with text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from devops_bench.core.json import JsonValue
from devops_bench.tasks.yaml import DocPath

BUILT_IN_VARIABLES: Final = frozenset({"CLUSTER_NAME", "NAMESPACE", "RUN_ID"})
"""Names that the run gives a value; a spec's own default and ``--var`` go before it."""

VARIABLE_NAME: Final = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
"""Letters, digits and ``_``, not a digit first."""

_TOKEN: Final = re.compile(r"\{\{\{\{|\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}|\{\{")
_MALFORMED: Final = re.compile(r"\{\{([^{}\n]{0,60})\}\}")


@dataclass(frozen=True, slots=True)
class VariableFault:
    """A reference that cannot be replaced.

    Attributes:
        path: The value it stands in.
        message: What is wrong.
        hint: What would be right.
    """

    path: DocPath
    message: str
    hint: str


@dataclass(slots=True)
class Replacement:
    """What came of replacing the variables of a document.

    Attributes:
        value: The document, replaced.
        faults: Malformed references, and unset ones unless they are allowed.
        open_paths: Values in which an unset variable was allowed and still stands.
        opaque_paths: Those of them that are nothing but a reference, so that nothing can be said
            about them yet.
        used: Every name that was referred to.
    """

    value: JsonValue = None
    faults: list[VariableFault] = field(default_factory=list)
    open_paths: set[DocPath] = field(default_factory=set)
    opaque_paths: set[DocPath] = field(default_factory=set)
    used: set[str] = field(default_factory=set)


def is_variable_name(name: str) -> bool:
    """Return whether ``name`` may stand in ``{{…}}``."""
    return VARIABLE_NAME.fullmatch(name) is not None


def replace_variables(
    value: JsonValue,
    variables: Mapping[str, str],
    *,
    allow_unset: bool,
    path: DocPath = (),
) -> Replacement:
    """Replace the references in every string value below ``value``.

    Args:
        value: A parsed document; it is not changed.
        variables: Values by name.
        allow_unset: Let a reference to a name without a value stand instead of refusing it.
        path: The path of ``value``, put before the paths of the faults.
    """
    result = Replacement()
    result.value = _walk(value, path, variables, allow_unset, result)
    return result


def _walk(
    value: JsonValue,
    path: DocPath,
    variables: Mapping[str, str],
    allow_unset: bool,
    result: Replacement,
) -> JsonValue:
    if isinstance(value, str):
        if "{{" not in value:
            return value
        return _replace(value, path, variables, allow_unset, result)
    if isinstance(value, dict):
        return {
            key: _walk(item, (*path, key), variables, allow_unset, result)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            _walk(item, (*path, index), variables, allow_unset, result)
            for index, item in enumerate(value)
        ]
    return value


def _replace(
    text: str,
    path: DocPath,
    variables: Mapping[str, str],
    allow_unset: bool,
    result: Replacement,
) -> str:
    def one(match: re.Match[str]) -> str:
        if match[0] == "{{{{":
            return "{{"
        name = match[1]
        if name is None:
            result.faults.append(_malformed(text, match.start(), path))
            return match[0]
        result.used.add(name)
        if name in variables:
            return variables[name]
        if allow_unset:
            result.open_paths.add(path)
            if match[0] == text:
                result.opaque_paths.add(path)
            return match[0]
        hint = f"set it with --var {name}=VALUE, or give it a default under variables:"
        result.faults.append(VariableFault(path, f"the variable {name} is not set", hint))
        return match[0]

    return _TOKEN.sub(one, text)


def _malformed(text: str, start: int, path: DocPath) -> VariableFault:
    closed = _MALFORMED.match(text, start)
    if closed is None:
        message = "'{{' is not followed by NAME}}"
    else:
        message = f"{closed[0]!r} is not a variable"
    trimmed = closed[1].strip() if closed is not None else ""
    right = trimmed if is_variable_name(trimmed) else re.sub(r"\W", "_", trimmed).strip("_")
    example = f"{{{{{right}}}}}" if is_variable_name(right) else "{{NAME}}"
    hint = f"write {example} (letters, digits and _, no spaces), or {{{{{{{{ for a literal {{{{"
    return VariableFault(path, message, hint)
