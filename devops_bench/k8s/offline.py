"""A picture of the objects in manifests: what kinds mean without a server to ask. Pure.

Kinds are resolved by the same rules as a server's (:class:`Catalogue`), over the kinds that every
cluster has and those of the objects themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource, Catalogue
from devops_bench.k8s.stored import as_stored
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, Snapshot, Unreadable
from devops_bench.k8s.watch.tables import Matcher

DEFAULT_NAMESPACE: Final = "default"
"""Where kubectl puts objects that name no namespace."""

# group/version: kind, short names and !: cluster-scoped. As `kubectl api-resources` of 1.36 has it,
# and below it the version that the server serves as well.
_BUILT_IN: Final = """
v1: ConfigMap=cm Endpoints=ep Event=ev LimitRange=limits Namespace=ns! Node=no!
 PersistentVolume=pv! PersistentVolumeClaim=pvc Pod=po PodTemplate ReplicationController=rc
 ResourceQuota=quota Secret Service=svc ServiceAccount=sa
apps/v1: ControllerRevision DaemonSet=ds Deployment=deploy ReplicaSet=rs StatefulSet=sts
autoscaling/v2: HorizontalPodAutoscaler=hpa
autoscaling/v1: HorizontalPodAutoscaler=hpa
batch/v1: CronJob=cj Job
certificates.k8s.io/v1: CertificateSigningRequest=csr!
coordination.k8s.io/v1: Lease
discovery.k8s.io/v1: EndpointSlice
events.k8s.io/v1: Event=ev
flowcontrol.apiserver.k8s.io/v1: FlowSchema! PriorityLevelConfiguration!
networking.k8s.io/v1: Ingress=ing IngressClass! IPAddress=ip! NetworkPolicy=netpol ServiceCIDR!
node.k8s.io/v1: RuntimeClass!
policy/v1: PodDisruptionBudget=pdb
rbac.authorization.k8s.io/v1: ClusterRole! ClusterRoleBinding! Role RoleBinding
resource.k8s.io/v1: DeviceClass! ResourceClaim ResourceClaimTemplate ResourceSlice!
scheduling.k8s.io/v1: PriorityClass=pc!
storage.k8s.io/v1: CSIDriver! CSINode! CSIStorageCapacity StorageClass=sc! VolumeAttachment!
 VolumeAttributesClass=vac!
admissionregistration.k8s.io/v1: MutatingAdmissionPolicy! MutatingAdmissionPolicyBinding!
 MutatingWebhookConfiguration! ValidatingAdmissionPolicy! ValidatingAdmissionPolicyBinding!
 ValidatingWebhookConfiguration!
apiextensions.k8s.io/v1: CustomResourceDefinition=crd,crds!
apiregistration.k8s.io/v1: APIService!
"""


class ManifestView:
    """What some objects show, as if a cluster held them and nothing else.

    Args:
        objects: Objects as :func:`~devops_bench.k8s.manifests.read_manifests` returns them.
        origin: Where they come from, for messages.
    """

    def __init__(self, objects: Sequence[JsonObject], origin: str) -> None:
        self._origin = origin
        self._catalogue = Catalogue((*_BUILT_IN_KINDS.resources, *_own_kinds(objects)))
        self._objects = [self._placed(data) for data in objects]

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> Snapshot:
        """Return a view that answers each of ``queries``; nothing takes time here."""
        del timeout_sec
        return Snapshot({query: self._read(query) for query in queries})

    def _read(self, query: ResourceQuery) -> Reading:
        resource = self._catalogue.find(query.kind)
        if resource is None:
            return Unreadable(
                f"what {query.kind!r} means cannot be told without a server: no kind of that name "
                f"is built in, and no object of {self._origin} has it"
            )
        matcher = Matcher([query], resource.namespaced)
        found = [
            obj
            for obj in self._objects
            if obj.data.get("kind") == resource.kind
            and _group(obj.data) == resource.group
            and matcher.matching(obj)
        ]
        other = next((obj for obj in found if _is_converted(obj.data, resource)), None)
        if other is not None:
            return Unreadable(
                f"{resource.kind} {other.name} of {self._origin} is of {other.data['apiVersion']}, "
                f"{query.kind!r} reads {resource.api_version}: only a server converts them"
            )
        found.sort(key=lambda obj: (obj.namespace, obj.name))
        return Matched(tuple(found))

    def _placed(self, data: JsonObject) -> KubeObject:
        """Return an object as a server would keep it, in the namespace that applying gives it."""
        data = as_stored(data)
        obj = KubeObject(data)
        resource = self._catalogue.find_exact(str(data.get("apiVersion")), str(data.get("kind")))
        if obj.namespace or (resource is not None and not resource.namespaced):
            return obj
        return KubeObject({**data, "metadata": {**obj.metadata, "namespace": DEFAULT_NAMESPACE}})


def _is_converted(data: JsonObject, resource: ApiResource) -> bool:
    """Return whether a server would show the object in another form than it has.

    A custom kind's versions differ in nothing but their name, unless a webhook converts them.
    """
    is_built_in = _BUILT_IN_KINDS.find_exact(resource.api_version, resource.kind) is not None
    return is_built_in and data.get("apiVersion") != resource.api_version


def _built_in() -> list[ApiResource]:
    found: list[ApiResource] = []
    api_version = ""
    for word in _BUILT_IN.split():
        if word.endswith(":"):
            api_version = word[:-1]
            continue
        kind, _, short = word.rstrip("!").partition("=")
        shorts = tuple(short.split(",")) if short else ()
        found.append(_resource(api_version, kind, not word.endswith("!"), shorts))
    return found


def _own_kinds(objects: Sequence[JsonObject]) -> list[ApiResource]:
    """Return the kinds of the objects that are not built in; CustomResourceDefinitions help."""
    known = {(item.group, item.kind) for item in _BUILT_IN_KINDS.resources}
    found = [resource for data in objects for resource in _defined(data)]
    known |= {(item.group, item.kind) for item in found}
    for data in objects:
        api_version, kind = str(data.get("apiVersion")), str(data.get("kind"))
        if (_group(data), kind) not in known:
            known.add((_group(data), kind))
            # Without its definition nobody knows; most kinds live in namespaces.
            found.append(_resource(api_version, kind, True, ()))
    return found


def _defined(data: JsonObject) -> list[ApiResource]:
    spec = data.get("spec")
    if data.get("kind") != "CustomResourceDefinition" or not isinstance(spec, dict):
        return []
    names, versions = spec.get("names"), spec.get("versions")
    if not isinstance(names, dict) or not isinstance(versions, list):
        return []
    short = names.get("shortNames")
    kind = str(names.get("kind"))
    return [
        ApiResource(
            group=str(spec.get("group")),
            version=str(item.get("name")),
            resource=str(names.get("plural")),
            kind=kind,
            namespaced=spec.get("scope") == "Namespaced",
            singular=str(names.get("singular") or kind.lower()),
            short_names=tuple(map(str, short)) if isinstance(short, list) else (),
        )
        for item in versions
        if isinstance(item, dict)
    ]


def _resource(
    api_version: str, kind: str, namespaced: bool, short_names: tuple[str, ...]
) -> ApiResource:
    group, _, version = api_version.rpartition("/")
    singular = kind.lower()
    return ApiResource(
        group=group,
        version=version,
        resource=_plural(singular),
        kind=kind,
        namespaced=namespaced,
        singular=singular,
        short_names=short_names,
    )


def _plural(singular: str) -> str:
    """Return the plural as kubectl guesses it (UnsafeGuessKindToResource in apimachinery)."""
    if singular == "endpoints":
        return singular
    if singular.endswith("s"):
        return f"{singular}es"
    if singular.endswith("y"):
        return f"{singular[:-1]}ies"
    return f"{singular}s"


def _group(data: JsonObject) -> str:
    return str(data.get("apiVersion")).rpartition("/")[0]


def built_in(kind: str) -> ApiResource | None:
    """Return the built-in kind that a word of an author means, ``None`` for another kind."""
    return _BUILT_IN_KINDS.find(kind)


def same_kind(left: str, right: str) -> bool:
    """Return whether two words of authors mean the same kind on every cluster.

    Words for kinds that are not built in are only the same when they are equal but for their case.
    """
    if left.lower() == right.lower():
        return True
    found = _BUILT_IN_KINDS.find(left)
    return found is not None and found == _BUILT_IN_KINDS.find(right)


_BUILT_IN_KINDS: Final = Catalogue(tuple(_built_in()))
