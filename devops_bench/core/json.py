"""Parsed JSON: its type, so that nothing past the parser has to say ``dict[str, Any]``."""

from __future__ import annotations

import json
from typing import Final, NoReturn, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""Anything that ``json.loads`` returns for strict JSON."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object: string keys, JSON values."""

_MOST_SHOWN: Final = 80


class DuplicateKeyError(ValueError):
    """A key stands twice in one JSON object; the message says which."""


def unique_keys(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    """Return an object of these members: an ``object_pairs_hook`` that refuses a key twice.

    Raises:
        DuplicateKeyError: One is.
    """
    found: JsonObject = {}
    for key, value in pairs:
        if key in found:
            raise DuplicateKeyError(f"{key[:_MOST_SHOWN]!r} is there twice")
        found[key] = value
    return found


def parse_written(data: bytes) -> JsonValue:
    """Parse JSON that a person wrote: strictly, since nobody means what is not unambiguous.

    Args:
        data: UTF-8, UTF-16 or UTF-32.

    Raises:
        DuplicateKeyError: A key stands twice in one object.
        ValueError: It is no JSON, ``NaN`` and ``Infinity`` included, or nested too deep.
    """
    try:
        found: JsonValue = json.loads(
            data, object_pairs_hook=unique_keys, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
