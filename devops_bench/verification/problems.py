"""What is wrong with a part of a spec, in words for the person who wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from devops_bench.core.similar import closest

Loc: TypeAlias = tuple[str | int, ...]
"""Where in a parsed document: keys and indices from its root on."""


ProblemKind: TypeAlias = Literal[
    "invalid",
    "unknown_field",
    "repeated_name",
    "path_form",
    "pattern_form",
    "selector_form",
    "unknown_type",
    "other_cluster",
]
"""``*_form``: a text that does not follow the grammar of its field. ``unknown_type``: no check of
that type is installed. ``other_cluster``: the check loads, but it names a cluster that is not the
task's, so that it must not be judged. ``invalid``: whatever has no name of its own here."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault.

    Attributes:
        loc: The field it is about, relative to the model it was found in; empty for all of it.
        message: What is wrong, without a final period.
        hint: What would be right, or empty.
        kind: ``invalid`` for whatever is simply wrong.
    """

    loc: Loc
    message: str
    hint: str = ""
    kind: ProblemKind = "invalid"

    def below(self, loc: Loc) -> Problem:
        """Return the same problem with its place seen from further up."""
        return replace(self, loc=loc + self.loc)

    def __str__(self) -> str:
        """``check.op: message (hint)``."""
        place = dotted(self.loc)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.hint})" if self.hint else text


class ProblemsError(ValueError):
    """Faults that a validator found, each with its own place."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: Sequence[Problem] = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


class FormError(ValueError):
    """A text that does not follow the grammar of its field.

    Attributes:
        kind: Which grammar.
    """

    def __init__(self, message: str, kind: ProblemKind) -> None:
        self.kind: ProblemKind = kind
        super().__init__(message)


def dotted(loc: Loc) -> str:
    """Return ``check.checks[0].op`` for ``("check", "checks", 0, "op")``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def problems_of(exc: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Return what a pydantic error says, one problem per fault, without pydantic's words."""
    found: list[Problem] = []
    for error in exc.errors(include_url=False):
        loc = tuple(error["loc"])
        cause = error.get("ctx", {}).get("error")
        if isinstance(cause, ProblemsError):
            found.extend(problem.below(loc) for problem in cause.problems)
        else:
            message, hint = _in_plain_words(error, model)
            found.append(Problem(loc, message, hint, _kind_of(error)))
    return found


def _kind_of(error: Mapping[str, Any]) -> ProblemKind:
    if error["type"] == "extra_forbidden":
        return "unknown_field"
    cause = error.get("ctx", {}).get("error")
    return cause.kind if isinstance(cause, FormError) else "invalid"


_FIXED: Final[Mapping[str, str]] = {
    "string_type": "should be a string",
    "string_unicode": "should be text that UTF-8 can hold",
    "bool_type": "should be true or false",
    "bool_parsing": "should be true or false",
    "int_type": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_from_float": "should be a whole number",
    "int_parsing_size": "is too large",
    "float_type": "should be a number",
    "float_parsing": "should be a number",
    "finite_number": "should be a finite number",
    "list_type": "should be a list",
    "tuple_type": "should be a list",
    "dict_type": "should be a map",
    "model_type": "should be a map",
    "model_attributes_type": "should be a map",
}
_WITHOUT_INPUT: Final[Mapping[str, str]] = {
    "missing": "is required",
    "string_too_short": "should not be empty",
}
_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def _in_plain_words(error: Mapping[str, Any], model: type[BaseModel]) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        name = str(error["loc"][-1])
        return f"unknown field {name!r}", close_to(name, _aliases(model))
    if kind in {"value_error", "assertion_error"}:
        return str(context.get("error", error["msg"])), ""
    if kind in _WITHOUT_INPUT:
        return _WITHOUT_INPUT[kind], ""
    got = f", not {_shown(error.get('input'))}"
    if kind == "literal_error":
        hint = close_to(str(error.get("input")), _choices(str(context["expected"])))
        return f"should be {context['expected']}{got}", hint
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"should be {words} {context[key]}{got}", ""
    if kind in {"too_short", "too_long"}:
        return _length_words(kind, context), ""
    message = _FIXED.get(kind)
    if message is None:
        text = str(error["msg"]).removeprefix("Input ").removeprefix("Value error, ")
        return text[:1].lower() + text[1:], ""
    return message + got, ""


def _length_words(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "too_short":
        return f"should have at least {context['min_length']}, and has {context['actual_length']}"
    return f"should have at most {context['max_length']}, and has {context['actual_length']}"


def _aliases(model: type[BaseModel]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]


def _choices(expected: str) -> list[str]:
    return [part.strip(" '") for part in expected.replace(" or ", ",").split(",")]


def close_to(word: str, choices: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the choice that is close to ``word``, or nothing."""
    close = closest(word, choices)
    return f"did you mean {close!r}?" if close is not None else ""


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value) if len(value) <= 80 else f"{value[:80]!r}…"
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 256 else "a very large number"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
