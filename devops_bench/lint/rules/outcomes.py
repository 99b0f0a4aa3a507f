"""Rules about what an entry can come to: one that passes already, one that cannot fail."""

from __future__ import annotations

from collections.abc import Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.selectors import parse_selector
from devops_bench.k8s.view import Matched, ResourceQuery, Snapshot
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.possible import Outcomes, outcomes
from devops_bench.lint.rules.holds import reads_status
from devops_bench.lint.subject import Leaf, LocatedEntry, Subject
from devops_bench.verification.base import CheckNode
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.combinators import Vote, evaluate
from devops_bench.verification.paths import MISSING
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.result import VerificationResult

_MADE_BY_OTHERS = frozenset(
    {
        "APIService", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "ControllerRevision",
        "EndpointSlice", "Endpoints", "Event", "FlowSchema", "Job", "Lease", "Namespace", "Node",
        "PersistentVolume", "Pod", "PriorityClass", "PriorityLevelConfiguration", "ReplicaSet",
        "Role", "RoleBinding", "Secret", "Service", "ServiceAccount",
    }
)  # fmt: skip
"""Kinds of which the server or a controller makes objects too: what the setup shows is not all."""

_FREE_FORM = frozenset({"ConfigMap", "Secret"})
"""Kinds whose fields nobody adds by default."""


@rule(
    "DB201",
    "an objective that passes before anything was done",
    level=Level.WARNING,
    why="""
        Judged on the objects of the setup the check passes already, so that an agent that does
        nothing is credited with it. Only what the setup decides is judged: not a status, not what
        controllers create, not a field that the server may fill in. If it must stay as it is, it is
        a safeguard; if it must change, the setup or the check is not what was meant.
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
    objects = [KubeObject(one) for one in subject.task.setup.objects]
    if not objects:
        return
    for located in subject.entries:
        if located.entry.role != "objective":
            continue
        result = _judged_on(subject, located, objects)
        if result.status == "pass":
            yield Finding(
                (*located.path, "check"),
                f"it passes on the setup's objects: {result.reason}",
                "make it a safeguard, or let the setup break it",
                key=True,
            )


def _judged_on(
    subject: Subject, located: LocatedEntry, objects: list[KubeObject]
) -> VerificationResult:
    """Judge an entry on the setup alone; what that does not decide is an error."""
    leaves = {id(leaf.node): leaf for leaf in subject.leaves_of(located)}

    def judge(node: CheckNode) -> VerificationResult:
        found = _leaf_on(subject, leaves[id(node)], objects)
        return found or VerificationResult.errored("the setup does not decide it")

    return evaluate(located.entry.check, judge)


def _leaf_on(subject: Subject, leaf: Leaf, objects: list[KubeObject]) -> VerificationResult | None:
    node = leaf.node
    if not isinstance(node, ResourceProperty) or leaf.is_elsewhere or reads_status(leaf):
        return None
    query = node.queries()[0]
    texts = (query.kind, query.namespace, query.name, query.selector, str(node.value), node.path)
    resource = subject.resource(node.kind)
    if resource is None or any(has_placeholder(text) for text in texts if text is not None):
        return None
    matched = _matching(resource, query, objects)
    if resource.kind in _MADE_BY_OTHERS and not (matched and query.name is not None):
        return None
    path = leaf.parsed_path
    if path is not None and matched and not _is_written_out(resource, leaf, matched):
        return None
    return node.judge(Snapshot({query: Matched(tuple(matched))}))


def _is_written_out(resource: ApiResource, leaf: Leaf, matched: list[KubeObject]) -> bool:
    """Return whether the path finds only what the setup says, nothing that is filled in later."""
    path = leaf.parsed_path
    if path is None or resource.kind in _FREE_FORM:
        return True
    return all(
        element is not MISSING for obj in matched for element in path.find(obj.data).elements
    )


def _matching(
    resource: ApiResource, query: ResourceQuery, objects: list[KubeObject]
) -> list[KubeObject]:
    found = []
    selector = parse_selector(query.selector) if query.selector is not None else None
    for obj in objects:
        same_kind = obj.data.get("kind") == resource.kind
        group = str(obj.data.get("apiVersion", "")).rpartition("/")[0]
        if not same_kind or group != resource.group:
            continue
        if resource.namespaced and (obj.namespace or "default") != query.namespace:
            continue
        if query.name is not None and obj.name != query.name:
            continue
        if selector is None or selector.matches(obj.labels):
            found.append(obj)
    return found


@rule(
    "DB202",
    "a safeguard that cannot fail",
    level=Level.WARNING,
    why="""
        By the schema of the kind the check passes for every object there can be: a field that every
        object has exists, a number of replicas is at least 0, a field that the kind does not have
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
        if located.entry.role != "safeguard":
            continue
        leaves = {id(leaf.node): leaf for leaf in subject.leaves_of(located)}

        def there(node: CheckNode, leaves: dict[int, Leaf] = leaves) -> Outcomes:
            return _outcomes_of(subject, leaves[id(node)])

        def gone(node: CheckNode) -> Outcomes:
            is_absent = (
                isinstance(node, ResourceProperty) and node.op == "absent" and node.path is None
            )
            vote: Vote = "pass" if is_absent else "fail"
            return Outcomes(vote, vote)

        if outcomes(located.entry.check, there).worst != "pass":
            continue
        never = outcomes(located.entry.check, gone).worst == "pass"
        yield Finding(
            (*located.path, "check"),
            "by the schema it passes whatever happens to the object"
            + ("" if never else ", short of its deletion"),
            "guard a value that harm would change, or say op: exists without a path",
            key=True,
        )


def _outcomes_of(subject: Subject, leaf: Leaf) -> Outcomes:
    """Return what a leaf can come to while its object is there, whatever is in it."""
    node, found = leaf.node, subject.trace_of(leaf)
    open_ended = Outcomes("fail", "pass")
    if not isinstance(node, ResourceProperty) or found is None:
        return open_ended
    if found.faults:
        return Outcomes("pass", "pass") if node.op == "absent" else Outcomes("fail", "fail")
    if node.op == "exists" and found.always_there:
        return Outcomes("pass", "pass")
    if node.op == "absent" and found.always_there:
        return Outcomes("fail", "fail")
    return _outcomes_of_count(node) or open_ended


def _outcomes_of_count(node: ResourceProperty) -> Outcomes | None:
    """Judge bounds of ``spec.replicas``: the server sets it (to 1), and refuses it below 0."""
    bound = node.value
    if node.path != "spec.replicas" or not isinstance(bound, int) or isinstance(bound, bool):
        return None
    if (node.op == "gte" and bound <= 0) or (node.op == "gt" and bound < 0):
        return Outcomes("pass", "pass")
    if (node.op == "lt" and bound <= 0) or (node.op == "lte" and bound < 0):
        return Outcomes("fail", "fail")
    return None
