"""Paths into an object: which forms there are, and what a path finds.

A path is read with jsonpath-ng's extended grammar and kept as a small tree of our own, over the
forms that have one plain meaning: names, quoted names, an index, a slice, ``[*]``, ``..`` and
filters. Everything else that the grammar knows is refused when the spec is loaded.

Values in a filter compare by the rules of the ops (:mod:`devops_bench.verification.values`): an
element without the field matches none of them, ``!=`` included, and a comparison that has no answer
makes what the path found undecided. ``null`` counts as no value, as Kubernetes treats it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from typing import Final, TypeAlias

from devops_bench.core.json import JsonValue
from devops_bench.verification.regex import Pattern
from devops_bench.verification.values import (
    Answer,
    ComparingOp,
    Undecided,
    compare,
    every,
    some,
)


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final = _Missing.MISSING
"""Stands for an element in which the rest of the path has no value."""

Element: TypeAlias = "JsonValue | _Missing"


@dataclass(frozen=True, slots=True)
class Name:
    """A member of a map."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """An element of a list, counted from its end when negative."""

    index: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Some elements of a list, by Python's rules; ``step`` is never 0."""

    start: int | None
    stop: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Every element of a list, every value of a map."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The elements of a list, or values of a map, that the condition holds for."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Descend:
    """What ``step`` finds in the value itself and in everything below it."""

    step: Name | Index | Slice | Wildcard | Filter


Step: TypeAlias = Name | Index | Slice | Wildcard | Filter | Descend


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether the path has a value in the element; ``negated`` for ``!@.x``."""

    steps: tuple[Step, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether the path's one value in the element compares with a literal."""

    steps: tuple[Step, ...]
    op: ComparingOp
    literal: str | int | float | bool | Pattern


@dataclass(frozen=True, slots=True)
class AllOf:
    """``&&``."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """``||``."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Exists | Comparison | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Found:
    """What a path found in one object.

    Attributes:
        elements: One per element of the path's last wildcard, slice, filter or ``..``; without
            one, the object itself. Each is its value, or :data:`MISSING`. An object, or an element
            of an outer wildcard, that contributes nothing counts as one that is missing; so there
            is always at least one.
        undecided: Why a filter could not be answered for some element, ``None`` if all could.
    """

    elements: tuple[Element, ...]
    undecided: str | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path.

    Attributes:
        text: As it was written.
        steps: Its steps from the object on; empty for ``$``.
    """

    text: str
    steps: tuple[Step, ...]

    @property
    def is_plural(self) -> bool:
        """Whether it may find more than one element in an object."""
        return any(not isinstance(step, Name | Index) for step in self.steps)

    @property
    def may_read_status(self) -> bool:
        """Whether what it finds may stand in the object's ``status``."""
        first = self.steps[0] if self.steps else Wildcard()
        return not isinstance(first, Name) or first.name == "status"

    def may_read(self, *names: str) -> bool:
        """Return whether what it finds may be, hold or stand below the field of these names."""
        own = self.leading_names[: len(names)]
        return own == names[: len(own)]

    @property
    def leading_names(self) -> tuple[str, ...]:
        """The names that it begins with: everything it reads stands below them."""
        names = takewhile(lambda step: isinstance(step, Name), self.steps)
        return tuple(step.name for step in names if isinstance(step, Name))

    def find(self, document: JsonValue) -> Found:
        """Return what the path finds in ``document``; never raises."""
        doubts: list[str] = []
        elements = tuple(_elements(document, self.steps, doubts))
        return Found(elements, doubts[0] if doubts else None)


@lru_cache(maxsize=8192)
def parse_path(text: str) -> Path:
    """Parse a path.

    Args:
        text: At most 2,000 characters, e.g. ``spec.containers[?(@.name=='web')].image``.

    Raises:
        ValueError: It is none, or a form that is not allowed; the message shows the right form.
    """
    from devops_bench.verification.path_grammar import parse_steps  # late: jsonpath-ng

    return Path(text, parse_steps(text))


def _elements(value: JsonValue, steps: tuple[Step, ...], doubts: list[str]) -> Iterator[Element]:
    current = value
    for position, step in enumerate(steps):
        if isinstance(step, Name | Index):
            following = _one(current, step)
            if following is MISSING:
                yield MISSING
                return
            current = following
            continue
        children = list(_many(current, step, doubts))
        if not children:
            yield MISSING
        for child in children:
            yield from _elements(child, steps[position + 1 :], doubts)
        return
    yield MISSING if current is None else current


def _one(value: JsonValue, step: Name | Index) -> Element:
    if isinstance(step, Name):
        return value.get(step.name, MISSING) if isinstance(value, dict) else MISSING
    if isinstance(value, list) and -len(value) <= step.index < len(value):
        return value[step.index]
    return MISSING


def _many(value: JsonValue, step: Step, doubts: list[str]) -> Iterator[JsonValue]:
    if isinstance(step, Name | Index):
        one = _one(value, step)
        if one is not MISSING:
            yield one
    elif isinstance(step, Slice):
        if isinstance(value, list):
            yield from value[step.start : step.stop : step.step]
    elif isinstance(step, Descend):
        for node in _self_and_below(value):
            yield from _many(node, step.step, doubts)
    elif isinstance(step, Filter):
        for child in _children(value):
            answer = _holds(child, step.condition)
            if isinstance(answer, Undecided):
                doubts.append(answer.reason)
            elif answer:
                yield child
    else:
        yield from _children(value)


def _children(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _self_and_below(value: JsonValue) -> Iterator[JsonValue]:
    pending = [value]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(_children(node)))


def _holds(value: JsonValue, condition: Condition) -> Answer:
    if isinstance(condition, AllOf):
        return every([_holds(value, part) for part in condition.conditions])
    if isinstance(condition, AnyOf):
        return some([_holds(value, part) for part in condition.conditions])
    doubts: list[str] = []
    found = [e for e in _elements(value, condition.steps, doubts) if e is not MISSING]
    if doubts:
        return Undecided(doubts[0])
    if isinstance(condition, Exists):
        return bool(found) != condition.negated
    if len(found) > 1:
        return Undecided(f"a filter compares one value, and met {len(found)}")
    return compare(condition.op, found[0], condition.literal) if found else False
