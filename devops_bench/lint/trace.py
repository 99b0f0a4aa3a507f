"""Follows a path through a schema: where it ends, and where it leaves what Kubernetes knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from devops_bench.core.similar import closest
from devops_bench.lint.schemas import Shape
from devops_bench.verification.paths import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Descend,
    Exists,
    Filter,
    Index,
    Name,
    Slice,
    Step,
    Wildcard,
)


@dataclass(frozen=True, slots=True)
class PathFault:
    """A step that leads nowhere in any object of the kind.

    Attributes:
        message: What is wrong.
        hint: What would be right.
    """

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison within a filter, and the shape of what it reads."""

    shape: Shape
    comparison: Comparison


@dataclass(slots=True)
class Trace:
    """What a path meets.

    Attributes:
        end: The shape of what it finds; ``None`` when nothing is known about it.
        faults: Steps that lead nowhere, at most one in the path itself and one per filter.
        compared: The comparisons of its filters.
        always_there: Whether the schema wants a value there of every object of the kind.
    """

    end: Shape | None = None
    faults: list[PathFault] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    always_there: bool = False


def trace(shape: Shape, steps: tuple[Step, ...]) -> Trace:
    """Return what ``steps`` meet, starting at an object of ``shape``."""
    result = Trace()
    _follow(shape, steps, result)
    result.compared += _of_every_value(steps, shape)
    names = tuple(step.name for step in steps if isinstance(step, Name))
    if len(names) == len(steps) and not result.faults:
        result.always_there = _all_required(shape, names)
    return result


def _of_every_value(steps: tuple[Step, ...], shape: Shape) -> Iterator[Compared]:
    """Return what ``$..[?(@ =~ 'x')]`` compares: ``metadata``, a map, among the rest.

    That one undecided answer decides the check. An element that is only equal or not to the
    literal has an answer, whatever it is.
    """
    first = steps[0] if steps else None
    if not (isinstance(first, Descend) and isinstance(first.step, Filter)):
        return
    a_map = Shape({"type": "object"}, shape.definitions)
    for part in _atoms(first.step.condition):
        if isinstance(part, Comparison) and not part.steps and part.op not in ("eq", "ne"):
            yield Compared(a_map, part)


def _all_required(shape: Shape, names: tuple[str, ...]) -> bool:
    current: Shape | None = shape
    for name in names:
        if current is None or not current.is_required(name):
            return False
        current = current.field(name)
    return True


def _follow(shape: Shape, steps: tuple[Step, ...], result: Trace) -> None:
    current = shape
    shown = ""
    for number, step in enumerate(steps):
        if current.is_anything or isinstance(step, Descend):
            return
        if isinstance(step, Wildcard) and current.fields:
            result.faults += _of_every_field(current, steps[number + 1 :])
            return
        following = _next(current, step)
        if isinstance(following, PathFault):
            where = f" (below {shown})" if shown else ""
            result.faults.append(PathFault(f"{following.message}{where}", following.hint))
            return
        if isinstance(step, Filter):
            _filtered(following, step.condition, result)
        shown += _shown(step, shown)
        current = following
    result.end = current


def _of_every_field(shape: Shape, steps: tuple[Step, ...]) -> list[PathFault]:
    """Return what is wrong with ``steps`` below ``*`` when none of the fields has them."""
    if any(isinstance(step, Wildcard | Filter) for step in steps):
        return []  # each could have as many fields again
    faults: list[PathFault] = []
    for name in shape.fields:
        inner = Trace()
        _follow(shape.field(name) or Shape({}, shape.definitions), steps, inner)
        if not inner.faults:
            return []
        faults += inner.faults
    message = f"none of its fields has what follows *: {faults[0].message}"
    return [PathFault(message, "name the field")]


def _filtered(shape: Shape, condition: Condition, result: Trace) -> None:
    for part in _atoms(condition):
        inner = Trace()
        _follow(shape, part.steps, inner)
        result.faults += inner.faults
        result.compared += inner.compared
        if isinstance(part, Comparison) and inner.end is not None:
            result.compared.append(Compared(inner.end, part))


def _atoms(condition: Condition) -> Iterator[Exists | Comparison]:
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.conditions:
            yield from _atoms(part)
    else:
        yield condition


def _next(shape: Shape, step: Step) -> Shape | PathFault:
    if isinstance(step, Name):
        return _named(shape, step.name)
    if isinstance(step, Index | Slice):
        found = shape.items
        what = "an index" if isinstance(step, Index) else "a slice"
    else:
        found = shape.items or shape.values
        if found is None and shape.fields:
            return _value_of_a_field(shape, step)
        what = "a wildcard" if isinstance(step, Wildcard) else "a filter"
    if found is not None:
        return found
    return PathFault(f"{what} finds nothing in {described(shape)}", "name the field itself")


def _value_of_a_field(shape: Shape, step: Step) -> Shape | PathFault:
    """Return the shape of what a wildcard or a filter selects of an object's own fields."""
    anything = Shape({}, shape.definitions)
    if not isinstance(step, Filter):
        return anything
    faults: list[PathFault] = []
    for name in shape.fields:
        inner = Trace()
        _filtered(shape.field(name) or anything, step.condition, inner)
        if not inner.faults:
            return anything
        faults += inner.faults
    return PathFault(
        f"the filter selects none of the fields: {faults[0].message}", "name the field"
    )


def _named(shape: Shape, name: str) -> Shape | PathFault:
    found = shape.field(name)
    if found is not None:
        return found
    if shape.items is not None:
        hint = f"say which of them: [0], [*] or [?(@.name == 'x')], then .{name}"
        return PathFault(f"{name} is asked of a list", hint)
    if not shape.fields:
        hint = f"end the path before .{name}"
        return PathFault(f"{name} is asked of {described(shape)}, which has no fields", hint)
    right = closest(name, shape.fields)
    hint = (
        f"did you mean {right!r}?"
        if right is not None
        else f"known: {', '.join(sorted(shape.fields)[:12])}"
    )
    return PathFault(f"there is no field {name!r}", hint)


def described(shape: Shape) -> str:
    """Return what a reader calls the values of ``shape``: ``a boolean``."""
    names = {"integer": "a whole number", "array": "a list", "object": "a map"}
    words = [names.get(one, f"a {one}") for one in sorted(shape.types)]
    if shape.types == {"string"} and shape.format == "date-time":
        return "a time"
    return " or ".join(words) if words else "anything"


def _shown(step: Step, before: str) -> str:
    if isinstance(step, Name):
        return f".{step.name}" if before else step.name
    return f"[{step.index}]" if isinstance(step, Index) else "[*]"
