"""Which comparisons can never hold, whatever an object has there: by the type in its schema."""

from __future__ import annotations

from devops_bench.core.json import JsonValue
from devops_bench.k8s.stored import stored_base64
from devops_bench.lint.schemas import Shape
from devops_bench.lint.trace import described
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.quantity import quantity_of
from devops_bench.verification.values import ORDERING_OPS, type_name

_NUMBERS = frozenset({"integer", "number"})


def never_compares(op: str, shape: Shape, expected: JsonValue) -> str | None:
    """Return why ``op`` with ``expected`` has the same answer for every value of ``shape``.

    The rules are those of :func:`devops_bench.verification.values.compare`.

    Args:
        op: The op, ``exists`` and ``absent`` included: they never have a reason.
        shape: Of the values.
        expected: What the spec compares with.

    Returns:
        A clause for a message, ``None`` when some value could give either answer.
    """
    types = shape.types
    if not types or shape.raw.get("x-kubernetes-preserve-unknown-fields") is True:
        return None
    what = described(shape)
    if op in ORDERING_OPS:
        is_time = types == {"string"} and shape.format == "date-time"
        ordered = types & (_NUMBERS | {"string"}) and not is_time
        return None if ordered else f"{op} needs a quantity, and this is {what}"
    if op == "matches":
        return None if "string" in types else f"matches needs a string, and this is {what}"
    if op == "contains":
        return _never_contains(shape, expected)
    return _never_equal(shape, expected) if op in ("eq", "ne") else None


def _never_contains(shape: Shape, expected: JsonValue) -> str | None:
    if shape.items is not None:
        reason = _never_equal(shape.items, expected) if shape.items.types else None
        return f"each element of the list: {reason}" if reason is not None else None
    if "array" in shape.types:
        return None
    if shape.types & {"string", "object"} and isinstance(expected, str):
        return None
    return f"{described(shape)} cannot contain {type_name(expected)}"


def _never_equal(shape: Shape, expected: JsonValue) -> str | None:
    types, what = shape.types, described(shape)
    if isinstance(expected, str) and has_placeholder(expected):
        expected_types = {"string", "integer", "number"}  # the value may look like a number
    else:
        expected_types = _types_equal_to(expected)
    if types == {"integer"} and _is_broken(expected):
        return f"this is {what}, which is never equal to {expected}"
    if not types & expected_types:
        return f"this is {what}, which is never equal to {type_name(expected)}"
    is_open = not isinstance(expected, str) or has_placeholder(expected)
    if shape.format == "byte" and not is_open and stored_base64(str(expected)) != expected:
        return "this is base64, as the server writes it, and the value is not"
    return None


def _is_broken(value: JsonValue) -> bool:
    number = quantity_of(value)
    return number is not None and number != number.to_integral_value()


def _types_equal_to(value: JsonValue) -> set[str]:
    """Return the types of which a value could be equal to ``value``."""
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int | float):
        return {"integer", "number", "string"}
    if isinstance(value, str):
        return {"string", "integer", "number"} if quantity_of(value) is not None else {"string"}
    return {"array"} if isinstance(value, list) else {"object"}
