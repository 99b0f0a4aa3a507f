"""The kinds that a check may name: Kubernetes' own, and those of CustomResourceDefinitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.resources import ApiResource, Catalogue
from devops_bench.lint.schemas import Shape

CLUSTER_SCOPED: Final = frozenset(
    {
        "APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole",
        "ClusterRoleBinding", "ClusterTrustBundle", "ComponentStatus", "CustomResourceDefinition",
        "DeviceClass", "DeviceTaintRule", "FlowSchema", "IPAddress", "IngressClass",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
        "Namespace", "Node", "PersistentVolume", "PriorityClass", "PriorityLevelConfiguration",
        "ResourcePoolStatusRequest", "ResourceSlice", "RuntimeClass", "ServiceCIDR", "StorageClass",
        "StorageVersion", "StorageVersionMigration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
        "VolumeAttributesClass",
    }
)  # fmt: skip
"""Kinds of Kubernetes whose objects live in no namespace (``kubectl api-resources``)."""

_SHORT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "CertificateSigningRequest": ("csr",), "ComponentStatus": ("cs",), "ConfigMap": ("cm",),
    "CronJob": ("cj",), "CustomResourceDefinition": ("crd", "crds"), "DaemonSet": ("ds",),
    "Deployment": ("deploy",), "Endpoints": ("ep",), "Event": ("ev",),
    "HorizontalPodAutoscaler": ("hpa",), "IPAddress": ("ip",), "Ingress": ("ing",),
    "LimitRange": ("limits",), "Namespace": ("ns",), "NetworkPolicy": ("netpol",), "Node": ("no",),
    "PersistentVolume": ("pv",), "PersistentVolumeClaim": ("pvc",), "Pod": ("po",),
    "PodDisruptionBudget": ("pdb",), "PriorityClass": ("pc",), "ReplicaSet": ("rs",),
    "ReplicationController": ("rc",), "ResourceQuota": ("quota",), "Service": ("svc",),
    "ServiceAccount": ("sa",), "StatefulSet": ("sts",), "StorageClass": ("sc",),
    "VolumeAttributesClass": ("vac",),
}  # fmt: skip

_NOT_STORED: Final = frozenset(
    {
        "Binding", "DeleteOptions", "Eviction", "LocalSubjectAccessReview", "Scale",
        "SelfSubjectAccessReview", "SelfSubjectReview", "SelfSubjectRulesReview", "Status",
        "SubjectAccessReview", "TokenRequest", "TokenReview",
    }
)  # fmt: skip
"""Kinds that are only sent to the server, never read from it."""

_COMMON: Final[Mapping[str, str]] = {
    "v1": "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service "
    "ServiceAccount",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1": "APIService",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
    "node.k8s.io/v1": "RuntimeClass",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "CSIDriver CSINode StorageClass VolumeAttachment",
}
"""What is known without the schemas: names, so that a kind can still be told from a slip."""

_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds by the names that kubectl knows them by, with their schemas where there are any.

    Attributes:
        catalogue: Every kind in the order of preference.
        shapes: The schema of an object by ``apiVersion`` and ``kind``.
        version: The version of Kubernetes that the schemas are of; ``None`` without schemas.
    """

    catalogue: Catalogue
    shapes: Mapping[tuple[str, str], Shape] = field(default_factory=dict)
    version: str | None = None

    def find(self, text: str) -> ApiResource | None:
        """Return what kubectl means by ``text``."""
        return self.catalogue.find(text)

    def shape(self, resource: ApiResource) -> Shape | None:
        """Return the schema of its objects, ``None`` when there is none."""
        return self.shapes.get((resource.api_version, resource.kind))

    def with_definitions(self, objects: Iterable[JsonObject]) -> Kinds:
        """Return these kinds and those that CustomResourceDefinitions among ``objects`` add."""
        added = [one for obj in objects if obj.get("kind") == _CRD for one in _custom(obj, self)]
        if not added:
            return self
        resources = (*self.catalogue.resources, *(resource for resource, _ in added))
        shapes = {(one.api_version, one.kind): shape for one, shape in added if shape is not None}
        return Kinds(Catalogue(resources), {**self.shapes, **shapes}, self.version)


_CRD: Final = "CustomResourceDefinition"


def common_kinds() -> Kinds:
    """Return the kinds that are known without any schemas."""
    named = (
        (*_group_version(api_version), kind)
        for api_version, kinds in _COMMON.items()
        for kind in kinds.split()
    )
    return Kinds(Catalogue(tuple(_builtin(*one) for one in named)))


def kinds_of(definitions: Mapping[str, JsonValue], version: str) -> Kinds:
    """Return the kinds of a version of Kubernetes.

    Args:
        definitions: See :func:`devops_bench.lint.schemas.load_definitions`.
        version: The version, for messages.
    """
    found: dict[tuple[str, str, str], Shape] = {}
    for raw in definitions.values():
        name = _stored_kind(raw)
        if name is not None and isinstance(raw, dict):
            found[name] = Shape(raw, definitions)
    ordered = sorted(found, key=lambda one: (one[0] != "", one[0], _priority(one[1]), one[2]))
    resources = tuple(_builtin(*name) for name in ordered)
    shapes = {(one.api_version, one.kind): shape for one, shape in _paired(resources, found)}
    return Kinds(Catalogue(resources), shapes, version)


def _paired(
    resources: Iterable[ApiResource], found: Mapping[tuple[str, str, str], Shape]
) -> Iterator[tuple[ApiResource, Shape]]:
    for one in resources:
        yield one, found[(one.group, one.version, one.kind)]


def _stored_kind(raw: JsonValue) -> tuple[str, str, str] | None:
    """Return group, version and kind of a definition whose objects the server keeps."""
    if not isinstance(raw, dict):
        return None
    named, properties = raw.get("x-kubernetes-group-version-kind"), raw.get("properties")
    if not isinstance(named, list) or len(named) != 1 or not isinstance(properties, dict):
        return None
    one = named[0]
    if not isinstance(one, dict) or "metadata" not in properties:
        return None
    group, version, kind = (str(one.get(key, "")) for key in ("group", "version", "kind"))
    if kind in _NOT_STORED or ("items" in properties and kind.endswith("List")):
        return None
    return group, version, kind


def _builtin(group: str, version: str, kind: str) -> ApiResource:
    singular = kind.lower()
    return ApiResource(
        group=group,
        version=version,
        resource=_plural(singular),
        kind=kind,
        namespaced=kind not in CLUSTER_SCOPED,
        singular=singular,
        short_names=_SHORT_NAMES.get(kind, ()),
    )


def _plural(singular: str) -> str:
    if singular == "endpoints":
        return singular
    if singular.endswith(("s", "x", "ch", "sh")):
        return f"{singular}es"
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return f"{singular[:-1]}ies"
    return f"{singular}s"


def _priority(version: str) -> tuple[int, int, int]:
    """Sort versions as Kubernetes prefers them: stable before beta before alpha, newest first.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stage, -int(match[1]), -int(match[3] or 0))


def _group_version(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


def _custom(crd: JsonObject, known: Kinds) -> list[tuple[ApiResource, Shape | None]]:
    """Return the kinds of one CustomResourceDefinition; what it lacks is the server's to refuse."""
    spec = crd.get("spec")
    if not isinstance(spec, dict) or not isinstance(names := spec.get("names"), dict):
        return []
    versions = [one for one in _list(spec.get("versions")) if isinstance(one, dict)]
    served = [one for one in versions if one.get("served") is not False]
    found: list[tuple[ApiResource, Shape | None]] = []
    for version in sorted(served, key=lambda one: _priority(str(one.get("name")))):
        kind = str(names.get("kind", ""))
        resource = ApiResource(
            group=str(spec.get("group", "")),
            version=str(version.get("name", "")),
            resource=str(names.get("plural", _plural(kind.lower() or "x"))),
            kind=kind,
            namespaced=spec.get("scope") != "Cluster",
            singular=str(names.get("singular") or kind.lower()),
            short_names=tuple(str(one) for one in _list(names.get("shortNames"))),
        )
        found.append((resource, _custom_shape(version, known)))
    return found


def _custom_shape(version: JsonObject, known: Kinds) -> Shape | None:
    schema = version.get("schema")
    raw = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    if not isinstance(raw, dict):
        return None
    definitions = next((shape.definitions for shape in known.shapes.values()), {})
    metadata: JsonObject = {"$ref": "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    own = raw.get("properties")
    properties: JsonObject = {
        **(own if isinstance(own, dict) else {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": metadata if definitions else {},
    }
    if raw.get("type", "object") == "object" and own is None:
        return Shape({**raw, "x-kubernetes-preserve-unknown-fields": True}, definitions)
    return Shape({**raw, "type": "object", "properties": properties}, definitions)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
