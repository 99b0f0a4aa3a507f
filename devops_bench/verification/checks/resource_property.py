"""``resource_property``: something in Kubernetes objects exists, is absent, or compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast, get_args

from pydantic import JsonValue, PrivateAttr, model_validator

from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.secrets import may_mean_secrets
from devops_bench.k8s.view import ResourceQuery, UnknownKind, Unreadable, View
from devops_bench.verification.base import VERIFIERS, Check, Fields
from devops_bench.verification.checks.fields import PathText, SelectorText, Text, unset_variable
from devops_bench.verification.checks.property import Property
from devops_bench.verification.checks.wording import matched_label, query_label
from devops_bench.verification.paths import parse_path
from devops_bench.verification.placeholders import parse_with_placeholders
from devops_bench.verification.problems import Problem, ProblemKind
from devops_bench.verification.quantity import parse_quantity, quantity_of
from devops_bench.verification.regex import Pattern, compile_pattern
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.values import ORDERING_OPS, ComparingOp, type_name

# Written out, not as a union with ComparingOp: an error would name each half of a union.
Op: TypeAlias = Literal[
    "eq", "ne", "gt", "gte", "lt", "lte", "contains", "matches", "exists", "absent"
]
AcrossMatches: TypeAlias = Literal["every", "none"]

_COMPARING: Final[frozenset[str]] = frozenset(get_args(ComparingOp))


@VERIFIERS.register("resource_property")
class ResourceProperty(Check):
    """Judges one property of the objects that match.

    Attributes:
        kind: Resolved as kubectl does: kind, plural, singular, short name or ``resource.group``.
        resource_name: Only the object of this name.
        selector: Only objects with these labels; with neither, all of the namespace.
        namespace: The namespace; of no meaning for a kind that has none.
        path: Where in the object; see :mod:`devops_bench.verification.paths`. Only ``exists`` and
            ``absent`` do without one: then they ask for the object itself.
        op: How it is judged; see :func:`devops_bench.verification.values.compare`.
        value: What it is compared with; required by the ops that compare, of no use to the others.
        across_matches: How several elements are judged: ``every`` one has to satisfy the op,
            ``none`` may. An op that compares and meets several elements without it does not pass.
    """

    type: Literal["resource_property"] = "resource_property"
    kind: Text
    resource_name: Text | None = None
    selector: SelectorText | None = None
    namespace: Text = "default"
    path: PathText | None = None
    op: Op
    value: JsonValue = None
    across_matches: AcrossMatches | None = None

    _query: ResourceQuery = PrivateAttr()
    _property: Property | None = PrivateAttr(default=None)
    _unset: str | None = PrivateAttr(default=None)

    @classmethod
    def problems_between_fields(cls, fields: Mapping[str, object]) -> Sequence[Problem]:
        """Judge what is selected, and path, value and across_matches by the op."""
        problems: list[Problem] = []
        if fields.get("resource_name") is not None and fields.get("selector") is not None:
            message = "resource_name and selector are both given"
            problems.append(Problem(("selector",), message, "leave one of them out"))
        op = fields.get("op")
        if isinstance(op, str) and op in _COMPARING:
            problems += _comparing_problems(op, fields)
        elif op in ("exists", "absent"):
            problems += _presence_problems(op, fields)
        return problems

    @model_validator(mode="after")
    def _compile(self) -> ResourceProperty:
        self._query = ResourceQuery(
            self.kind,
            self.namespace,
            self.resource_name,
            self.selector,
            namespace_chosen="namespace" in self.model_fields_set,
        )
        self._unset = unset_variable(self.kind, self.namespace, self.resource_name, self.selector)
        if self.path is not None:
            path, unset = parse_with_placeholders(self.path, parse_path)
            expected, unset_value = _expected(self.op, self.value)
            if unset or unset_value:
                holds = self.path if unset else str(self.value)
                if may_mean_secrets(self.kind):
                    holds = "the path" if unset else "the value"
                self._unset = self._unset or holds
            self._property = Property(path, self.op, expected, self.across_matches)
        return self

    def queries(self) -> tuple[ResourceQuery, ...]:
        """Return the one query."""
        return (self._query,)

    def fields(self) -> Fields | None:
        """Return the path up to its first step that is not a plain name."""
        if self._property is None:
            return ()
        names = self._property.path.leading_names
        return (names,) if names else None

    def judge(self, view: View) -> VerificationResult:
        """Judge the property by what ``view`` shows.

        No object is an observation: it fails every op but a pathless ``absent``. A kind that the
        server does not know fails undecided, a pathless ``absent`` of it is an error.
        """
        if self._unset is not None:
            return VerificationResult.errored(f"the variable in {self._unset!r} has no value")
        reading = view.read(self._query)
        if isinstance(reading, Unreadable):
            return VerificationResult.errored(reading.reason)
        if isinstance(reading, UnknownKind):
            if self.op == "absent" and self._property is None:
                return VerificationResult.errored(reading.reason)
            return VerificationResult.failed(reading.reason, undecided=True)
        if self._property is None:
            return self._judge_presence(reading.objects)
        if not reading.objects:
            return VerificationResult.failed(f"there is no {query_label(self._query, ())}")
        return self._property.judge(reading.objects, self._query)

    def _judge_presence(self, objects: Sequence[KubeObject]) -> VerificationResult:
        names = ", ".join(obj.name for obj in objects[:5]) + (", …" if len(objects) > 5 else "")
        if not objects:
            reason = f"there is no {query_label(self._query, ())}"
        elif len(objects) == 1:
            reason = f"there is {matched_label(objects, self._query)}"
        else:
            reason = f"there are {matched_label(objects, self._query)}: {names}"
        success = bool(objects) == (self.op == "exists")
        return VerificationResult(
            success=success, status="pass" if success else "fail", reason=reason
        )


def _expected(op: str, value: JsonValue) -> tuple[JsonValue | Pattern, bool]:
    if not isinstance(value, str):
        return value, False
    if op == "matches":
        return parse_with_placeholders(value, compile_pattern)
    if op in ORDERING_OPS:
        _, unset = parse_with_placeholders(value, parse_quantity)
        return value, unset
    return value, False


def _comparing_problems(op: str, fields: Mapping[str, object]) -> list[Problem]:
    problems: list[Problem] = []
    if fields.get("path") is None:
        problems.append(Problem(("path",), f"is required with op: {op}"))
    value = cast(JsonValue, fields.get("value"))
    if value is None:
        hint = "op: absent says that there is no value" if "value" in fields else ""
        problems.append(Problem(("value",), f"is required with op: {op}", hint))
    elif (fault := _value_fault(op, value)) is not None:
        is_pattern = op == "matches" and isinstance(value, str)
        kind: ProblemKind = "pattern_form" if is_pattern else "invalid"
        problems.append(Problem(("value",), fault, kind=kind))
    return problems


def _value_fault(op: str, value: JsonValue) -> str | None:
    if op in ORDERING_OPS:
        try:
            if isinstance(value, str):
                parse_with_placeholders(value, parse_quantity)
        except ValueError as exc:
            return str(exc)
        if isinstance(value, str) or quantity_of(value) is not None:
            return None
        return f"op: {op} compares with a quantity (4, 500m, 192Mi), not with {type_name(value)}"
    if op == "matches":
        if not isinstance(value, str):
            return f"op: matches takes a pattern in quotes, not {type_name(value)}"
        try:
            parse_with_placeholders(value, compile_pattern)
        except ValueError as exc:
            return str(exc)
    if op == "contains" and isinstance(value, list | dict):
        return f"op: contains takes a string, a number or a boolean, not {type_name(value)}"
    return None


def _presence_problems(op: object, fields: Mapping[str, object]) -> list[Problem]:
    problems: list[Problem] = []
    if fields.get("value") is not None:
        problems.append(Problem(("value",), f"is of no use with op: {op}", "leave it out"))
    if fields.get("across_matches") is None:
        return problems
    if op == "absent":
        hint = "op: exists with across_matches: none says it of each element"
        problems.append(Problem(("across_matches",), "does not go with op: absent", hint))
    elif fields.get("path") is None:
        message = "does not go with op: exists without a path"
        problems.append(Problem(("across_matches",), message, "leave it out, or add a path"))
    return problems
