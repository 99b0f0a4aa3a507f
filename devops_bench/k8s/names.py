"""What objects can be called. Pure."""

from __future__ import annotations

import re
from typing import Final

_MAX_LENGTH: Final = 253
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PLAIN_NAMES: Final = frozenset(
    {
        "/ConfigMap", "/LimitRange", "/Namespace", "/PersistentVolume", "/PersistentVolumeClaim",
        "/Pod", "/ResourceQuota", "/Secret", "/Service", "/ServiceAccount", "apps/DaemonSet",
        "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet",
        "autoscaling/HorizontalPodAutoscaler", "batch/CronJob", "batch/Job",
        "networking.k8s.io/Ingress", "networking.k8s.io/NetworkPolicy",
        "policy/PodDisruptionBudget", "scheduling.k8s.io/PriorityClass",
        "storage.k8s.io/StorageClass",
    }
)  # fmt: skip
"""Kinds whose objects are named by subdomains of RFC 1123, and by nothing else."""


def is_dns_subdomain(text: str) -> bool:
    """Return whether it is a subdomain by RFC 1123, as the names of most kinds are.

    Some kinds take more (roles and their bindings, certificate signing requests), some less:
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names/.
    """
    return len(text) <= _MAX_LENGTH and _SUBDOMAIN.fullmatch(text) is not None


def has_plain_names(group: str, kind: str) -> bool:
    """Return whether the server certainly takes no other names than subdomains for the kind."""
    return f"{group}/{kind}" in _PLAIN_NAMES


def plain_name_hint(name: str) -> str:
    """Return what to write instead of ``name``, which no object can have."""
    last = name.rpartition("/")[2].lower()
    if is_dns_subdomain(last):
        return f"did you mean {last!r}?"
    return "a name has lower-case letters, digits, - and ., and begins and ends with one of a-z0-9"
