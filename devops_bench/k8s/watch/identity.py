"""Whether what is read is still what was read at the baseline.

A kind's URL can be pointed at another server (an APIService with a service), and the address can
lead to another cluster. Both are fixed at the baseline and looked at again whenever a connection
was opened anew, after it was opened: then what it brought came from the same place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource

_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FORBIDDEN = frozenset({403, 404})


@dataclass(frozen=True, slots=True)
class Served:
    """Who serves one group and version.

    Attributes:
        uid: The APIService's uid.
        version: Its resourceVersion: unchanged means that it was not pointed elsewhere in between.
        remote: ``namespace/name`` of the Service behind it, empty for the API server itself.
        automatic: Whether the API server made it for a CustomResourceDefinition.
    """

    uid: str
    version: str
    remote: str
    automatic: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found.

    Attributes:
        cluster: The uid of the namespace ``kube-system``; ``None`` where it may not be read.
        served: By ``group/version``; ``None`` where APIServices may not be read.
        schemas: By resource, what the schema of a custom kind is; built-in kinds are not in it.
        requests: How many requests it took.
        cluster_why: Why the first may not be read: what the server said.
        served_why: Why the second may not be read.
    """

    cluster: str | None
    served: Mapping[str, Served] | None
    schemas: Mapping[ApiResource, JsonValue]
    requests: int
    cluster_why: str = ""
    served_why: str = ""

    def unverified(self) -> tuple[str, ...]:
        """Return what may not be read, so that a change of it would not be noticed."""
        missing = []
        if self.cluster is None:
            missing.append("the uid of the namespace kube-system may not be read")
        if self.served is None:
            missing.append("who serves which kind (APIServices) may not be read")
        return tuple(missing)


def read_facts(
    client: ApiClient,
    resources: Iterable[ApiResource],
    timeout_sec: float,
    clock: Clock = SYSTEM_CLOCK,
) -> Facts:
    """Look at what serves some kinds now.

    Args:
        client: The connection.
        resources: The kinds.
        timeout_sec: Seconds that all of it may take, > 0.
        clock: Where durations come from.

    Raises:
        ApiError: The server answered with an error other than that reading is not permitted.
        ApiUnavailableError: It did not answer.
    """
    deadline = clock.monotonic() + timeout_sec

    def get(path: str) -> JsonObject | str:
        left = deadline - clock.monotonic()
        if left <= 0:
            raise ApiUnavailableError(f"GET {path}: there was no time left")
        return _get(client, path, left)

    namespace, services = get(_KUBE_SYSTEM), get(_API_SERVICES)
    served = None if isinstance(services, str) else _served(services)
    schemas: dict[ApiResource, JsonValue] = {}
    for resource in dict.fromkeys(resources):
        entry = served.get(_name(resource)) if served is not None else None
        if entry is not None and entry.automatic:
            crd = get(f"{_CRDS}/{resource.resource}.{resource.group}")
            schemas[resource] = None if isinstance(crd, str) else read_schema(crd, resource.version)
    return Facts(
        None if isinstance(namespace, str) else KubeObject(namespace).uid,
        served,
        schemas,
        2 + len(schemas),
        namespace if isinstance(namespace, str) else "",
        services if isinstance(services, str) else "",
    )


def difference(before: Facts, now: Facts, resource: ApiResource) -> str | None:
    """Say what makes ``resource`` not the same kind of the same server any more, if anything does.

    What can no longer be read is not known to be the same, which is said in other words than that
    it is another.

    Returns:
        ``None`` when nothing does. What could not be read at the baseline is not compared.
    """
    if before.cluster is not None and now.cluster is None:
        return (
            "whether it is still the same cluster is not known: "
            f"the uid of kube-system can no longer be read: {now.cluster_why}"
        )
    if before.cluster is not None and now.cluster != before.cluster:
        return (
            "the address leads to another cluster: the uid of kube-system was "
            f"{before.cluster} and is {now.cluster}"
        )
    if before.served is None:
        return None
    if now.served is None:
        return (
            f"whether the same server still serves {resource} is not known: "
            f"APIServices can no longer be read: {now.served_why}"
        )
    old, new = before.served.get(_name(resource)), now.served.get(_name(resource))
    what = f"the APIService {resource.version}.{resource.group}"
    if new is None:
        return f"{what} is gone" if old is not None else f"{what} is not there"
    if new.remote:
        return f"{what} was pointed at the Service {new.remote}"
    if old is not None and (old.uid, old.version) != (new.uid, new.version):
        return f"{what} was changed during the run: who answered in between is not known"
    return None


def schema_changed(before: Facts, now: Facts, resource: ApiResource) -> bool:
    """Return whether the CustomResourceDefinition reads stored objects differently than before."""
    if resource not in before.schemas:
        return False
    return before.schemas[resource] != now.schemas.get(resource)


def remote_service(facts: Facts, resource: ApiResource) -> str | None:
    """Return ``namespace/name`` of the Service that serves a kind, ``None`` for the server itself.

    A kind that is served elsewhere has its own storage, or none: its revisions prove nothing.
    """
    entry = (facts.served or {}).get(_name(resource))
    return entry.remote if entry is not None and entry.remote else None


def read_schema(crd: JsonObject, version: str) -> JsonValue:
    """Return what decides how stored objects of a CustomResourceDefinition are read.

    Its conversion, its storage version, and the schema of ``version``.
    """
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return None
    versions = spec.get("versions")
    listed = (
        [item for item in versions if isinstance(item, dict)] if isinstance(versions, list) else []
    )
    return {
        "uid": KubeObject(crd).uid,
        "conversion": spec.get("conversion"),
        "preserve": spec.get("preserveUnknownFields"),
        "storage": [item.get("name") for item in listed if item.get("storage") is True],
        "schema": [item.get("schema") for item in listed if item.get("name") == version],
    }


def _get(client: ApiClient, path: str, timeout_sec: float) -> JsonObject | str:
    """Return an answer, or with what words the server refuses it."""
    try:
        return client.request("GET", path, timeout_sec=timeout_sec)
    except ApiError as exc:
        if exc.status in _FORBIDDEN:
            return f"HTTP {exc.status}: {exc}"
        raise


def _name(resource: ApiResource) -> str:
    return f"{resource.group}/{resource.version}"


def _served(services: JsonObject) -> dict[str, Served]:
    found: dict[str, Served] = {}
    items = services.get("items")
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        obj = KubeObject(item)
        spec = item.get("spec")
        if not isinstance(spec, dict):
            continue
        service = spec.get("service")
        remote = ""
        if isinstance(service, dict):
            remote = f"{service.get('namespace')}/{service.get('name')}"
        mode = obj.labels.get("kube-aggregator.kubernetes.io/automanaged", "")
        found[f"{spec.get('group', '')}/{spec.get('version', '')}"] = Served(
            obj.uid, obj.resource_version, remote, mode == "true"
        )
    return found
