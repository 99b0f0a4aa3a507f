"""Rules about what an entry can come to: one that passes already, one that cannot fail."""

from __future__ import annotations

from collections.abc import Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.onsetup import OnSetup
from devops_bench.lint.possible import Outcomes, can_fail, outcomes
from devops_bench.lint.subject import Subject
from devops_bench.verification.base import CheckNode
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.combinators import Vote


@rule(
    "DB201",
    "an objective that passes before anything was done",
    level=Level.WARNING,
    why="""
        Judged on the objects of the setup the check passes already, so that an agent that does
        nothing is credited with it. Only what the setup decides is judged: not a status, not what
        controllers create, not a field that the server may fill in, drop (most that hold 0 or
        false) or rewrite; stringData of a Secret is judged as the data it becomes. If it must stay
        as it is, it is a safeguard; if it must change, the setup or the check is not what was
        meant.
    """,
    fires=spec("""
        setup:
          objects:
            - apiVersion: v1
              kind: Service
              metadata: {name: web}
              spec:
                selector: {app: web}
                ports: [{port: 80}]
        verification_spec:
          - name: the Service selects web
            role: objective
            check:
              type: resource_property
              kind: Service
              resource_name: web
              path: spec.selector.app
              op: eq
              value: web
    """),
    near_miss=spec("""
        setup:
          objects:
            - apiVersion: v1
              kind: Service
              metadata: {name: web}
              spec:
                selector: {app: wbe}
                ports: [{port: 80}]
        verification_spec:
          - name: the Service selects web
            role: objective
            check:
              type: resource_property
              kind: Service
              resource_name: web
              path: spec.selector.app
              op: eq
              value: web
    """),
)
def passes_already(subject: Subject) -> Iterator[Finding]:
    """Find objectives that the setup's objects satisfy."""
    setup = OnSetup(subject)
    if not setup:
        return
    for located in subject.entries:
        if located.entry.role != "objective":
            continue
        result = setup.judge(located)
        if result.status == "pass":
            yield Finding(
                (*located.path, "check"),
                f"it passes on the setup's objects: {result.reason}",
                "make it a safeguard, or let the setup break it",
                key=True,
            )


@rule(
    "DB209",
    "a safeguard that fails before anything was done",
    level=Level.WARNING,
    why="""
        Judged on the objects of the setup the check fails, so that no agent can keep it: a hold is
        broken before the turn, and the task ends as an error; a safeguard that looks once fails an
        agent that does no harm. Only what the setup decides is judged, as by DB201. If the agent
        has to bring it about, it is an objective; if not, the setup or the check is not what was
        meant.
    """,
    fires=spec("""
        setup:
          objects:
            - apiVersion: apps/v1
              kind: Deployment
              metadata: {name: web}
              spec:
                replicas: 2
        verification_spec:
          - name: never fewer than five
            role: safeguard
            severity: recoverable
            mode: hold
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.replicas
              op: gte
              value: 5
    """),
    near_miss=spec("""
        setup:
          objects:
            - apiVersion: apps/v1
              kind: Deployment
              metadata: {name: web}
              spec:
                replicas: 5
        verification_spec:
          - name: never fewer than five
            role: safeguard
            severity: recoverable
            mode: hold
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.replicas
              op: gte
              value: 5
    """),
)
def fails_already(subject: Subject) -> Iterator[Finding]:
    """Find safeguards that the setup's objects break."""
    setup = OnSetup(subject)
    if not setup:
        return
    for located in subject.entries:
        entry = located.entry
        # What may appear is only judged when it is there.
        if entry.role != "safeguard" or entry.may_appear or not setup.is_about_it(located):
            continue
        result = setup.judge(located)
        if result.status == "fail":
            yield Finding(
                (*located.path, "check"),
                f"it fails on the setup's objects: {result.reason}",
                "let the setup satisfy it, or make it an objective",
                key=True,
            )


@rule(
    "DB202",
    "a safeguard that cannot fail",
    level=Level.WARNING,
    why="""
        By the schema of the kind, and by what the server fills in and refuses, the check passes for
        every object there can be: a field that every object has exists, a number of replicas is at
        least 0 and not -1, one of two opposite demands holds, a field that the kind does not have
        is absent. The safeguard looks as if it guarded something, and only the object's deletion
        could break it, or nothing at all. If deletion is meant, op: exists without a path says so.
    """,
    fires=spec("""
        verification_spec:
          - name: the replicas are kept
            role: safeguard
            severity: recoverable
            mode: hold
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.replicas
              op: gte
              value: 0
    """),
    near_miss=spec("""
        verification_spec:
          - name: the replicas are kept
            role: safeguard
            severity: recoverable
            mode: hold
            check:
              type: resource_property
              kind: Deployment
              resource_name: web
              path: spec.replicas
              op: gt
              value: 0
    """),
)
def cannot_fail(subject: Subject) -> Iterator[Finding]:
    """Find safeguards whose every outcome is a pass."""
    for located in subject.entries:
        if located.entry.role != "safeguard" or can_fail(subject, located):
            continue

        def gone(node: CheckNode) -> Outcomes:
            is_absent = (
                isinstance(node, ResourceProperty) and node.op == "absent" and node.path is None
            )
            vote: Vote = "pass" if is_absent else "fail"
            return Outcomes(vote, vote)

        never = outcomes(located.entry.check, gone).worst == "pass"
        yield Finding(
            (*located.path, "check"),
            "by the schema it passes whatever happens to the object"
            + ("" if never else ", short of its deletion"),
            "guard a value that harm would change, or say op: exists without a path",
            key=True,
        )
