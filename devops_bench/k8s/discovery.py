"""What kinds the server has: https://kubernetes.io/docs/concepts/overview/kubernetes-api/."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ApiUnavailableError, ClusterError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.resources import ApiResource, Catalogue
from devops_bench.k8s.view import UnknownKind, Unreadable

__all__ = ["ApiResource", "Catalogue", "Discovery"]

# Aggregated discovery where the server has it (1.27 and newer), else the plain documents.
_AGGREGATED: Final = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
_ACCEPT: Final = f"{_AGGREGATED},application/json"


class Discovery:
    """Resolves kinds by what the server tells, and remembers it. Thread-safe.

    A kind that is not in the memory is looked up anew each time: it may have appeared.

    Args:
        client: The connection.
        clock: Where durations come from.
    """

    def __init__(self, client: ApiClient, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._client = client
        self._clock = clock
        # Replaced as a whole, never changed: no lock is needed, and none can be waited for.
        self._catalogue: Catalogue | None = None

    def resolve(self, kind: str, timeout_sec: float) -> ApiResource | UnknownKind | Unreadable:
        """Return what ``kind`` means.

        Args:
            kind: As the author wrote it; see :meth:`Catalogue.find` for the rules.
            timeout_sec: Seconds that discovery may take, > 0.

        Returns:
            The resource; :class:`UnknownKind` when the server told about all of its groups and none
            has it; :class:`Unreadable` when it did not.
        """
        return self.resolve_all([kind], timeout_sec)[kind]

    def resolve_all(
        self, kinds: Iterable[str], timeout_sec: float, *, fresh: bool = False
    ) -> dict[str, ApiResource | UnknownKind | Unreadable]:
        """Resolve several kinds with at most one look at the server.

        Args:
            kinds: As the author wrote them.
            timeout_sec: Seconds that discovery may take, > 0.
            fresh: Whether to ask the server even if everything is in the memory.
        """
        wanted = dict.fromkeys(kinds)
        catalogue = self._catalogue
        if fresh or catalogue is None or any(catalogue.find(kind) is None for kind in wanted):
            try:
                catalogue = self.refresh(timeout_sec)
            except ClusterError as exc:
                unreadable = Unreadable(f"the kinds of the server could not be read: {exc}")
                # What was known stays known: reading it will tell whether it still holds.
                known = catalogue if catalogue is not None and not fresh else Catalogue(())
                return {kind: known.find(kind) or unreadable for kind in wanted}
        return {kind: catalogue.find(kind) or _unknown(kind, catalogue) for kind in wanted}

    def resource_for(
        self, api_version: str, kind: str, timeout_sec: float
    ) -> ApiResource | UnknownKind | Unreadable:
        """Return the resource of an object's ``apiVersion`` and ``kind``; as :meth:`resolve`."""
        catalogue = self._catalogue
        found = catalogue.find_exact(api_version, kind) if catalogue is not None else None
        if found is not None:
            return found
        try:
            catalogue = self.refresh(timeout_sec)
        except ClusterError as exc:
            return Unreadable(f"the kinds of the server could not be read: {exc}")
        name = f"{kind} of {api_version}"
        return catalogue.find_exact(api_version, kind) or _unknown(name, catalogue)

    def refresh(self, timeout_sec: float) -> Catalogue:
        """Ask the server for everything, remember and return it.

        Args:
            timeout_sec: Seconds that all of it may take, > 0.

        Raises:
            ApiError: The server answered with an error.
            ApiUnavailableError: It did not answer.
        """
        deadline = self._clock.monotonic() + timeout_sec
        resources: list[ApiResource] = []
        missing: list[str] = []
        for path in ("/api", "/apis"):
            document = self._get(path, deadline)
            if document.get("kind") == "APIGroupDiscoveryList":
                _read_aggregated(document, resources, missing)
            else:
                self._read_plain(document, deadline, resources, missing)
        self._catalogue = Catalogue(tuple(resources), tuple(missing))
        return self._catalogue

    def _get(self, path: str, deadline: float) -> JsonObject:
        remaining = deadline - self._clock.monotonic()
        return self._client.request("GET", path, accept=_ACCEPT, timeout_sec=remaining)

    def _read_plain(
        self,
        document: JsonObject,
        deadline: float,
        resources: list[ApiResource],
        missing: list[str],
    ) -> None:
        """Read the documents of servers without aggregated discovery, one per group version."""
        if document.get("kind") not in ("APIVersions", "APIGroupList"):
            raise ApiUnavailableError("the server's answer is no discovery document")
        for group, version in _plain_versions(document):
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                listed = self._get(path, deadline)
            except ApiError as exc:
                missing.append(f"{group}/{version}: {exc}")
                continue
            resources += _plain_resources(group, version, listed)


def _read_aggregated(
    document: JsonObject, resources: list[ApiResource], missing: list[str]
) -> None:
    for item in _objects(document.get("items")):
        group = _text(_object(item.get("metadata")).get("name"))
        for listed in _objects(item.get("versions")):
            version = _text(listed.get("version"))
            if listed.get("freshness") == "Stale":
                # The server behind the APIService does not answer; what is told about it is old.
                missing.append(f"{group}/{version}: what the server tells about it is stale")
                continue
            resources += _aggregated_resources(group, version, listed)


def _aggregated_resources(group: str, version: str, listed: JsonObject) -> Iterator[ApiResource]:
    for item in _objects(listed.get("resources")):
        kind = _text(_object(item.get("responseKind")).get("kind"))
        if not kind:
            # Only a holder of subresources: it has no objects of its own.
            continue
        yield ApiResource(
            group=group,
            version=version,
            resource=_text(item.get("resource")),
            kind=kind,
            namespaced=item.get("scope") == "Namespaced",
            verbs=_texts(item.get("verbs")),
            singular=_text(item.get("singularResource")) or kind.lower(),
            short_names=_texts(item.get("shortNames")),
        )


def _plain_resources(group: str, version: str, listed: JsonObject) -> Iterator[ApiResource]:
    for item in _objects(listed.get("resources")):
        name, kind = _text(item.get("name")), _text(item.get("kind"))
        if "/" in name:
            continue
        yield ApiResource(
            group=group,
            version=version,
            resource=name,
            kind=kind,
            namespaced=item.get("namespaced") is True,
            verbs=_texts(item.get("verbs")),
            singular=_text(item.get("singularName")) or kind.lower(),
            short_names=_texts(item.get("shortNames")),
        )


def _plain_versions(document: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield group and version of an ``APIVersions`` or ``APIGroupList``, preferred ones first."""
    for version in _texts(document.get("versions")):
        yield "", version
    for group in _objects(document.get("groups")):
        name = _text(group.get("name"))
        preferred = _text(_object(group.get("preferredVersion")).get("version"))
        versions = [_text(item.get("version")) for item in _objects(group.get("versions"))]
        for version in sorted(versions, key=lambda version: version != preferred):
            yield name, version


def _unknown(kind: str, catalogue: Catalogue) -> UnknownKind | Unreadable:
    if catalogue.missing:
        return Unreadable(
            f"whether the server knows the kind {kind} could not be told: "
            f"{'; '.join(catalogue.missing)}"
        )
    return UnknownKind(f"the server has no kind {kind}")


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    return (
        (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
    )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
