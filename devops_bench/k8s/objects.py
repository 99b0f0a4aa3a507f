"""A Kubernetes object as the API server sent it, with names for what everybody reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue

OBSERVING_KINDS: Final[frozenset[tuple[str, str]]] = frozenset(
    {
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("", "ReplicationController"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("policy", "PodDisruptionBudget"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    }
)
"""Group and kind of what always gets a ``status.observedGeneration`` from its controller.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/deployment-v1/ and the pages
of the other kinds. A Pod is not among them: not every kubelet writes it.
"""


@dataclass(frozen=True, slots=True)
class KubeObject:
    """One object, read-only by agreement: nobody changes ``data``.

    Attributes:
        data: The parsed JSON.
    """

    data: JsonObject

    @property
    def metadata(self) -> JsonObject:
        """The ``metadata`` object, empty when it is missing or not an object."""
        return _object(self.data.get("metadata"))

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return _text(self.metadata.get("name"))

    @property
    def namespace(self) -> str:
        """``metadata.namespace``, empty for a cluster-scoped object."""
        return _text(self.metadata.get("namespace"))

    @property
    def uid(self) -> str:
        """``metadata.uid``."""
        return _text(self.metadata.get("uid"))

    @property
    def resource_version(self) -> str:
        """``metadata.resourceVersion``."""
        return _text(self.metadata.get("resourceVersion"))

    @property
    def labels(self) -> dict[str, str]:
        """``metadata.labels``."""
        return {key: _text(value) for key, value in _object(self.metadata.get("labels")).items()}

    @property
    def deleting(self) -> bool:
        """Whether ``metadata.deletionTimestamp`` is set."""
        return self.metadata.get("deletionTimestamp") is not None

    @property
    def group(self) -> str:
        """The group of ``apiVersion``, empty for the core group."""
        return _text(self.data.get("apiVersion")).rpartition("/")[0]

    @property
    def is_observed(self) -> bool:
        """Whether its kind is one whose controller says which generation it has seen."""
        return (self.group, _text(self.data.get("kind"))) in OBSERVING_KINDS

    @property
    def status_is_stale(self) -> bool:
        """Whether ``status.observedGeneration`` is behind ``metadata.generation``.

        In an object of :data:`OBSERVING_KINDS` a missing one is behind too: no controller has
        written the status yet. Of other kinds an object without either field is never stale
        (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md).
        """
        generation = self.metadata.get("generation")
        observed = _object(self.data.get("status")).get("observedGeneration")
        if not isinstance(observed, int) and self.is_observed:
            observed = 0
        if not isinstance(generation, int) or not isinstance(observed, int):
            return False
        return observed < generation


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
