"""Custom kinds and APIServices for the tests to define, change and take away."""

from __future__ import annotations

from devops_bench.core.errors import ApiError, ClusterError
from devops_bench.core.json import JsonObject
from tests.integration.watch.control_plane import until
from tests.integration.watch.observing import Bench

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
MERGE = "application/merge-patch+json"


class Kind:
    """A custom kind of the test's own, under the same name in whatever group."""

    def __init__(self, at: Bench, group: str = "example.org") -> None:
        self._admin = at.plane.admin
        self.plural = f"gizmos{at.namespace.removeprefix('watch-')}"
        self.group = f"{at.namespace}.{group}"
        self.path = f"/apis/{self.group}/v1/namespaces/{at.namespace}/{self.plural}"

    def create(self, **spec_properties: JsonObject) -> None:
        names: JsonObject = {"plural": self.plural, "kind": self.plural.title()}
        version: JsonObject = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema_of(spec_properties or {"v": {"type": "string"}})},
        }
        body: JsonObject = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        }
        self._admin.request("POST", CRDS, body=body, timeout_sec=10)
        until("the kind is served", self._served)

    def change(self, patch: list[JsonObject]) -> None:
        # A JSON patch is a list, which the client's type does not allow for: one merge at a time.
        for operation in patch:
            self._admin.request(
                "PATCH",
                f"{CRDS}/{self.plural}.{self.group}",
                body=operation,
                content_type=MERGE,
                timeout_sec=10,
            )

    def put(self, v: str, name: str = "it", **more: str) -> None:
        body: JsonObject = {
            "apiVersion": f"{self.group}/v1",
            "kind": self.plural.title(),
            "metadata": {"name": name},
            "spec": {"v": v, **more},
        }
        until("the schema is served", lambda: self._applied(name, body))

    def delete(self, name: str = "it") -> None:
        self._admin.request("DELETE", f"{self.path}/{name}", timeout_sec=10)

    def undefine(self) -> None:
        """Delete the kind itself."""
        path = f"{CRDS}/{self.plural}.{self.group}"
        self._admin.request("DELETE", path, timeout_sec=10)
        until("the kind is gone", lambda: not self._served())

    def set_schema(self, **spec_properties: JsonObject) -> None:
        """Change what the objects look like."""
        schema: JsonObject = {"openAPIV3Schema": schema_of(spec_properties)}
        version: JsonObject = {"name": "v1", "served": True, "storage": True, "schema": schema}
        self.change([{"spec": {"versions": [version]}}])

    def _applied(self, name: str, body: JsonObject) -> bool:
        try:
            self._admin.request(
                "PATCH",
                f"{self.path}/{name}?fieldManager=test&force=true",
                body=body,
                content_type="application/apply-patch+yaml",
                timeout_sec=10,
            )
        except ApiError as exc:
            # A definition that was changed is served as it was for a moment.
            if "field not declared in schema" not in str(exc):
                raise
            return False
        return True

    def _served(self) -> bool:
        try:
            self._admin.request("GET", self.path, timeout_sec=5)
        except ClusterError:
            return False
        return True


def schema_of(properties: dict[str, JsonObject]) -> JsonObject:
    spec: JsonObject = {"type": "object", "properties": dict(properties)}
    return {"type": "object", "properties": {"spec": spec}}


def patch_service(at: Bench, name: str, patch: JsonObject, subresource: str = "") -> None:
    """Change an APIService."""
    path = f"{SERVICES}/{name}{subresource}"
    at.plane.admin.request("PATCH", path, body=patch, content_type=MERGE, timeout_sec=10)


def pointed_at(at: Bench) -> JsonObject:
    """Return the patch that points an APIService at a Service of the test's namespace."""
    service: JsonObject = {"name": "mine", "namespace": at.namespace, "port": 443}
    return {"spec": {"service": service, "insecureSkipTLSVerify": True}}


BACK: JsonObject = {"spec": {"service": None, "insecureSkipTLSVerify": None}}
"""Undoes :func:`pointed_at`."""
