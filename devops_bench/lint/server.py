"""What the API server makes of objects that it is sent: what it fills in, drops and never returns.

The tables are measured: objects with nothing but what they need, by ``kubectl create
--dry-run=server`` on Kubernetes 1.36. None of it is in the schemas, which name defaults for few
fields and say nothing about what is only ever written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from devops_bench.core.json import JsonValue
from devops_bench.k8s.resources import ApiResource

_POD: Final = [
    "dnsPolicy",
    "restartPolicy",
    "schedulerName",
    "securityContext",
    "terminationGracePeriodSeconds",
]
_TEMPLATE: Final = " ".join(f"spec.template.spec.{name}" for name in _POD)
_CRON_POD: Final = " ".join(f"spec.jobTemplate.spec.template.spec.{name}" for name in _POD)

_FILLED_IN: Final[Mapping[str, str]] = {
    "apps/Deployment": "metadata.generation spec.progressDeadlineSeconds spec.replicas "
    f"spec.revisionHistoryLimit spec.strategy spec.strategy.type {_TEMPLATE}",
    "apps/StatefulSet": "metadata.generation spec.podManagementPolicy spec.replicas "
    f"spec.revisionHistoryLimit spec.updateStrategy spec.updateStrategy.type {_TEMPLATE}",
    "apps/ReplicaSet": f"metadata.generation spec.replicas {_TEMPLATE}",
    "apps/DaemonSet": "metadata.generation spec.revisionHistoryLimit spec.updateStrategy "
    f"spec.updateStrategy.type {_TEMPLATE}",
    "/ReplicationController": f"metadata.generation spec.replicas {_TEMPLATE}",
    "batch/CronJob": "metadata.generation spec.concurrencyPolicy spec.failedJobsHistoryLimit "
    f"spec.successfulJobsHistoryLimit spec.suspend {_CRON_POD}",
    "batch/Job": "metadata.generation spec.backoffLimit spec.completionMode spec.parallelism "
    f"spec.podReplacementPolicy spec.suspend {_TEMPLATE}",
    "autoscaling/HorizontalPodAutoscaler": "spec.minReplicas",
    "apiextensions.k8s.io/CustomResourceDefinition": "spec.conversion spec.conversion.strategy "
    "spec.names.listKind spec.names.singular",
    "networking.k8s.io/NetworkPolicy": "metadata.generation spec.policyTypes",
    "scheduling.k8s.io/PriorityClass": "preemptionPolicy",
    "storage.k8s.io/StorageClass": "reclaimPolicy volumeBindingMode",
    "/Namespace": "spec.finalizers status status.phase",
    "/PersistentVolume": "spec.persistentVolumeReclaimPolicy spec.volumeMode",
    "/PersistentVolumeClaim": "spec.volumeMode",
    "/Pod": " ".join(f"spec.{name}" for name in (*_POD, "enableServiceLinks", "priority")),
    "/Secret": "type",
    "/Service": "spec.sessionAffinity spec.type",
}

_EVERY_OBJECT: Final = frozenset(
    {
        ("apiVersion",),
        ("kind",),
        ("metadata",),
        ("metadata", "creationTimestamp"),
        ("metadata", "name"),
        ("metadata", "resourceVersion"),
        ("metadata", "uid"),
    }
)

_GROUPS: Final = frozenset(
    f"{name}.k8s.io"
    for name in [
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    ]
)
"""Kubernetes' own groups with a dot; every group of a CustomResourceDefinition has one, too."""

_SERVERS_OWN: Final = frozenset(
    [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    ]
)
"""Below ``metadata``: whatever a client writes there, the server has its own."""

_KEPT_WHEN_EMPTY: Final = frozenset(
    [
        "allowPrivilegeEscalation",
        "automountServiceAccountToken",
        "backoffLimit",
        "completions",
        "immutable",
        "maxUnavailable",
        "minAvailable",
        "minReplicas",
        "parallelism",
        "privileged",
        "readOnlyRootFilesystem",
        "replicas",
        "runAsNonRoot",
        "runAsUser",
        "suspend",
    ]
)
"""Fields in which 0 and false are kept; most others are not returned with such a value."""

_ASKERS: Final = frozenset(["extra", "groups", "uid", "username"])
"""Below a CertificateSigningRequest's ``spec``: who asks, as the server knows it."""

_GROWING: Final = frozenset(
    ["finalizers", "imagePullSecrets", "taints", "tolerations", "volumeMounts", "volumes"]
)
"""Lists that the server or a controller adds to."""

_FREE_MAPS: Final = frozenset(
    {
        "annotations", "binaryData", "data", "hard", "labels", "limits", "matchLabels",
        "nodeSelector", "requests", "selector",
    }
)  # fmt: skip

_COUNTS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        [
            "availableReplicas",
            "backoffLimit",
            "completions",
            "currentReplicas",
            "desiredReplicas",
            "failedJobsHistoryLimit",
            "generation",
            "minReadySeconds",
            "minReplicas",
            "observedGeneration",
            "parallelism",
            "progressDeadlineSeconds",
            "readyReplicas",
            "replicas",
            "restartCount",
            "revisionHistoryLimit",
            "successfulJobsHistoryLimit",
            "terminationGracePeriodSeconds",
            "unavailableReplicas",
            "updatedReplicas",
        ],
        0,
    ),
    "maxReplicas": 1,
    "nodePort": 0,
    "port": 1,
}
"""The least value that the server takes in a field of that name."""


def is_built_in(resource: ApiResource) -> bool:
    """Return whether the kind is Kubernetes' own, not that of a CustomResourceDefinition."""
    return "." not in resource.group or resource.group in _GROUPS


def is_always_there(resource: ApiResource, names: tuple[str, ...]) -> bool:
    """Return whether the server sees to it that every object of the kind has the field."""
    if names in _EVERY_OBJECT or (resource.namespaced and names == ("metadata", "namespace")):
        return True
    return ".".join(names) in filled_in(resource)


def filled_in(resource: ApiResource) -> tuple[str, ...]:
    """Return the paths that the server fills in on every object of the kind."""
    return tuple(_FILLED_IN.get(f"{resource.group}/{resource.kind}", "").split())


def never_returned(resource: ApiResource, names: tuple[str, ...]) -> tuple[str, str] | None:
    """Return why nothing is ever read at the field or below, and what to read instead.

    Args:
        resource: The kind.
        names: The names that a path begins with.

    Returns:
        Two clauses for a message, ``None`` for a field that can be read.
    """
    if (resource.group, resource.kind) == ("", "Secret") and names[:1] == ("stringData",):
        key = ".".join(("data", *names[1:2]))
        why = "stringData is only written: the server moves it to data, and never returns it"
        return why, f"read {key}, which holds it in base64"
    if names[:2] == ("metadata", "selfLink"):
        return "the server no longer sets metadata.selfLink", "read name, namespace or uid"
    return None


def least_value(resource: ApiResource, name: str) -> int | None:
    """Return the least whole number that the server takes in a field of this name."""
    return _COUNTS.get(name) if is_built_in(resource) else None


def stays_as_written(resource: ApiResource, names: tuple[str, ...], *, plural: bool) -> bool:
    """Return whether what a setup writes at a path is all that is read there.

    Args:
        resource: The kind.
        names: The names of the path, without its indices and wildcards.
        plural: Whether it may find several elements.
    """
    if names[:1] == ("metadata",) and not _SERVERS_OWN.isdisjoint(names[1:2]):
        return False
    if resource.kind == "CertificateSigningRequest" and not _ASKERS.isdisjoint(names[1:2]):
        return False
    return not (plural and is_built_in(resource) and not _GROWING.isdisjoint(names))


def is_kept(resource: ApiResource, names: tuple[str, ...], value: JsonValue) -> bool:
    """Return whether the server keeps a value that a setup writes into the field.

    Most fields of its own kinds are dropped when they hold 0, false or nothing.
    """
    if value or not is_built_in(resource) or not names:
        return True
    return names[-1] in _KEPT_WHEN_EMPTY or is_free_map(names[:-1])


def is_free_map(names: tuple[str, ...]) -> bool:
    """Return whether a field of Kubernetes' own kinds is a map whose keys are the author's."""
    return names[-1:] != () and names[-1] in _FREE_MAPS
