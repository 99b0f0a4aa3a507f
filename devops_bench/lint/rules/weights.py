"""Rules about entries together: weights, repetitions, contradictions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.subject import Leaf, LocatedEntry, Subject
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.values import ComparingOp, Undecided, compare

LIGHTEST = 0.01
"""The share of its role's total below which an entry's weight cannot be seen in the score."""

_TOGETHER = frozenset({"all", "parallel", "sequence"})


@rule(
    "DB206",
    "a weight that cannot be seen",
    level=Level.WARNING,
    why="""
        An entry's weight is its share among the entries of its role. Below 1 % of the total the
        score is the same to two digits whether it passes or fails: the entry looks as if it were
        judged, and is not. Give it a weight that counts, or leave it out.
    """,
    fires=spec("""
        verification_spec:
          - name: rolled out
            role: objective
            weight: 200
            check: {type: scaling_complete, deployment: web}
          - name: labelled
            role: objective
            weight: 1
            check: {type: pod_healthy, selector: app=web}
    """),
    near_miss=spec("""
        verification_spec:
          - name: rolled out
            role: objective
            weight: 99
            check: {type: scaling_complete, deployment: web}
          - name: labelled
            role: objective
            weight: 1
            check: {type: pod_healthy, selector: app=web}
    """),
)
def weightless(subject: Subject) -> Iterator[Finding]:
    """Find weights below 1 % of their role's total."""
    weights: dict[str, list[float]] = {}
    for located in subject.entries:
        weights.setdefault(located.entry.role, []).append(located.entry.weight)
    totals = {role: sum(each) for role, each in weights.items()}
    for located in subject.entries:
        entry = located.entry
        share = entry.weight / totals[entry.role]
        # A thousand equal entries are each below 1 %; none of them was made light.
        if share < LIGHTEST and share * len(weights[entry.role]) < 1:
            yield Finding(
                (*located.path, "weight"),
                f"the weight is {share:.2%} of all {entry.role}s': it cannot be seen in the score",
                "give it at least 1 %, or leave the entry out",
            )


@rule(
    "DB207",
    "two entries that are the same",
    level=Level.WARNING,
    why="""
        Both have the same role, mode and check, so that one fault counts twice and the other
        entries count less. Usually one of them was copied and was meant to check something else.
    """,
    fires=spec("""
        verification_spec:
          - name: web is ready
            role: objective
            check: {type: scaling_complete, deployment: web}
          - name: api is ready
            role: objective
            check: {type: scaling_complete, deployment: web}
    """),
    near_miss=spec("""
        verification_spec:
          - name: web is ready
            role: objective
            check: {type: scaling_complete, deployment: web}
          - name: web stays ready
            role: objective
            mode: hold
            hold_window_sec: 30
            hold_settle_sec: 30
            check: {type: scaling_complete, deployment: web}
    """),
)
def repeated(subject: Subject) -> Iterator[Finding]:
    """Find entries that judge the same in the same way."""
    first: dict[str, str] = {}
    for located in subject.entries:
        entry = located.entry
        check = json.dumps(_without_names(located.raw.get("check")), sort_keys=True)
        key = f"{entry.role}/{entry.resolved_mode}/{check}"
        if key in first:
            yield Finding(
                (*located.path, "check"),
                f"this is the check of {first[key]!r} once more, in the same role and mode",
                "leave one of them out, or check what was meant",
                key=True,
            )
        first.setdefault(key, entry.name)


def _without_names(check: JsonValue) -> JsonValue:
    if not isinstance(check, dict):
        return check
    found: JsonObject = {key: value for key, value in check.items() if key != "name"}
    if isinstance(children := check.get("checks"), list):
        found["checks"] = [_without_names(child) for child in children]
    return found


@dataclass(frozen=True, slots=True)
class _Demand:
    """What an entry needs of one field: that every pass of the entry makes it so."""

    node: ResourceProperty
    leaf: Leaf
    entry: LocatedEntry


@rule(
    "DB208",
    "two entries that cannot both pass",
    level=Level.ERROR,
    why="""
        They ask for different values of the same field of the same object: whatever the agent does,
        one of them fails, and no solution gets the whole score. Only fields of one object (by
        resource_name) without wildcards and filters are compared, in entries that need them.
    """,
    fires=spec("""
        verification_spec:
          - name: eight replicas
            role: objective
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.replicas
              op: eq
              value: 8
          - name: never more than four
            role: safeguard
            severity: recoverable
            mode: hold
            check:
              type: resource_property
              kind: deploy
              resource_name: web
              path: spec.replicas
              op: lte
              value: 4
    """),
    near_miss=spec("""
        verification_spec:
          - name: eight replicas
            role: objective
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.replicas
              op: eq
              value: 8
          - name: never less than four
            role: safeguard
            severity: recoverable
            mode: hold
            check:
              type: resource_property
              kind: deploy
              resource_name: web
              path: spec.replicas
              op: gte
              value: 4
    """),
)
def contradicting(subject: Subject) -> Iterator[Finding]:
    """Find pairs of demands that no value satisfies."""
    by_field: dict[tuple[str, str, str, str], list[_Demand]] = {}
    for demand in _demands(subject):
        node = demand.node
        resource = subject.resource(node.kind)
        kind = str(resource) if resource is not None else node.kind.lower()
        key = (kind, node.namespace, str(node.resource_name), str(node.path))
        by_field.setdefault(key, []).append(demand)
    for demands in by_field.values():
        for index, later in enumerate(demands):
            earlier = next(
                (one for one in demands[:index] if _excludes(one.node, later.node)), None
            )
            if earlier is not None:
                yield Finding(
                    (*later.leaf.path, "value" if later.node.value is not None else "op"),
                    f"{_asked(later.node)} and {_asked(earlier.node)}, which "
                    f"{earlier.entry.entry.name!r} asks for, cannot both be",
                    "change one of the two",
                )


def _demands(subject: Subject) -> Iterator[_Demand]:
    for leaf in subject.leaves:
        node = leaf.node
        if leaf.entry is None or not isinstance(node, ResourceProperty) or node.path is None:
            continue
        if node.resource_name is None or not set(leaf.within) <= _TOGETHER:
            continue
        path = leaf.parsed_path
        texts = (node.kind, node.namespace, node.resource_name, str(node.value))
        if path is None or path.is_plural or any(has_placeholder(text) for text in texts):
            continue
        if node.across_matches is None and not leaf.is_elsewhere:
            yield _Demand(node, leaf, leaf.entry)


def _excludes(one: ResourceProperty, other: ResourceProperty) -> bool:
    ops = {one.op, other.op}
    if "absent" in ops:
        return ops != {"absent"}
    for left, right in ((one, other), (other, one)):
        if left.op == "eq" and right.op != "exists":
            value = left.value
            answer = compare(cast(ComparingOp, right.op), value, right.value)
            if not isinstance(answer, Undecided) and not answer:
                return True
    for low, high in ((one, other), (other, one)):
        if low.op in ("gt", "gte") and high.op in ("lt", "lte"):
            strict = low.op == "gt" or high.op == "lt"
            answer = compare("gte" if strict else "gt", low.value, high.value)
            return not isinstance(answer, Undecided) and answer
    return False


def _asked(node: ResourceProperty) -> str:
    return node.op if node.value is None else f"{node.op} {json.dumps(node.value)}"
