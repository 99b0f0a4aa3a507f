"""Looking at who serves some kinds, and at what was written about that since the last look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.events import parse_version
from devops_bench.k8s.watch.identity import (
    Definition,
    Facts,
    Redefined,
    Served,
    group_version,
    read_definition,
    redefined_by,
    remote_of,
    service_name,
    why_not_local,
)
from devops_bench.k8s.watch.past import PastReader, States, Unknown
from devops_bench.k8s.watch.types import Held

_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FORBIDDEN = frozenset({403, 404})


def read_facts(
    client: ApiClient,
    resources: Iterable[ApiResource],
    timeout_sec: float,
    clock: Clock = SYSTEM_CLOCK,
    since: Facts | None = None,
) -> Facts:
    """Look at what serves some kinds now.

    Args:
        client: The connection.
        resources: The kinds.
        timeout_sec: Seconds that all of it may take, > 0.
        clock: Where durations come from.
        since: An earlier look: what was written after it is read as well.

    Raises:
        ApiError: The server answered with an error other than that reading is not permitted.
        ApiUnavailableError: It did not answer.
    """
    return _Look(client, clock, clock.monotonic() + timeout_sec).read(resources, since)


class _Look:
    """One look, under one deadline."""

    def __init__(self, client: ApiClient, clock: Clock, deadline: float) -> None:
        self._client = client
        self._clock = clock
        self._deadline = deadline
        self._past = PastReader(
            lambda timeout_sec: Connection(client.config, timeout_sec), clock, deadline
        )

    def read(self, resources: Iterable[ApiResource], since: Facts | None) -> Facts:
        wanted = tuple(dict.fromkeys(resources))
        namespace, services = self._get(_KUBE_SYSTEM), self._get(_API_SERVICES)
        served = None if isinstance(services, str) else _served(services)
        definitions = {
            resource: self._definition(resource)
            for resource in wanted
            if _is_custom(resource, served, since)
        }
        served_since: dict[str, str] = {}
        defined_since: dict[ApiResource, Redefined | None] = {}
        if since is not None:
            served_since = self._served_since(wanted, since, served)
            defined_since = self._defined_since(since, definitions)
        return Facts(
            cluster=None if isinstance(namespace, str) else KubeObject(namespace).uid,
            served=served,
            definitions=definitions,
            requests=2 + len(definitions) + self._past.requests,
            cluster_why=namespace if isinstance(namespace, str) else "",
            served_why=services if isinstance(services, str) else "",
            served_rv=0 if isinstance(services, str) else _revision(services),
            served_since=served_since,
            defined_since=defined_since,
        )

    def _definition(self, resource: ApiResource) -> Definition | None:
        # A LIST of the one: only a LIST says at which revision that was.
        found = self._get(_CRDS, {"fieldSelector": f"metadata.name={_crd_name(resource)}"})
        items = None if isinstance(found, str) else found.get("items")
        crd = items[0] if isinstance(items, list) and items else None
        if isinstance(found, str) or not isinstance(crd, dict):
            return None
        return read_definition(KubeObject(crd), resource.version, _revision(found))

    def _served_since(
        self,
        resources: Iterable[ApiResource],
        since: Facts,
        served: Mapping[str, Served] | None,
    ) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, resource in {group_version(one): one for one in resources}.items():
            new = None if served is None else served.get(name)
            if since.served is None or new is None or new.remote:
                continue
            old = since.served.get(name)
            if old is None or (old.uid, old.version) != (new.uid, new.version):
                versions = None if old is None else (old.uid, old.version)
                states = self._states(
                    _API_SERVICES, service_name(resource), since.served_rv, versions, new.version
                )
                found[name] = why_not_local(states)
        return found

    def _defined_since(
        self, since: Facts, definitions: Mapping[ApiResource, Definition | None]
    ) -> dict[ApiResource, Redefined | None]:
        found: dict[ApiResource, Redefined | None] = {}
        for resource, new in definitions.items():
            old = since.definitions.get(resource)
            if old is None or new is None or (old.uid, old.version) == (new.uid, new.version):
                continue
            versions = (old.uid, old.version)
            states = self._states(_CRDS, _crd_name(resource), old.rv, versions, new.version)
            found[resource] = redefined_by(states, resource.version, old, new)
        return found

    def _states(
        self, path: str, name: str, since_rv: int, old: tuple[str, str] | None, last: str
    ) -> States | Unknown:
        last_rv = parse_version(last)
        if since_rv == 0 or last_rv is None:
            return Unknown("its resourceVersion does not order writes")
        held = Held(since_rv, None if old is None else {("", name): old})
        return self._past.states(path, name, held, last_rv)

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> JsonObject | str:
        """Return an answer, or with what words the server refuses it."""
        left = self._deadline - self._clock.monotonic()
        if left <= 0:
            raise ApiUnavailableError(f"GET {path}: there was no time left")
        try:
            return self._client.request("GET", path, query=query, timeout_sec=left)
        except ApiError as exc:
            if exc.status in _FORBIDDEN:
                return f"HTTP {exc.status}: {exc}"
            raise


def _is_custom(
    resource: ApiResource, served: Mapping[str, Served] | None, since: Facts | None
) -> bool:
    """Return whether a CustomResourceDefinition defines a kind, or did before."""
    entry = None if served is None else served.get(group_version(resource))
    before = since is not None and resource in since.definitions
    return before or (entry is not None and entry.automatic)


def _crd_name(resource: ApiResource) -> str:
    return f"{resource.resource}.{resource.group}"


def _revision(listing: JsonObject) -> int:
    """Return the revision of a LIST, 0 for none that orders writes."""
    return parse_version(KubeObject(listing).resource_version) or 0


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
        mode = obj.labels.get("kube-aggregator.kubernetes.io/automanaged", "")
        found[f"{spec.get('group', '')}/{spec.get('version', '')}"] = Served(
            obj.uid, obj.resource_version, remote_of(spec), mode == "true"
        )
    return found
