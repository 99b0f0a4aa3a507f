"""What the server refuses of an object, by the schema of its kind. Pure.

Only what every server does: fields that the kind does not have are refused when they are validated
strictly (https://kubernetes.io/docs/reference/using-api/api-concepts/#setting-the-field-validation-level),
and so are values of another JSON type. What has to be there is left to the server: the published
schemas also call fields required that it fills in.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.similar import closest
from devops_bench.k8s.stored import as_base64, stored_base64
from devops_bench.lint.schemas import Shape
from devops_bench.lint.trace import described
from devops_bench.tasks.yaml import DocPath
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.quantity import quantity_of
from devops_bench.verification.values import type_name

_BOUNDS: Final = {
    bits: range(-(2 ** (n - 1)), 2 ** (n - 1)) for bits, n in (("int32", 32), ("int64", 64))
}


@dataclass(frozen=True, slots=True)
class ObjectFault:
    """A value of an object that its kind does not allow.

    Attributes:
        path: Where in the object.
        message: What is wrong.
        hint: What would be right.
        is_field: Whether the field itself is wrong, not its value.
    """

    path: DocPath
    message: str
    hint: str
    is_field: bool = False


def object_faults(obj: JsonObject, shape: Shape) -> Iterator[ObjectFault]:
    """Yield what the server would refuse of ``obj``, in its own order.

    ``null`` is allowed everywhere, as the server takes it for a field that is not there. Texts in
    which a variable is unset are passed over.

    Args:
        obj: An object of the setup.
        shape: The schema of its kind.
    """
    return _faults(obj, shape, ())


def _faults(value: JsonValue, shape: Shape, path: DocPath) -> Iterator[ObjectFault]:
    if value is None or shape.is_anything:
        return
    if isinstance(value, str) and has_placeholder(value):
        return
    if not shape.types & _types_of(value):
        message = f"{described(shape)} is wanted, and this is {type_name(value)}"
        yield ObjectFault(path, message, _right(shape, value))
    elif shape.is_quantity and isinstance(value, str) and quantity_of(value.strip()) is None:
        yield ObjectFault(path, "a quantity is wanted, which this is not", "such as 500m or 2Gi")
    elif isinstance(value, dict):
        yield from _faults_of_fields(value, shape, path)
    elif isinstance(value, list) and shape.items is not None:
        for index, item in enumerate(value):
            yield from _faults(item, shape.items, (*path, index))
    elif isinstance(value, str) and shape.format == "byte" and stored_base64(value) is None:
        yield ObjectFault(path, "base64 is wanted, which this is not", _as_bytes(value, path))
    elif type(value) is int and value not in _BOUNDS.get(shape.format, [value]):
        yield ObjectFault(path, f"{value} is beyond what the field can hold", "write a smaller one")


def _as_bytes(value: str, path: DocPath) -> str:
    """Return what to write: the encoding that was nearly written, or that of the text."""
    joined = "".join(value.split())
    padded = joined + "=" * (-len(joined) % 4)
    if _is_text(padded):
        return f"did you mean {padded}?"
    to_string_data = ", or move it to stringData" if path[0] == "data" else ""
    return f"write {as_base64(value)} for that text{to_string_data}"


def _is_text(encoded: str) -> bool:
    """Return whether it is base64 of a text that somebody can have meant."""
    try:
        return base64.b64decode(encoded, validate=True).decode().isprintable()
    except ValueError:  # binascii.Error and UnicodeDecodeError are such
        return False


def _faults_of_fields(value: JsonObject, shape: Shape, path: DocPath) -> Iterator[ObjectFault]:
    for name, item in value.items():
        found = shape.field(name)
        if found is not None:
            yield from _faults(item, found, (*path, name))
        else:
            right = closest(name, shape.fields)
            known = ", ".join(sorted(shape.fields)[:12])
            hint = f"did you mean {right!r}?" if right is not None else f"known: {known}"
            yield ObjectFault((*path, name), f"there is no field {name!r}", hint, is_field=True)


def _types_of(value: JsonValue) -> frozenset[str]:
    """Return the JSON types by which a schema may call the value."""
    if isinstance(value, bool):
        return frozenset({"boolean"})
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return frozenset({"integer", "number"})
    if isinstance(value, float):
        return frozenset({"number"})
    if isinstance(value, str):
        return frozenset({"string"})
    return frozenset({"array"}) if isinstance(value, list) else frozenset({"object"})


def _right(shape: Shape, value: JsonValue) -> str:
    is_scalar = not isinstance(value, dict | list)
    if shape.types == {"string"} and is_scalar:
        return "write it in quotes"
    if is_scalar and isinstance(value, str):
        text = value.strip()
        is_meant = text.removeprefix("-").isdecimal() if "integer" in shape.types else False
        is_meant = is_meant or ("boolean" in shape.types and text in ("true", "false"))
        if is_meant:
            return f"write {text} without quotes; the value of a variable is always text"
    return f"write {described(shape)}"
