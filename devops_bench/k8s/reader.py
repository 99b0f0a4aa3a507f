"""Views from live reads: ``GET`` and ``LIST``, filtered locally."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ClusterError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.selectors import parse_selector
from devops_bench.k8s.view import (
    Matched,
    Reading,
    ResourceQuery,
    Snapshot,
    Unreadable,
)

log = structlog.get_logger(__name__)

PAGE_SIZE: Final = 500
"""Objects per page of a ``LIST``, as kubectl asks for them."""


@dataclass(frozen=True, slots=True)
class _Target:
    """One read: a collection, or one object when ``name`` is given."""

    resource: ApiResource
    namespace: str | None
    name: str | None = None


_Answer: TypeAlias = Matched | Unreadable


class _KindGoneError(Exception):
    """The server no longer serves the path that discovery told."""


class LiveReader:
    """Answers queries by reading the API server now. Thread-safe.

    Args:
        client: The connection.
        discovery: What the kinds mean.
        clock: Where durations come from.
    """

    def __init__(
        self, client: ApiClient, discovery: Discovery, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._clock = clock

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> Snapshot:
        """Return a view that answers each of ``queries``; queries share what they read.

        Each kind and namespace is read once: objects that are asked for by name are taken from the
        list where the list is read anyway.

        Args:
            queries: What to read.
            timeout_sec: Seconds for all of them, > 0.

        Returns:
            The view. Never raises: what cannot be read in time is :class:`Unreadable`, with the
            server's own sentence where it had one.
        """
        wanted = list(dict.fromkeys(queries))
        reading = _ViewReading(self._client, self._discovery, self._clock, timeout_sec)
        try:
            return Snapshot(reading.answers(wanted))
        except Exception as exc:
            # A sample may end as an error, but never as an exception.
            log.exception("view_failed", queries=[str(query) for query in wanted])
            failure = Unreadable(f"reading failed unexpectedly: {type(exc).__name__}: {exc}")
            return Snapshot(dict.fromkeys(wanted, failure))


class _ViewReading:
    """The reads of one view: one deadline, each target once."""

    def __init__(
        self, client: ApiClient, discovery: Discovery, clock: Clock, timeout_sec: float
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._clock = clock
        self._deadline = clock.monotonic() + timeout_sec
        self._answers: dict[_Target, _Answer] = {}

    def answers(self, queries: list[ResourceQuery]) -> dict[ResourceQuery, Reading]:
        kinds = self._discovery.resolve_all((query.kind for query in queries), self._remaining())
        targets: dict[ResourceQuery, _Target] = {}
        readings: dict[ResourceQuery, Reading] = {}
        for query in queries:
            resource = kinds[query.kind]
            if isinstance(resource, ApiResource):
                targets[query] = _target(query, resource)
            else:
                readings[query] = resource
        lists = {target for target in targets.values() if target.name is None}
        # The lists first, so that a query by name finds its object in one of them.
        for query, target in sorted(targets.items(), key=lambda item: item[1].name is not None):
            try:
                readings[query] = self._answer(query, target, lists)
            except _KindGoneError:
                readings[query] = self._kind_gone(query)
        return readings

    def _answer(self, query: ResourceQuery, target: _Target, lists: set[_Target]) -> Reading:
        if target.name is not None:
            around = _Target(target.resource, target.namespace)
            if around in lists and isinstance(listed := self._read(around), Matched):
                return _named(listed, target.name)
            return self._read(target)
        answer = self._read(target)
        if isinstance(answer, Unreadable):
            return answer
        if query.name is not None:
            return _named(answer, query.name)
        if query.selector is None:
            return answer
        try:
            selector = parse_selector(query.selector)
        except ValueError as exc:
            return Unreadable(str(exc))
        return Matched(tuple(obj for obj in answer.objects if selector.matches(obj.labels)))

    def _read(self, target: _Target) -> _Answer:
        if target not in self._answers:
            self._answers[target] = self._fetch(target)
        return self._answers[target]

    def _fetch(self, target: _Target) -> _Answer:
        resource, name = target.resource, target.name
        try:
            path = resource.path(target.namespace, name)
            if name is None:
                return Matched(self._list(path, resource))
            document = self._client.request("GET", path, timeout_sec=self._remaining())
            found = KubeObject(document)
            if found.name != name:
                return Unreadable(f"{_shown(target)}: the answer is not that object")
            return Matched((found,))
        except ApiError as exc:
            if exc.status == 404:
                # Not found is an observation, but only if the server says so of the object.
                if name is not None and exc.reason == "NotFound" and f'"{name}"' in exc.message:
                    return Matched()
                raise _KindGoneError from exc
            return Unreadable(f"{_shown(target)}: {_api_reason(exc)}")
        except (ClusterError, ValueError) as exc:
            return Unreadable(f"{_shown(target)}: {exc}")

    def _list(self, path: str, resource: ApiResource) -> tuple[KubeObject, ...]:
        try:
            items = self._pages(path)
        except ApiError as exc:
            if exc.status != 410:
                raise
            # The version of the first page was compacted while the others were read.
            items = self._pages(path)
        for item in items:
            # The items of a list carry neither; a GET does.
            item.setdefault("apiVersion", resource.api_version)
            item.setdefault("kind", resource.kind)
        objects = [KubeObject(item) for item in items]
        return tuple(sorted(objects, key=lambda obj: (obj.namespace, obj.name)))

    def _pages(self, path: str) -> list[JsonObject]:
        items: list[JsonObject] = []
        query = {"limit": str(PAGE_SIZE)}
        while True:
            page = self._client.request("GET", path, query=query, timeout_sec=self._remaining())
            # Go writes an empty list as null; without the field it is no list, and proves nothing.
            listed = page.get("items", False)
            for item in [] if listed is None else listed if isinstance(listed, list) else [False]:
                if not isinstance(item, dict):
                    raise ClusterError("the answer is not a list of objects")
                items.append(item)
            metadata = page.get("metadata")
            token = metadata.get("continue") if isinstance(metadata, dict) else None
            if not isinstance(token, str) or not token:
                return items
            query = {"limit": str(PAGE_SIZE), "continue": token}

    def _kind_gone(self, query: ResourceQuery) -> Reading:
        """Ask discovery again about a kind that the server does not serve where it said."""
        fresh = self._discovery.resolve_all([query.kind], self._remaining(), fresh=True)[query.kind]
        if not isinstance(fresh, ApiResource):
            return fresh
        self._answers.clear()
        try:
            return self._answer(query, _target(query, fresh), set())
        except _KindGoneError:
            return Unreadable(f"the server tells of {fresh} but does not serve it")

    def _remaining(self) -> float:
        return self._deadline - self._clock.monotonic()


def _target(query: ResourceQuery, resource: ApiResource) -> _Target:
    if not resource.namespaced:
        return _Target(resource, None, query.name)
    # A name in all namespaces is no path of the API: it is picked out of the list.
    return _Target(resource, query.namespace, query.name if query.namespace is not None else None)


def _named(listed: Matched, name: str) -> Matched:
    return Matched(tuple(obj for obj in listed.objects if obj.name == name))


def _shown(target: _Target) -> str:
    name = f" {target.name!r}" if target.name is not None else ""
    place = f" in namespace {target.namespace!r}" if target.namespace is not None else ""
    return f"{target.resource}{name}{place}"


def _api_reason(exc: ApiError) -> str:
    if exc.status == 403:
        return f"reading it is forbidden: {exc.message}"
    return exc.message
