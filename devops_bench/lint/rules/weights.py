"""Rules about entries together: weights, repetitions, contradictions."""

from __future__ import annotations

import math
from collections.abc import Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.lint.canonical import canonical_check
from devops_bench.lint.demands import Demands, demands_of
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.subject import Subject

LIGHTEST = 0.01
"""The share of its role's total below which an entry's weight cannot be seen in the score."""


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
                f"the weight is {_percent(share)} of that of all {entry.role}s: it cannot be seen "
                "in the score",
                "give it at least 1 %, or leave the entry out",
            )


def _percent(share: float) -> str:
    """Return a share below 1 %, rounded down: it must not read as the 1 % that it has not."""
    return f"{math.floor(share * 10_000) / 100:.2f} %" if share >= 0.0001 else "less than 0.01 %"


@rule(
    "DB207",
    "two entries that are the same",
    level=Level.WARNING,
    why="""
        Both have the same role, mode and check, so that one fault counts twice and the other
        entries count less. Usually one of them was copied and was meant to check something else.
        Other words for the same kind, path, selector or quantity make no other check.
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
        check = canonical_check(subject, entry.check, located.raw.get("check"))
        key = f"{entry.role}/{entry.resolved_mode}/{check}"
        if key in first:
            yield Finding(
                (*located.path, "check"),
                f"this is the check of {first[key]!r} once more, in the same role and mode",
                "leave one of them out, or check what was meant",
                key=True,
            )
        first.setdefault(key, entry.name)


@rule(
    "DB208",
    "two entries that cannot both pass",
    level=Level.ERROR,
    why="""
        They ask for different values of the same field of the same objects, or for something in an
        object that must not be there: whatever the agent does, one of them fails, and no solution
        gets the whole score. What an entry always needs is compared, that which stands within any
        and some is not; objects are the same by name or by the same selector, paths by what they
        mean, however they are written.
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
    """Find pairs of demands that nothing satisfies."""
    demands = Demands(subject)
    for later in demands_of(subject):
        earlier = demands.add(later)
        if earlier is not None:
            yield Finding(
                (*later.leaf.path, later.field),
                f"{later.words} and {earlier.words}, which {earlier.entry.entry.name!r} asks for, "
                "cannot both be",
                "change one of the two",
            )
