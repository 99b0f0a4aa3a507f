"""Which states a field can be in, as far as they tell a check's outcomes apart. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

from devops_bench.core.json import JsonValue
from devops_bench.k8s.resources import ApiResource
from devops_bench.lint.schemas import Shape
from devops_bench.lint.server import least_value
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.combinators import Vote
from devops_bench.verification.paths import MISSING, Element
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.quantity import is_marked, quantity_of
from devops_bench.verification.values import ORDERING_OPS, ComparingOp, Undecided, compare

_PRESENCE: Final = frozenset({"exists", "absent"})
_EQUALITY: Final = frozenset({"eq", "ne"}) | _PRESENCE
_NUMERIC: Final = ORDERING_OPS | _EQUALITY
_BITS: Final = {"int32": 31, "int64": 63}
_FRESH: Final = "a value that no check names"


def states(
    asked: Sequence[ResourceProperty],
    shape: Shape | None,
    resource: ApiResource,
    name: str,
    *,
    always_there: bool,
) -> tuple[Element, ...] | None:
    """Return values of a field such that any other value answers all of ``asked`` as one of them.

    Args:
        asked: Every check that reads the field.
        shape: The field's, ``None`` when it is not known.
        resource: The kind.
        name: The field's.
        always_there: Whether every object has a value there.

    Returns:
        The states, the field's absence among them where there may be none; ``None`` when they
        cannot be told.
    """
    values = _values(asked, shape, resource, name)
    if values is None:
        return None
    return tuple(values) if always_there else (MISSING, *values)


def _values(
    asked: Sequence[ResourceProperty], shape: Shape | None, resource: ApiResource, name: str
) -> list[JsonValue] | None:
    ops = {str(node.op) for node in asked}
    expected = [node.value for node in asked if node.value is not None]
    if any(isinstance(one, str) and has_placeholder(one) for one in expected):
        return None
    if ops <= _PRESENCE:
        return [_FRESH]
    if shape is None:
        return None
    if shape.types == {"boolean"} and ops <= _EQUALITY:
        return [False, True]
    if shape.types == {"integer"} and ops <= _NUMERIC:
        return _whole_numbers(expected, *_bounds(shape, resource, name))
    named = shape.raw.get("enum")
    if shape.types == {"string"} and ops <= _EQUALITY and all(map(_is_plain, expected)):
        if isinstance(named, list):
            return [one for one in named if one is not None]
        return [_FRESH, *expected]
    return None


def _is_plain(value: JsonValue) -> bool:
    """Return whether only one text is equal to ``value``: no quantity, which has many forms."""
    return isinstance(value, str) and not is_marked(value)


def _bounds(shape: Shape, resource: ApiResource, name: str) -> tuple[int, int]:
    bits = _BITS.get(shape.format, 63)
    low, high = -(2**bits), 2**bits - 1
    least, minimum, maximum = (
        least_value(resource, name),
        shape.raw.get("minimum"),
        shape.raw.get("maximum"),
    )
    lows = [one for one in (low, least, minimum) if isinstance(one, int)]
    highs = [one for one in (high, maximum) if isinstance(one, int)]
    return max(lows), min(highs)


def _whole_numbers(expected: Iterable[JsonValue], low: int, high: int) -> list[JsonValue]:
    """Return the bounds and every whole number beside one that is compared with."""
    found = [low, high]
    for one in expected:
        number = quantity_of(one)
        if number is not None and low - 1 <= number <= high + 1:
            found += [int(number) - 1, int(number), int(number) + 1]
    return list(dict.fromkeys(one for one in found if low <= one <= high))


def vote(node: ResourceProperty, state: Element) -> Vote:
    """Return what a check of one element comes to in a state."""
    answer: bool
    if state is MISSING:
        answer = node.op == "absent"
    elif node.op in _PRESENCE:
        answer = node.op == "exists"
    else:
        compared = compare(cast(ComparingOp, node.op), state, node.value)
        if isinstance(compared, Undecided):
            return "undecided"
        answer = compared
    return "pass" if answer != (node.across_matches == "none") else "fail"
