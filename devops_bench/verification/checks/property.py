"""The judgement of ``resource_property`` on the objects that matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from devops_bench.core.json import JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import ResourceQuery
from devops_bench.verification.checks.wording import (
    is_secret,
    matched_label,
    object_label,
    shown,
    shown_path,
)
from devops_bench.verification.paths import MISSING, Element, Path
from devops_bench.verification.regex import Pattern
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.values import (
    Answer,
    ComparingOp,
    Undecided,
    compare,
    every,
)

_MAX_RAW_VALUES = 10
_VERBS: Final = {"matches": "match", "contains": "contain"}
"""The ops that are verbs; of the others a value *is* ``gte 4``."""


@dataclass(frozen=True, slots=True)
class Property:
    """What is asked of the objects: a path and an op.

    Attributes:
        path: The parsed path.
        op: The op.
        expected: What is compared with, a pattern for ``matches``; ``None`` for the ops that
            compare with nothing.
        across_matches: How several elements are judged.
    """

    path: Path
    op: ComparingOp | Literal["exists", "absent"]
    expected: JsonValue | Pattern
    across_matches: Literal["every", "none"] | None

    def judge(self, objects: Sequence[KubeObject], query: ResourceQuery) -> VerificationResult:
        """Judge at least one object.

        Args:
            objects: What matched.
            query: What was asked, for the reason.
        """
        return _Judgement(self, objects, query).result()


@dataclass(frozen=True, slots=True)
class _Located:
    """An element, and the object that it was found in."""

    obj: KubeObject
    element: Element


class _Judgement:
    """One judgement, with what it takes to explain it."""

    def __init__(
        self, asked: Property, objects: Sequence[KubeObject], query: ResourceQuery
    ) -> None:
        self._asked = asked
        self._objects = objects
        self._query = query
        self._secret = is_secret(query, objects)
        self._path = shown_path(asked.path, secret=self._secret)
        self._doubt: str | None = None
        self._elements: list[_Located] = []
        for obj in objects:
            found = asked.path.find(obj.data)
            self._doubt = self._doubt or found.undecided
            self._elements.extend(_Located(obj, element) for element in found.elements)
        self._values = [e for e in self._elements if e.element is not MISSING]

    def result(self) -> VerificationResult:
        """Return what the judgement comes to."""
        if self._doubt is not None:
            text = f"{self._path} has a filter without an answer: {self._doubt}"
            return self._make(Undecided(text), text)
        if self._asked.across_matches is not None:
            return self._across(self._asked.across_matches)
        if self._asked.op in ("exists", "absent"):
            return self._presence()
        return self._single()

    def _presence(self) -> VerificationResult:
        answer = bool(self._values) == (self._asked.op == "exists")
        if not self._values:
            return self._make(answer, f"{self._path} has no value")
        return self._make(answer, f"{self._path} is {self._show(self._values[0])}")

    def _single(self) -> VerificationResult:
        text = self._path
        if len(self._elements) > 1:
            reason = (
                f"{text} has {len(self._elements)} elements, {len(self._values)} of them with a "
                f"value, and {self._asked.op} compares one: say across_matches: every or none"
            )
            return self._make(Undecided(reason), reason)
        one = self._elements[0]
        answer = self._answer(one)
        return self._make(answer, f"{text} {self._clause(one, answer)}")

    def _across(self, quantifier: Literal["every", "none"]) -> VerificationResult:
        answers = [self._answer(one) for one in self._elements]
        if quantifier == "none":
            opposite: list[Answer] = [a if isinstance(a, Undecided) else not a for a in answers]
            overall = every(opposite)
        else:
            overall = every(answers)
        text, count = self._path, len(answers)
        if overall is True:
            verb = "satisfy" if quantifier == "every" else "do not satisfy"
            what = "1 element" if count == 1 else f"all {count} elements"
            return self._make(True, f"{what} of {text} {verb} {self._wanted()}")
        bad = _first(answers, Undecided) if isinstance(overall, Undecided) else None
        if bad is None:
            bad = next(i for i, a in enumerate(answers) if a is (quantifier == "none"))
        wrong = sum(1 for a in answers if a is (quantifier == "none"))
        clause = self._clause(self._elements[bad], answers[bad])
        counted = f"{wrong} of {count} elements" if wrong else f"1 of {count} elements"
        where = object_label(self._elements[bad].obj, self._query)
        reason = f"{text} {clause} ({where}); across_matches: {quantifier} is broken by {counted}"
        return self._make(overall, reason, where=False)

    def _answer(self, one: _Located) -> Answer:
        op, element = self._asked.op, one.element
        if element is MISSING:
            return op == "absent"
        if op == "exists" or op == "absent":
            return op == "exists"
        return compare(op, element, self._asked.expected)

    def _clause(self, one: _Located, answer: Answer) -> str:
        """Return the predicate of a sentence: ``is 2, not gte 4``."""
        if one.element is MISSING:
            wanted = "" if self._asked.op == "exists" else f", so it {self._verdict(False)}"
            return f"has no value{wanted}"
        value = self._show(one)
        if isinstance(answer, Undecided):
            return f"is {value}, which does not compare: {answer.reason}"
        if self._asked.op == "exists":
            return f"is {value}"
        if answer is False and self._asked.op not in _VERBS:
            return f"is {value}, not {self._wanted()}"
        return f"is {value}, which {self._verdict(answer is True)}"

    def _verdict(self, satisfied: bool) -> str:
        """Return what is said of an element: ``is not gte 4``, ``does not match "^web"``."""
        verb = _VERBS.get(self._asked.op)
        if verb is None:
            return f"{'is' if satisfied else 'is not'} {self._wanted()}"
        if satisfied:
            return f"{verb}{'es' if verb == 'match' else 's'} {self._literal()}"
        return f"does not {verb} {self._literal()}"

    def _wanted(self) -> str:
        if self._asked.op in ("exists", "absent"):
            return self._asked.op
        return f"{self._asked.op} {self._literal()}"

    def _literal(self) -> str:
        expected = self._asked.expected
        literal = expected.text if isinstance(expected, Pattern) else expected
        return shown(literal, secret=self._secret)

    def _show(self, one: _Located) -> str:
        if one.element is MISSING:
            return "missing"
        return shown(one.element, secret=self._secret)

    def _make(self, answer: Answer, reason: str, *, where: bool = True) -> VerificationResult:
        undecided = isinstance(answer, Undecided)
        success = answer is True
        if where:
            reason = f"{reason} ({matched_label(self._objects, self._query)})"
        return VerificationResult(
            success=success,
            status="pass" if success else "fail",
            reason=reason,
            raw={
                "objects": len(self._objects),
                "values": [self._show(one) for one in self._elements[:_MAX_RAW_VALUES]],
            },
            undecided=undecided,
            stale=self._asked.path.may_read_status
            and any(obj.status_is_stale for obj in self._objects),
        )


def _first(answers: Sequence[Answer], kind: type[Undecided]) -> int:
    return next(i for i, answer in enumerate(answers) if isinstance(answer, kind))
