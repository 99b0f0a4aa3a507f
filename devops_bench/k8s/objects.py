"""A Kubernetes object as the API server sent it, with names for what everybody reads."""

from __future__ import annotations

from dataclasses import dataclass

from devops_bench.core.json import JsonObject, JsonValue


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
    def status_is_stale(self) -> bool:
        """Whether ``status.observedGeneration`` is behind ``metadata.generation``.

        An object without either field is never stale
        (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md).
        """
        generation = self.metadata.get("generation")
        observed = _object(self.data.get("status")).get("observedGeneration")
        if not isinstance(generation, int) or not isinstance(observed, int):
            return False
        return observed < generation


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
