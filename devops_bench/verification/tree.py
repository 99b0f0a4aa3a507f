"""From what a spec says under ``check:`` to a tree of checks, with every fault at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    SerializeAsAny,
    ValidationError,
    WithJsonSchema,
)

from devops_bench.core.errors import InvalidInputError, UnknownNameError
from devops_bench.core.faults import named
from devops_bench.verification.base import VERIFIERS, BaseVerifier, CheckNode, RuledModel
from devops_bench.verification.probes.adapter import VerifierProbe
from devops_bench.verification.problems import (
    Loc,
    Problem,
    ProblemsError,
    close_to,
    problems_of,
)

MAX_DEPTH: Final = 32
"""How deep combinators may stand within each other."""

CHECK_MARKER: Final = "devops-bench/check"
"""Marks, in a generated JSON schema, where any check may stand."""


def _as_check(raw: object) -> object:
    node, problems = read_check(raw)
    fatal = [problem for problem in problems if problem.kind != "other_cluster"]
    if fatal:
        raise ProblemsError(fatal)
    return node


AnyCheck = Annotated[
    SerializeAsAny[CheckNode],
    BeforeValidator(_as_check),
    WithJsonSchema({"$comment": CHECK_MARKER}),
]
"""The type of a field that holds a check: a node, or what a spec says of one."""


class Combinator(CheckNode):
    """A node that folds what its children came to.

    Attributes:
        checks: The children, at least one.
    """

    checks: tuple[AnyCheck, ...] = Field(min_length=1)


class _Unread(CheckNode):
    """Stands for a child that could not be read, while its siblings are still looked at."""

    type: str = "unread"


def read_check(
    raw: object, loc: Loc = (), depth: int = 0
) -> tuple[CheckNode | None, list[Problem]]:
    """Read one check and everything below it.

    Args:
        raw: What the spec says, or a node that is returned as it is.
        loc: Where it stands; the problems' places start with it.
        depth: How many combinators it stands in.

    Returns:
        The node, ``None`` if it could not be read, and every problem. A node comes with problems
        only of the kind ``other_cluster``.
    """
    if isinstance(raw, CheckNode):
        return raw, []
    if isinstance(raw, BaseVerifier):
        return VerifierProbe.of(raw), []
    if not isinstance(raw, Mapping):
        return None, [Problem(loc, "a check is a map with a type", "such as {type: pod_healthy}")]
    if depth > MAX_DEPTH:
        return None, [Problem(loc, f"checks stand within each other more than {MAX_DEPTH} deep")]
    try:
        model, problems = _model_of(raw, loc)
        if model is None:
            return None, problems
        if issubclass(model, Combinator):
            return _read_combinator(model, raw, loc, depth)
        return _build(model, raw, loc)
    except Exception as exc:  # noqa: BLE001 - a plug-in's validator may raise anything
        text = f"the check could not be read: {named(exc)}"
        return None, [Problem(loc, text[:500])]


def _model_of(raw: Mapping[Any, Any], loc: Loc) -> tuple[type[BaseModel] | None, list[Problem]]:
    name = raw.get("type")
    if not isinstance(name, str):
        known = ", ".join(VERIFIERS.names())
        what = "is required" if name is None else "should be a string"
        return None, [Problem((*loc, "type"), what, f"one of {known}")]
    try:
        return VERIFIERS.get(name), []
    except UnknownNameError:
        names = VERIFIERS.names()
        hint = close_to(name, names) or f"known: {', '.join(names)}"
        message = f"check type {name[:80]!r} is not known"
        return None, [Problem((*loc, "type"), message, hint, "unknown_type")]
    except InvalidInputError as exc:
        return None, [Problem((*loc, "type"), str(exc))]


def _read_combinator(
    model: type[Combinator], raw: Mapping[Any, Any], loc: Loc, depth: int
) -> tuple[CheckNode | None, list[Problem]]:
    fields: dict[Any, Any] = dict(raw)
    problems: list[Problem] = []
    children = raw.get("checks")
    if isinstance(children, list | tuple):
        nodes: list[CheckNode] = []
        for index, child in enumerate(children):
            node, found = read_check(child, (*loc, "checks", index), depth + 1)
            problems.extend(found)
            nodes.append(node if node is not None else _Unread())
        fields["checks"] = nodes
    node, found = _build(model, fields, loc)
    problems.extend(found)
    unread = any(problem.kind != "other_cluster" for problem in problems)
    return None if unread else node, problems


def _build(
    model: type[BaseModel], fields: Mapping[Any, Any], loc: Loc
) -> tuple[CheckNode | None, list[Problem]]:
    try:
        built = model.model_validate(dict(fields))
    except ValidationError as exc:
        return None, [problem.below(loc) for problem in all_problems(exc, model, fields)]
    if isinstance(built, BaseVerifier):
        built = VerifierProbe.of(built)
    if not isinstance(built, CheckNode):
        message = f"{model.__name__} is neither a Check, a Probe nor a BaseVerifier"
        return None, [Problem((*loc, "type"), message)]
    return built, [problem.below(loc) for problem in _other_cluster(built)]


def all_problems(
    exc: ValidationError, model: type[BaseModel], fields: Mapping[Any, Any]
) -> list[Problem]:
    """Return what is wrong with single fields, and with fields together.

    Pydantic looks at the latter only when the former is right; a reader wants both at once.
    """
    problems = problems_of(exc, model)
    if issubclass(model, RuledModel):
        known = {key: value for key, value in fields.items() if key in model.model_fields}
        seen = {problem.loc for problem in problems}
        problems += [p for p in model.problems_between_fields(known) if p.loc not in seen]
    return problems


def _other_cluster(node: CheckNode) -> list[Problem]:
    return [
        Problem(
            (field,),
            f"the check names another cluster ({field}: {str(value)[:80]})",
            "a run judges only the cluster that it prepared",
            "other_cluster",
        )
        for field in ("kubeconfig", "context")
        if (value := getattr(node, field)) is not None
    ]
