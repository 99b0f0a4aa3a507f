"""Rules about what a check compares: paths, types and patterns."""

from __future__ import annotations

from collections.abc import Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonValue
from devops_bench.k8s.stored import as_base64
from devops_bench.lint.comparing import never_compares
from devops_bench.lint.everything import is_found_everywhere
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.schemas import Shape
from devops_bench.lint.subject import Subject
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.paths import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Descend,
    Filter,
    Path,
    Step,
)
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.regex import Pattern


@rule(
    "DB101",
    "a path that the kind does not have",
    level=Level.ERROR,
    why="""
        The schema of the kind has no such field, in the version of Kubernetes that was asked for
        (--kubernetes-version). The API server drops or refuses fields that it does not know, so
        that nothing will ever be found there: every op but absent fails whatever the agent does,
        and absent passes whatever it does. Names inside of filters are looked up too, and so are
        fields that can only be written: the server moves stringData of a Secret to its data.
    """,
    fires=spec("""
        verification_spec:
          - name: four are ready
            role: objective
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: status.readyReplica
              op: eq
              value: 4
    """),
    near_miss=spec("""
        verification_spec:
          - name: four are ready
            role: objective
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: metadata.annotations.readyReplica
              op: eq
              value: 4
    """),
)
def unknown_path(subject: Subject) -> Iterator[Finding]:
    """Find paths that lead nowhere."""
    for leaf in subject.leaves:
        found = subject.trace_of(leaf)
        node = leaf.node
        if found is None or not found.faults or not isinstance(node, ResourceProperty):
            continue
        fault = found.faults[0]
        resource = subject.resource(node.kind)
        what = resource.kind if resource is not None else node.kind
        yield Finding((*leaf.path, "path"), f"no {what} has this: {fault.message}", fault.hint)


@rule(
    "DB102",
    "a comparison that no value of the field can change",
    level=Level.ERROR,
    why="""
        The schema says which type the field has, and the op has the same answer for every value of
        it: a boolean is not ordered, a number is not matched by a pattern, and is never equal to
        true or to a word. eq on it always fails, ne never does, and what cannot be compared at all
        is undecided: it fails, and so does a none around it.
    """,
    fires=spec("""
        verification_spec:
          - name: not suspended
            role: objective
            check:
              type: resource_property
              kind: CronJob
              resource_name: report
              path: spec.suspend
              op: eq
              value: "false"
    """),
    near_miss=spec("""
        verification_spec:
          - name: not suspended
            role: objective
            check:
              type: resource_property
              kind: CronJob
              resource_name: report
              path: spec.suspend
              op: eq
              value: false
    """),
)
def never_changes(subject: Subject) -> Iterator[Finding]:
    """Find ops, and comparisons in filters, that the field's type decides alone."""
    for leaf in subject.leaves:
        found = subject.trace_of(leaf)
        node = leaf.node
        if found is None or not isinstance(node, ResourceProperty):
            continue
        for one in found.compared:
            literal = one.comparison.literal
            expected: JsonValue = literal.text if isinstance(literal, Pattern) else literal
            reason = never_compares(one.comparison.op, one.shape, expected)
            if reason is not None:
                hint = "compare with a value of the field's type"
                yield Finding((*leaf.path, "path"), f"a filter has one answer: {reason}", hint)
        if found.end is None or found.faults:
            continue
        reason = never_compares(node.op, found.end, node.value)
        if reason is not None:
            field = "value" if node.op in ("eq", "ne", "contains") else "op"
            hint = _right_value(found.end, node)
            yield Finding((*leaf.path, field), f"{node.op} has one answer: {reason}", hint)


def _right_value(shape: Shape, node: ResourceProperty) -> str:
    value = node.value
    if shape.types == {"boolean"}:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return f"write {value.lower()} without quotes"
        return "compare with true or false, by eq or ne"
    if shape.types == {"string"} and isinstance(value, bool):
        # The status of a condition is 'True', 'False' or 'Unknown'; elsewhere it is Go's spelling.
        is_condition = (node.path or "").endswith(".status")
        text = str(value).capitalize() if is_condition else str(value).lower()
        return f"write '{text}' in quotes, if that is the text"
    if shape.format == "byte" and isinstance(value, str):
        return f"write {as_base64(value)}, if that is the text"
    return "compare with a value of the field's type, or end the path at another field"


@rule(
    "DB105",
    "a pattern that matches everything",
    level=Level.WARNING,
    why="""
        Patterns search: they match when they are found anywhere in the text. '.*', 'a*' or '|x' are
        found in every text, the empty one too, so that the check only says that the field is there.
        Say what must stand in the text, with ^ and $ the whole of it, or say op: exists. ('.' and
        '^.+$' are not found in the empty text, '^.*$' not in one of several lines.)
    """,
    fires=spec("""
        verification_spec:
          - name: a tagged image
            role: objective
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.template.spec.containers[0].image
              op: matches
              value: "(:v[0-9]+)?"
    """),
    near_miss=spec("""
        verification_spec:
          - name: a tagged image
            role: objective
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.template.spec.containers[0].image
              op: matches
              value: "(:v[0-9]+)?$x|:v[0-9]+$"
    """),
)
def matches_everything(subject: Subject) -> Iterator[Finding]:
    """Find patterns, also in filters, that every text matches."""
    hint = "say what must stand in the text, or ask with op: exists"
    for leaf in subject.leaves:
        node = leaf.node
        if not isinstance(node, ResourceProperty):
            continue
        if node.op == "matches" and isinstance(node.value, str) and _is_everything(node.value):
            message = f"the pattern {node.value!r} is found in every text"
            yield Finding((*leaf.path, "value"), message, hint)
        path = leaf.parsed_path
        for pattern in _patterns(path) if path is not None else ():
            if _is_everything(pattern.text):
                message = f"the pattern {pattern.text!r} in a filter is found in every text"
                yield Finding((*leaf.path, "path"), message, hint)


def _is_everything(text: str) -> bool:
    return not has_placeholder(text) and is_found_everywhere(text)


def _patterns(path: Path) -> Iterator[Pattern]:
    for step in path.steps:
        inner: Step = step.step if isinstance(step, Descend) else step
        if isinstance(inner, Filter):
            yield from _patterns_in(inner.condition)


def _patterns_in(condition: Condition) -> Iterator[Pattern]:
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.conditions:
            yield from _patterns_in(part)
    elif isinstance(condition, Comparison) and isinstance(condition.literal, Pattern):
        yield condition.literal
