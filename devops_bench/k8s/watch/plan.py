"""Which streams some subscriptions need, and which subscriptions cannot be watched. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import ResourceQuery, UnknownKind, Unreadable
from devops_bench.k8s.watch.identity import Facts, remote_service
from devops_bench.k8s.watch.types import StreamKey, Subscription

MANY_NAMESPACES: Final = 3
"""A kind that is read in more namespaces than this is watched in all, where that is permitted."""

Resolved: TypeAlias = Mapping[str, ApiResource | UnknownKind | Unreadable]
"""What discovery says about each kind, by the author's word for it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be watched.

    Attributes:
        streams: The streams of each subscription that can be watched, by its id.
        absent: The ids of subscriptions that wait for kinds which do not exist yet.
        sampled: Why a subscription cannot be watched, by its id.
    """

    streams: Mapping[str, tuple[StreamKey, ...]]
    absent: tuple[str, ...]
    sampled: Mapping[str, str]

    def keys(self) -> tuple[StreamKey, ...]:
        """Return every stream once, in the order of the subscriptions."""
        return tuple(dict.fromkeys(key for keys in self.streams.values() for key in keys))


def make_plan(
    subscriptions: Sequence[Subscription],
    resolved: Resolved,
    facts: Facts,
    narrow: Collection[ApiResource] = (),
    refused: Mapping[StreamKey, str] | None = None,
) -> Plan:
    """Decide.

    Args:
        subscriptions: What is wanted.
        resolved: What each kind is.
        facts: Who serves it.
        narrow: Kinds that may not be read in all namespaces at once.
        refused: Streams that turned out not to be possible, and why.
    """
    wide = _read_wide(subscriptions, resolved, narrow)
    streams: dict[str, tuple[StreamKey, ...]] = {}
    sampled: dict[str, str] = {}
    absent: list[str] = []
    for subscription in subscriptions:
        answers = [(query, resolved[query.kind]) for query in subscription.queries]
        unknown = [found for _, found in answers if isinstance(found, UnknownKind)]
        if waits_for_kind(subscription, resolved):
            absent.append(subscription.id)
            continue
        keys: dict[StreamKey, None] = {}
        why: str | None = None
        for query, found in answers:
            reason, key = _stream(query, found, facts, wide, refused or {})
            why = why or reason
            if key is not None:
                keys[key] = None
        if unknown and subscription.may_appear:
            why = f"{unknown[0].reason}; one that appears later is only watched on its own"
        if why is not None:
            sampled[subscription.id] = why
        else:
            streams[subscription.id] = tuple(keys)
    return Plan(streams, tuple(absent), sampled)


def queries_on(
    key: StreamKey, subscriptions: Sequence[Subscription], resolved: Resolved, plan: Plan
) -> dict[ResourceQuery, None]:
    """Return the queries that are answered by a stream, each once."""
    found: dict[ResourceQuery, None] = {}
    for subscription in subscriptions:
        if key not in plan.streams.get(subscription.id, ()):
            continue
        for query in subscription.queries:
            if resolved[query.kind] == key.resource and key.namespace in (None, query.namespace):
                found[query] = None
    return found


def waits_for_kind(subscription: Subscription, resolved: Resolved) -> bool:
    """Return whether a subscription reads one kind that does not exist yet, and may appear.

    Of several namespaces or kinds only one stream could be added without a break, so such a
    subscription is not watched.
    """
    places = {(query.kind, query.namespace) for query in subscription.queries}
    unknown = isinstance(resolved[subscription.queries[0].kind], UnknownKind)
    return subscription.may_appear and unknown and len(places) == 1


def _read_wide(
    subscriptions: Sequence[Subscription], resolved: Resolved, narrow: Collection[ApiResource]
) -> set[ApiResource]:
    """Return the kinds to be watched in all namespaces."""
    namespaces: dict[ApiResource, set[str | None]] = {}
    for subscription in subscriptions:
        for query in subscription.queries:
            found = resolved[query.kind]
            if isinstance(found, ApiResource):
                namespaces.setdefault(found, set()).add(query.namespace)
    return {
        resource
        for resource, names in namespaces.items()
        if resource not in narrow and (None in names or len(names) > MANY_NAMESPACES)
    }


def _stream(
    query: ResourceQuery,
    found: ApiResource | UnknownKind | Unreadable,
    facts: Facts,
    wide: Collection[ApiResource],
    refused: Mapping[StreamKey, str],
) -> tuple[str | None, StreamKey | None]:
    """Return why a query cannot be watched, or its stream."""
    if not isinstance(found, ApiResource):
        return found.reason, None
    if "watch" not in found.verbs or "list" not in found.verbs:
        return f"{found} cannot be watched: the server has no such verb for it", None
    remote = remote_service(facts, found)
    if remote is not None:
        return f"{found} is served by the Service {remote}, not by the API server", None
    everywhere = not found.namespaced or query.namespace is None or found in wide
    key = StreamKey(found, None if everywhere else query.namespace)
    return refused.get(key), key
