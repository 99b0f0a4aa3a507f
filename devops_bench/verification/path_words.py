"""Paths as they are shown where what they compare with is as secret as the data. Pure."""

from __future__ import annotations

import json
import re
from typing import Final

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
    Path,
    Slice,
    Step,
)
from devops_bench.verification.regex import Pattern
from devops_bench.verification.values import ComparingOp

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_OPS: Final[dict[ComparingOp, str]] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "matches": "=~",
}


def compares(path: Path) -> bool:
    """Return whether a filter of the path compares with a literal."""
    return any(_step_compares(step) for step in path.steps)


def without_literals(path: Path, instead: str) -> str:
    """Return the text of a path without the literals that its filters compare with.

    A path that has none is returned as it was written; of the others the text is for a reader, and
    need not be a path again.

    Args:
        path: The path.
        instead: What stands for a literal.
    """
    return f"${_steps(path.steps, instead)}" if compares(path) else path.text


def whole(path: Path) -> str:
    """Return the text of a path in one form: two paths that mean the same have the same one."""
    return f"${_steps(path.steps, None)}"


def named(names: tuple[str, ...]) -> str:
    """Return a path of names alone; names that need an escape, and what follows them, are left out.

    Args:
        names: The names, from the object on.
    """
    text = "$"
    for name in names:
        if '"' in name or "\\" in name:
            break
        text += f'."{name}"'
    return text


def _step_compares(step: Step) -> bool:
    if isinstance(step, Descend):
        return _step_compares(step.step)
    return isinstance(step, Filter) and _condition_compares(step.condition)


def _condition_compares(condition: Condition) -> bool:
    if isinstance(condition, AllOf | AnyOf):
        return any(_condition_compares(part) for part in condition.conditions)
    if isinstance(condition, Exists):
        return any(_step_compares(step) for step in condition.steps)
    return True


def _steps(steps: tuple[Step, ...], instead: str | None) -> str:
    return "".join(_step(step, instead) for step in steps)


def _step(step: Step, instead: str | None) -> str:
    if isinstance(step, Name):
        quoted = json.dumps(step.name, ensure_ascii=False)
        return f".{step.name if _PLAIN.fullmatch(step.name) else quoted}"
    if isinstance(step, Index):
        return f"[{step.index}]"
    if isinstance(step, Slice):
        ends = [step.start, step.stop] + ([] if step.step is None else [step.step])
        return f"[{':'.join('' if end is None else str(end) for end in ends)}]"
    if isinstance(step, Filter):
        return f"[?({_condition(step.condition, instead)})]"
    if isinstance(step, Descend):
        below = _step(step.step, instead)
        return f".{below}" if below.startswith(".") else f"..{below}"
    return "[*]"


def _condition(condition: Condition, instead: str | None) -> str:
    if isinstance(condition, AllOf | AnyOf):
        word = " && " if isinstance(condition, AllOf) else " || "
        return word.join(_condition(part, instead) for part in condition.conditions)
    asked = f"@{_steps(condition.steps, instead)}"
    if isinstance(condition, Exists):
        return f"!{asked}" if condition.negated else asked
    return f"{asked} {_OPS[condition.op]} {_literal(condition) if instead is None else instead}"


def _literal(condition: Comparison) -> str:
    literal = condition.literal
    return json.dumps(literal.text if isinstance(literal, Pattern) else literal)
