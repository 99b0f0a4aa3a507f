"""The JSON schema of entries, put together from the models of every registered check type."""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel

from devops_bench.core.json import JsonObject
from devops_bench.verification.base import VERIFIERS
from devops_bench.verification.tree import CHECK_MARKER

_CHECK_REF = "#/$defs/Check"


def entries_schema(entry: type[BaseModel]) -> JsonObject:
    """Return the schema of a list of ``entry``.

    Any check may stand where the models say so; which one it is, its ``type`` says.
    """
    definitions: dict[str, Any] = {}
    definitions["VerificationEntry"] = _hoisted(entry, definitions)
    mapping: dict[str, str] = {}
    for name in VERIFIERS.names():
        key = f"check.{name}"
        definitions[key] = _check_schema(name, _hoisted(VERIFIERS.get(name), definitions))
        mapping[name] = f"#/$defs/{key}"
    definitions["Check"] = {
        "oneOf": [{"$ref": ref} for ref in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"$ref": "#/$defs/VerificationEntry"},
        "$defs": definitions,
    }
    return cast(JsonObject, _with_check_refs(schema))


def _hoisted(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    schema = model.model_json_schema()
    definitions.update(schema.pop("$defs", {}))
    return schema


def _check_schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    properties = {**schema.get("properties", {}), "type": {"const": name, "type": "string"}}
    required = [field for field in schema.get("required", []) if field != "type"]
    return {**schema, "properties": properties, "required": ["type", *required]}


def _with_check_refs(node: Any) -> Any:
    if isinstance(node, dict):
        if node.get("$comment") == CHECK_MARKER:
            return {"$ref": _CHECK_REF}
        return {key: _with_check_refs(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_check_refs(value) for value in node]
    return node
