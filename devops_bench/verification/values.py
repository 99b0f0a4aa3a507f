"""How two JSON values compare: the one set of rules behind every op and every filter of a path.

An answer is ``True``, ``False`` or :class:`Undecided`; the last one is for values that the op
cannot compare, and never turns into a pass, whatever negation stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from devops_bench.core.json import JsonValue
from devops_bench.verification.quantity import is_marked, quantity_of
from devops_bench.verification.regex import Pattern, compile_pattern

ComparingOp: TypeAlias = Literal["eq", "ne", "gt", "gte", "lt", "lte", "contains", "matches"]
"""The ops that compare what was found with a value of the spec."""

ORDERING_OPS: Final = frozenset({"gt", "gte", "lt", "lte"})


@dataclass(frozen=True, slots=True)
class Undecided:
    """No answer.

    Attributes:
        reason: Why there is none, a clause without a capital or a period.
    """

    reason: str

    def __bool__(self) -> bool:
        raise TypeError("an undecided comparison is neither true nor false")


Answer: TypeAlias = bool | Undecided


def compare(op: ComparingOp, actual: JsonValue, expected: JsonValue | Pattern) -> Answer:
    """Answer ``actual op expected``.

    * ``eq``, ``ne``: a boolean equals only a boolean. If a side is a number, or a string that is a
      quantity with a suffix or an exponent, both are compared as quantities; a string that is none
      is simply not equal. Other strings are equal character by character, so ``"1.20"`` is not
      ``"1.2"``. Lists and maps are compared member by member; a list or map and a scalar are
      undecided.
    * ``gt``, ``gte``, ``lt``, ``lte``: both sides are quantities, else undecided.
    * ``contains``: a string contains a substring, a list an element that is ``eq``, a map a key;
      anything else is undecided.
    * ``matches``: a string that the pattern is found in; anything else is undecided.

    Args:
        op: The op.
        actual: What was found.
        expected: What the spec says; for ``matches`` a string or a compiled pattern.

    Raises:
        ValueError: ``expected`` is a string that is not a pattern, with ``matches``.
    """
    if op == "matches":
        return _matches(actual, expected)
    if isinstance(expected, Pattern):
        raise TypeError(f"a pattern is compared by matches, not by {op}")
    if op == "eq":
        return _equal(actual, expected)
    if op == "ne":
        answer = _equal(actual, expected)
        return answer if isinstance(answer, Undecided) else not answer
    if op == "contains":
        return _contains(actual, expected)
    return _ordered(op, actual, expected)


def every(answers: Iterable[Answer]) -> Answer:
    """Return false if one is false, else undecided if one is, else true."""
    undecided: Undecided | None = None
    for answer in answers:
        if isinstance(answer, Undecided):
            undecided = answer if undecided is None else undecided
        elif not answer:
            return False
    return True if undecided is None else undecided


def some(answers: Iterable[Answer]) -> Answer:
    """Return true if one is true, else undecided if one is, else false."""
    undecided: Undecided | None = None
    for answer in answers:
        if isinstance(answer, Undecided):
            undecided = answer if undecided is None else undecided
        elif answer:
            return True
    return False if undecided is None else undecided


def type_name(value: JsonValue) -> str:
    """Return what a reader calls the type of ``value``, such as ``a string``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "a map"


_ORDER: Final[dict[str, Callable[[Decimal, Decimal], bool]]] = {
    "gt": lambda left, right: left > right,
    "gte": lambda left, right: left >= right,
    "lt": lambda left, right: left < right,
    "lte": lambda left, right: left <= right,
}


def _ordered(op: str, actual: JsonValue, expected: JsonValue) -> Answer:
    left, right = quantity_of(actual), quantity_of(expected)
    if left is None:
        return Undecided(f"{op} needs a quantity, and this is {type_name(actual)} that is none")
    if right is None:
        return Undecided(f"{op} needs a quantity to compare with, not {type_name(expected)}")
    return _ORDER[op](left, right)


def _equal(left: JsonValue, right: JsonValue) -> Answer:
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return False
        return every(_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        return every(_equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return Undecided(f"{type_name(left)} does not compare with {type_name(right)}")
    return _scalars_equal(left, right)


def _scalars_equal(left: JsonValue, right: JsonValue) -> bool:
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        if left == right:
            return True
        if not is_marked(left) and not is_marked(right):
            return False
    first, second = quantity_of(left), quantity_of(right)
    return first is not None and second is not None and first == second


def _contains(actual: JsonValue, expected: JsonValue) -> Answer:
    if isinstance(actual, list):
        return some(_equal(element, expected) for element in actual)
    if isinstance(actual, str | dict) and isinstance(expected, str):
        return expected in actual
    return Undecided(f"{type_name(actual)} cannot contain {type_name(expected)}")


def _matches(actual: JsonValue, expected: JsonValue | Pattern) -> Answer:
    pattern = compile_pattern(expected) if isinstance(expected, str) else expected
    if not isinstance(pattern, Pattern):
        raise TypeError("matches takes a pattern")
    if not isinstance(actual, str):
        return Undecided(f"matches needs a string, and this is {type_name(actual)}")
    return pattern.search(actual)
