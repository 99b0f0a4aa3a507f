"""The type of parsed JSON, so that nothing past the parser has to say ``dict[str, Any]``."""

from __future__ import annotations

from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""Anything that ``json.loads`` returns for strict JSON."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object: string keys, JSON values."""
