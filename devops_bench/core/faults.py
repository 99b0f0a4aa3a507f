"""Exceptions of others as one line for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from pydantic import ValidationError


def in_one_line(exc: BaseException) -> str:
    """Return what an exception says, on one line; its type where it says nothing.

    Of pydantic's ValidationError, which prints every fault on lines of its own with the address of
    a page about each, the first fault is told: ``tasks[0].status: Field required (and 2 more)``.
    """
    text = _first_fault(exc) if _is_of_pydantic(exc) else str(exc)
    return " ".join(text.split()) or type(exc).__name__


def named(exc: BaseException) -> str:
    """Return the exception's type and what it says, on one line: ``KeyError: 'name'``."""
    name, text = type(exc).__name__, in_one_line(exc)
    return name if text == name else f"{name}: {text}"


def _is_of_pydantic(exc: BaseException) -> TypeGuard[ValidationError]:
    # By its name: pydantic is not imported for it, which every command would pay for.
    return any(
        one.__module__.partition(".")[0] in ("pydantic", "pydantic_core")
        and one.__name__ == "ValidationError"
        for one in type(exc).__mro__
    )


def _first_fault(exc: ValidationError) -> str:
    first, *others = exc.errors(include_url=False, include_context=False, include_input=False)
    place = ""
    for part in first["loc"]:
        place += f"[{part}]" if isinstance(part, int) else f".{part}"
    place = place.removeprefix(".")
    text = f"{place}: {first['msg']}" if place else first["msg"]
    return f"{text} (and {len(others)} more)" if others else text
