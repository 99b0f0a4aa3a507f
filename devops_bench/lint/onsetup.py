"""Judges entries on the objects of the setup alone: what is certain before anything was done. Pure.

Only what the setup decides is judged: not a status, not what controllers create, not a field that
the server fills in, drops or rewrites (:mod:`devops_bench.lint.server`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.selectors import parse_selector
from devops_bench.k8s.stored import as_stored
from devops_bench.k8s.view import Matched, ResourceQuery, Snapshot
from devops_bench.lint.server import is_built_in, is_free_map, is_kept, stays_as_written
from devops_bench.lint.subject import Leaf, LocatedEntry, Subject
from devops_bench.verification.base import CheckNode
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.checks.scaling_complete import ScalingComplete
from devops_bench.verification.combinators import evaluate
from devops_bench.verification.paths import MISSING, Descend, Element, Name, Path
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.quantity import is_marked
from devops_bench.verification.result import VerificationResult

_MADE_BY_OTHERS: Final = frozenset(
    {
        "APIService", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "ControllerRevision",
        "EndpointSlice", "Endpoints", "Event", "FlowSchema", "Job", "Lease", "Namespace", "Node",
        "PersistentVolume", "Pod", "PriorityClass", "PriorityLevelConfiguration", "ReplicaSet",
        "Role", "RoleBinding", "Secret", "Service", "ServiceAccount",
    }
)  # fmt: skip
"""Kinds of which the server or a controller makes objects too: what the setup shows is not all."""

_OF_KUBERNETES: Final = frozenset({"kube-node-lease", "kube-public", "kube-system"})
"""Namespaces in which a cluster keeps what it runs itself, whatever a setup adds there."""

_TOKEN: Final = "kubernetes.io/service-account-token"  # noqa: S105 - a type's name
_HPA: Final = "HorizontalPodAutoscaler"
_CRD: Final = "CustomResourceDefinition"

_FREE_FORM: Final = frozenset({"ConfigMap", "Secret"})
"""Kinds whose fields nobody adds by default."""


class OnSetup:
    """The objects of a spec's setup, as the server keeps them.

    Args:
        subject: The spec.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        objects = subject.task.setup.objects
        self._objects = [KubeObject(as_stored(one, has_placeholder)) for one in objects]
        made = {str(one.name) for one in self._objects if _kind(one) == "Namespace"}
        self._namespaces = made - _OF_KUBERNETES
        in_default = any(self._is_in_default(one) for one in self._objects)
        self._all_ours = self._namespaces | ({"default"} if in_default else set())
        self._defined = {_defined(one.data) for one in self._objects if _kind(one) == _CRD}

    def __bool__(self) -> bool:
        """Whether there are any; without them the environment comes from elsewhere."""
        return bool(self._objects)

    def judge(self, located: LocatedEntry) -> VerificationResult:
        """Return what an entry comes to; an error when the setup does not decide it."""
        leaves = {id(leaf.node): leaf for leaf in self._subject.leaves_of(located)}

        def judge(node: CheckNode) -> VerificationResult:
            found = self._leaf(leaves[id(node)])
            return found or VerificationResult.errored("the setup does not decide it")

        return evaluate(located.entry.check, judge)

    def is_about_it(self, located: LocatedEntry) -> bool:
        """Return whether all that an entry reads can only come from the setup.

        It is so where an object of it matches, and in a namespace that it makes.
        """
        for leaf in self._subject.leaves_of(located):
            for query in leaf.queries:
                resource = self._subject.resource(query.kind)
                if resource is None or leaf.is_elsewhere:
                    return False
                own = resource.namespaced and query.namespace in self._namespaces
                if not own and not self._matching(resource, query):
                    return False
        return True

    def _leaf(self, leaf: Leaf) -> VerificationResult | None:
        node, path = leaf.node, leaf.parsed_path
        if leaf.is_elsewhere:
            return None
        if isinstance(node, ScalingComplete):
            return self._scaled(node)
        if not isinstance(node, ResourceProperty):
            return None
        query = node.queries()[0]
        texts = (
            query.kind,
            query.namespace,
            query.name,
            query.selector,
            str(node.value),
            node.path,
        )
        resource = self._subject.resource(node.kind)
        if resource is None or any(has_placeholder(text) for text in texts if text is not None):
            return None
        matched = self._matching(resource, query)
        if not (matched and query.name is not None) and not self._has_all(resource, query):
            return None
        if path is not None and not all(_decides(resource, node, path, obj) for obj in matched):
            return None
        reads_replicas = path is not None and path.may_read("spec", "replicas")
        if reads_replicas and any(map(self._is_autoscaled, matched)):
            return None
        return node.judge(Snapshot({query: Matched(tuple(matched))}))

    def _scaled(self, node: ScalingComplete) -> VerificationResult | None:
        """Return that a Deployment of the setup has not as many replicas as there should be.

        That it has them is for its controller to show, which may also be an autoscaler's.
        """
        (query,) = node.queries()
        resource = self._subject.resource(query.kind)
        if resource is None or has_placeholder(f"{node.namespace} {node.deployment}"):
            return None
        for obj in self._matching(resource, query):
            spec = obj.data.get("spec")
            wanted = spec.get("replicas") if isinstance(spec, dict) else None
            if type(wanted) is int and wanted < node.min_replicas and not self._is_autoscaled(obj):
                return VerificationResult.failed(f"it has {wanted} replicas")
        return None

    def _is_autoscaled(self, obj: KubeObject) -> bool:
        """Return whether an autoscaler of the setup changes how many replicas it has."""
        for one in self._objects:
            spec = one.data.get("spec")
            target = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
            if _kind(one) != _HPA or one.namespace != obj.namespace or not isinstance(target, dict):
                continue
            named = (str(target.get("kind")), str(target.get("name")))
            if named == (str(_kind(obj)), obj.name) or has_placeholder("".join(named)):
                return True
        return False

    def _is_in_default(self, obj: KubeObject) -> bool:
        resource = self._subject.resource(str(_kind(obj)))
        is_namespaced = resource is not None and resource.namespaced
        return is_namespaced and (obj.namespace or "default") == "default"

    def _has_all(self, resource: ApiResource, query: ResourceQuery) -> bool:
        """Return whether no other objects of the kind can be there than those of the setup.

        A cluster brings objects of its own: anything without a namespace, or in a namespace that
        the setup does not make. In default it has none but those of kinds that others make objects
        of, too. Kinds that the setup defines itself are its own everywhere.
        """
        if resource.kind in _MADE_BY_OTHERS:
            return False
        if (resource.group, resource.kind) in self._defined:
            return True
        return resource.namespaced and query.namespace in self._all_ours

    def _matching(self, resource: ApiResource, query: ResourceQuery) -> Sequence[KubeObject]:
        found = []
        selector = parse_selector(query.selector) if query.selector is not None else None
        for obj in self._objects:
            group = str(obj.data.get("apiVersion", "")).rpartition("/")[0]
            if _kind(obj) != resource.kind or group != resource.group:
                continue
            if resource.namespaced and (obj.namespace or "default") != query.namespace:
                continue
            if query.name is not None and obj.name != query.name:
                continue
            if selector is None or selector.matches(obj.labels):
                found.append(obj)
        return found


def _kind(obj: KubeObject) -> JsonValue:
    return obj.data.get("kind")


def _defined(crd: JsonObject) -> tuple[str, str]:
    """Return group and kind of what a CustomResourceDefinition defines."""
    spec = crd.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(names, dict):
        return "", ""
    return str(spec.get("group", "")), str(names.get("kind", ""))


def _decides(resource: ApiResource, node: ResourceProperty, path: Path, obj: KubeObject) -> bool:
    """Return whether what the setup writes is what will be read at the path."""
    if path.may_read_status:
        return False
    if resource.kind == "Secret" and obj.data.get("type") == _TOKEN:
        return False  # a controller fills it in
    builtin = is_built_in(resource)
    if builtin and obj.data.get("apiVersion") != resource.api_version:
        return False  # the server converts it
    if builtin and any(isinstance(step, Descend) for step in path.steps):
        return False
    names = tuple(step.name for step in path.steps if isinstance(step, Name))
    if not obj.namespace and path.may_read("metadata", "namespace"):
        return False  # the server fills in the one that it is created in
    if not stays_as_written(resource, names, plural=path.is_plural):
        return False
    found = path.find(obj.data).elements
    return all(_is_certain(resource, node, names, element) for element in found)


def _is_certain(
    resource: ApiResource, node: ResourceProperty, names: tuple[str, ...], element: Element
) -> bool:
    if element is MISSING:
        return resource.kind in _FREE_FORM
    if has_placeholder(str(element)) or not is_kept(resource, names, element):
        return False
    if not is_built_in(resource):
        return True
    if isinstance(element, dict | list) and node.op in ("eq", "ne"):
        # The server fills fields in below; only maps of texts and lists of texts stay as they are.
        if isinstance(element, dict):
            return is_free_map(names) and names != ("metadata", "labels")
        return all(isinstance(one, str) for one in element)
    # It writes quantities in a form of its own, which only a comparison of numbers does not mind.
    is_text = node.op in ("matches", "contains") and isinstance(element, str)
    return not (is_text and is_marked(str(element)) and resource.kind not in _FREE_FORM)
