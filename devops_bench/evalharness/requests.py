"""The requests of an audit log, and how the objects that they wrote hang together. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from devops_bench.k8s.audit import AuditEvent, Reference
from devops_bench.k8s.offline import same_kind
from devops_bench.results.trust import Who

_CONTROLLERS: Final = (
    "system:kube-",
    "system:apiserver",
    "system:node:",
    "system:serviceaccount:kube-system:",
    "devops-bench:kwok",
)
SERVICE_ACCOUNTS: Final = "system:serviceaccount:"
"""How the users begin that service accounts are."""

_PROGRAMS: Final = (
    "kube-apiserver/",
    "kube-controller-manager/",
    "kube-scheduler/",
    "kwok/",
    "kubelet/",
    "kube-proxy/",
)
_SPEC_BY_GENERATION: Final = frozenset({"deployments", "statefulsets", "daemonsets"})


@dataclass(frozen=True, slots=True)
class Parties:
    """Who is who.

    Attributes:
        harness: The user that the harness is.
        agent: The user of the agent's own account; empty when it has the harness's credentials.
        turn_from: When its turn began (UTC).
        turn_to: When its turn had ended (UTC).
        client: What the harness calls itself in its requests, and nobody else can know.
    """

    harness: str
    agent: str
    turn_from: dt.datetime
    turn_to: dt.datetime
    client: str = ""

    def is_harness(self, event: AuditEvent) -> bool:
        """Return whether the harness made the request, and not only somebody as its user."""
        return event.user == self.harness and self.client == event.user_agent != ""

    def is_foreign(self, event: AuditEvent) -> bool:
        """Return whether somebody else used the harness's credentials."""
        return event.user == self.harness and self.who(event) == "other"

    def who(self, event: AuditEvent) -> Who:
        """Return whose request it is.

        With the harness's own credentials the agent is told from it by what only the harness can
        call itself, and from others by the time.
        """
        if self.agent and event.user == self.agent:
            return "agent"
        if event.user == self.harness:
            if self.is_harness(event):
                return "harness"
            in_turn = self.turn_from <= event.received_at <= self.turn_to
            return "agent" if not self.agent and in_turn else "other"
        return "controller" if is_of_the_cluster(event.user) else "other"


def is_of_the_cluster(user: str) -> bool:
    """Return whether a user is a part of the cluster itself."""
    return user.startswith(_CONTROLLERS)


def is_program_of_the_cluster(user_agent: str) -> bool:
    """Return whether a client calls itself what a part of the cluster does."""
    return user_agent.startswith(_PROGRAMS)


@dataclass(slots=True)
class _Known:
    """What the log tells of one object."""

    resource: str
    namespace: str
    name: str
    references: dict[Reference, None] = field(default_factory=dict)
    writes: list[AuditEvent] = field(default_factory=list)
    effective: set[str] = field(default_factory=set)
    version: str = ""
    generation: int | None = None


class Requests:
    """An index of the writes in an audit log.

    Args:
        events: The events, in the order of the log.
        parties: Who is who.
    """

    def __init__(self, events: Iterable[AuditEvent], parties: Parties) -> None:
        self.parties = parties
        self._writes = [event for event in events if event.is_write and event.succeeded]
        self._known: dict[str, _Known] = {}
        self._by_version: dict[tuple[str, str], AuditEvent] = {}
        self._below: dict[str, dict[str, None]] = {}
        self._uids: dict[tuple[str, str, str], str] = {}
        for event in self._writes:
            self._index(event)

    def writer(self, uid: str, rv: int) -> AuditEvent | None:
        """Return the write of an object that led to a revision."""
        return self._by_version.get((uid, str(rv)))

    def answers(self, kind: str) -> bool:
        """Return whether the log holds what writes of a kind were answered with.

        Of pods it never does as a whole: a binding writes one and is answered without it.

        Args:
            kind: The kind, any word for it.
        """
        return any(
            known.version and known.resource != "pods" and same_kind(kind, known.resource)
            for known in self._known.values()
        )

    def deletions(
        self, uid: str, kind: str, namespace: str, name: str, until: dt.datetime
    ) -> list[tuple[AuditEvent, bool]]:
        """Return what deleted an object, in order, and whether that was told by its uid.

        Args:
            uid: Its uid; empty when it was never seen, then its name alone counts.
            kind: Its kind, any word for it.
            namespace: Its namespace.
            name: Its name.
            until: Later requests do not count (UTC).
        """
        found: list[tuple[AuditEvent, bool]] = []
        for event in self._writes:
            if event.received_at > until or not _deletes(event):
                continue
            uids = {one.uid for one in event.objects} - {""}
            if uid and uid in uids:
                found.append((event, True))
            elif not (uid and uids) and _is_about(event, kind, namespace, name):
                found.append((event, False))
        return found

    def last_write(
        self, kind: str, namespace: str, name: str, until: dt.datetime
    ) -> AuditEvent | None:
        """Return the last write of an object whose answers are not in the log, by name and time."""
        for event in reversed(self._writes):
            if event.received_at <= until and _is_about(event, kind, namespace, name):
                return None if event.objects else event
        return None

    def leading(
        self, uid: str, seeds: Iterable[Reference], namespace: str, before: AuditEvent
    ) -> AuditEvent | None:
        """Return the last request before another one that bears on an object.

        Of the agent or of somebody else; of a service account, which may itself be the hand of
        somebody, only where there is none of those; never of the harness or a controller.

        It bears on it when it changed the object itself, an owner or what that owns, the pods of
        endpoints, an autoscaler of any of those, or deleted the namespace. A write that changed
        nothing, or of a workload nothing of its spec, does not.

        Args:
            uid: The object.
            seeds: What it points to, as it was last seen.
            namespace: Its namespace.
            before: The request that it must precede.
        """
        found: AuditEvent | None = None
        by_account: AuditEvent | None = None
        related = self._related(uid, seeds, namespace)
        for event in self._writes:
            if event.received_at > before.received_at or event.id == before.id:
                continue
            if self.leads(event) and self._bears(event, related, namespace):
                if self.is_hand(event):
                    by_account = event
                else:
                    found = event
        return found or by_account

    def leads(self, event: AuditEvent) -> bool:
        """Return whether somebody asked for it of his own accord, as far as can be told."""
        return self.parties.who(event) in ("agent", "other")

    def is_hand(self, event: AuditEvent) -> bool:
        """Return whether it may come of what others did: a controller's, an operator's too."""
        who = self.parties.who(event)
        return who == "controller" or (who == "other" and event.user.startswith(SERVICE_ACCOUNTS))

    def _index(self, event: AuditEvent) -> None:
        for one in event.objects:
            if not one.uid:
                continue
            key = (event.resource, event.namespace or one.namespace, one.name)
            known = self._known.setdefault(one.uid, _Known(*key))
            self._uids[key] = one.uid
            if one.resource_version:
                self._by_version.setdefault((one.uid, one.resource_version), event)
            for reference in one.references:
                known.references[reference] = None
                if reference.relation == "owner":
                    self._below.setdefault(reference.uid, {})[one.uid] = None
            if _changes(event, known, one.resource_version, one.generation):
                known.effective.add(event.id)
            known.writes.append(event)
            if one.resource_version and not event.subresource:
                known.version = one.resource_version
                known.generation = one.generation

    def _related(self, uid: str, seeds: Iterable[Reference], namespace: str) -> set[str]:
        found: set[str] = set()
        waiting = [uid, *(seed.uid for seed in seeds if seed.relation in ("owner", "target"))]
        while waiting:
            current = waiting.pop()
            if not current or current in found:
                continue
            found.add(current)
            waiting += self._below.get(current, {})
            known = self._known.get(current)
            if known is not None:
                waiting += (r.uid for r in known.references if r.relation in ("owner", "target"))
        return found | set(self._autoscalers(found, namespace))

    def _autoscalers(self, related: set[str], namespace: str) -> Iterator[str]:
        named = {
            (known.resource, known.name)
            for uid in related
            if (known := self._known.get(uid)) is not None
        }
        for uid, known in self._known.items():
            if known.namespace != namespace:
                continue
            for reference in known.references:
                if reference.relation == "scales" and any(
                    name == reference.name and same_kind(resource, reference.kind)
                    for resource, name in named
                ):
                    yield uid

    def _bears(self, event: AuditEvent, related: set[str], namespace: str) -> bool:
        if event.resource == "namespaces" and event.verb == "delete":
            return event.name == namespace
        for one in event.objects:
            known = self._known.get(one.uid)
            if one.uid in related and known is not None and event.id in known.effective:
                return True
        # An eviction, or a write whose answer is not in the log, names its object only.
        key = (event.resource, event.namespace, event.name)
        uids = any(one.uid for one in event.objects)
        return not uids and bool(event.name) and self._uids.get(key, "") in related


def _changes(event: AuditEvent, known: _Known, version: str, generation: int | None) -> bool:
    """Return whether a write changed something that a controller acts on."""
    if event.verb in ("create", "delete", "deletecollection") or event.subresource == "scale":
        return True
    if version and version == known.version:
        return False
    if event.resource in _SPEC_BY_GENERATION and None not in (generation, known.generation):
        return generation != known.generation
    return True


def _deletes(event: AuditEvent) -> bool:
    if event.subresource == "eviction":
        return event.verb == "create"
    return event.verb in ("delete", "deletecollection") and not event.subresource


def _is_about(event: AuditEvent, kind: str, namespace: str, name: str) -> bool:
    if event.namespace != namespace or event.name not in (name, ""):
        return False
    if not event.name and event.verb != "deletecollection":
        return False
    qualified = f"{event.resource}.{event.group}" if event.group else event.resource
    return same_kind(kind, event.resource) or same_kind(kind, qualified)
