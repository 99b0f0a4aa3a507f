"""Whether a cluster offers what watching needs, found out by doing it. Nothing is written to it."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ClusterError
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.resources import ApiResource, Catalogue
from devops_bench.k8s.rights import may
from devops_bench.k8s.view import ResourceQuery, View
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.events import BookmarkEvent, ErrorEvent, Malformed, parse_line
from devops_bench.k8s.watch.facts import read_facts
from devops_bench.k8s.watch.fence import FENCE_WATCH_SEC
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.repair import read_exact, read_list, read_version
from devops_bench.k8s.watch.types import StateInfo, Subscription
from devops_bench.k8s.watch.watcher import Watcher

Grade: TypeAlias = Literal["ok", "limited", "unknown"]
"""``limited``: some entries can only be sampled, or gaps may stay. ``unknown``: it could not be
found out, which is no proof against it."""

TIMEOUT_SEC: Final = 10.0
"""What one request may take."""

ORDERED_SINCE: Final = (1, 35)
"""Since then every conformant kind's resourceVersions are ordered (KEP-5504)."""

_NAMED: Final = 10
_WRITE_WAIT_SEC: Final = 10.0
_FENCE_SEC: Final = 20.0
_LOOK_SEC: Final = 0.25
_QUIET: Final = "/api/v1/namespaces"
"""A kind that is hardly written while others (Leases) are: only then a bookmark has something to
say."""
_FENCED: Final = (
    ("configmaps", ResourceQuery("configmaps", "kube-system")),
    ("pods", ResourceQuery("pods")),
    ("events", ResourceQuery("events")),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: A stable name: ``version``, ``kinds``, ``rights``, ``identity``, ``versions_ordered``,
            ``one_history``, ``exact_lists``, ``bookmarks``, ``end_fence``, ``audit``.
        grade: How it is.
        detail: A sentence for the reader.
    """

    name: str
    grade: Grade
    detail: str


class Examination:
    """Looks at a cluster.

    Args:
        client: The connection.
        clock: Where time comes from.
    """

    def __init__(self, client: ApiClient, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._client = client
        self._discovery = Discovery(client)
        self._clock = clock
        self._never = threading.Event()

    def findings(self) -> Iterator[Finding]:
        """Yield what is found, one after the other, as it is found.

        Raises:
            ClusterError: The server does not answer, or does not say what its kinds are.
        """
        yield self._version()
        catalogue = self._discovery.refresh(TIMEOUT_SEC)
        yield self._kinds(catalogue)
        yield self._tried("rights", lambda: self._rights(_preferred(catalogue)))
        yield self._tried("identity", self._identity)
        yield from self._versions(catalogue)
        yield self._tried("exact_lists", self._exact_lists)
        yield self._tried("bookmarks", self._bookmarks)
        yield self._tried("end_fence", self._end_fence)

    def _tried(self, name: str, look: Callable[[], Finding]) -> Finding:
        try:
            return look()
        except ApiError as exc:
            return Finding(name, "unknown", f"the server answers {exc.status}: {exc}")
        except ClusterError as exc:
            return Finding(name, "unknown", str(exc))

    def _version(self) -> Finding:
        text = self._client.server_version(TIMEOUT_SEC)
        numbers = re.match(r"v?(\d+)\.(\d+)", text)
        if numbers is None:
            return Finding("version", "unknown", f"{text}, which is no version of Kubernetes")
        if (int(numbers[1]), int(numbers[2])) < ORDERED_SINCE:
            since = ".".join(map(str, ORDERED_SINCE))
            detail = f"{text}; that resourceVersions are ordered is only promised since {since}"
            return Finding("version", "limited", detail)
        return Finding("version", "ok", text)

    def _kinds(self, catalogue: Catalogue) -> Finding:
        listed = [item for item in catalogue.resources if "list" in item.verbs]
        unwatched = sorted({str(item) for item in listed if "watch" not in item.verbs})
        if catalogue.missing:
            missing = "; ".join(catalogue.missing)
            return Finding("kinds", "limited", f"the server did not tell of all kinds: {missing}")
        text = f"the server lets {len(_preferred(catalogue))} kinds be watched"
        if unwatched:
            text += f"; only sampled: {', '.join(unwatched)}"
        return Finding("kinds", "ok", text)

    def _rights(self, kinds: list[ApiResource]) -> Finding:
        """Ask which kinds this user may watch; what it may in single namespaces is not asked."""
        refused = [
            str(item)
            for item in kinds
            if not all(may(self._client, item, verb, TIMEOUT_SEC) for verb in ("list", "watch"))
        ]
        allowed = f"{len(kinds) - len(refused)}" if len(refused) < len(kinds) else "none"
        text = f"this user may list and watch {allowed} of {len(kinds)} kinds in all namespaces"
        if refused and allowed != "none":
            named = ", ".join(sorted(refused)[:_NAMED])
            more = f" and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
            text += f"; not {named}{more}"
        return Finding("rights", "limited" if refused else "ok", text)

    def _identity(self) -> Finding:
        facts = read_facts(self._client, (), TIMEOUT_SEC)
        unreadable = []
        if facts.cluster is None:
            unreadable.append("the namespace kube-system")
        if facts.served is None:
            unreadable.append("APIServices")
        if unreadable:
            what = " and ".join(unreadable)
            detail = f"{what} may not be read: another server behind the address goes unnoticed"
            return Finding("identity", "limited", detail)
        remote = sorted(
            f"{name} ({one.remote})" for name, one in (facts.served or {}).items() if one.remote
        )
        text = "the cluster and who serves each kind can be told apart"
        return Finding(
            "identity", "ok", f"{text}; served elsewhere: {', '.join(remote)}" if remote else text
        )

    def _versions(self, catalogue: Catalogue) -> Iterator[Finding]:
        """Look at the versions of every kind, each between two looks at one kind's."""
        kinds = _preferred(catalogue)
        first = next((item for item in kinds if item.resource == "namespaces"), None)
        unordered: list[str] = []
        unread: list[str] = []
        apart: list[str] = []
        compared = 0
        with self._connection() as connection:
            for item in kinds:
                before = _version_of(connection, first)
                own = _version_of(connection, item)
                after = _version_of(connection, first)
                if isinstance(own, str):
                    (unread if own == "unread" else unordered).append(str(item))
                elif isinstance(before, int) and isinstance(after, int):
                    compared += 1
                    if not before <= own <= after:
                        apart.append(str(item))
        count = len(kinds) - len(unread)
        if not count:
            yield Finding("versions_ordered", "unknown", "this user may list no kind")
        elif unordered:
            detail = f"not ordered, so only sampled: {', '.join(unordered)}"
            yield Finding("versions_ordered", "limited", detail)
        else:
            also = f"; {len(unread)} kinds may not be listed" if unread else ""
            yield Finding("versions_ordered", "ok", f"of all {count} kinds that were listed{also}")
        if apart:
            detail = f"entries over several kinds are only sampled with: {', '.join(apart)}"
            yield Finding("one_history", "limited", f"not one etcd; {detail}")
        elif compared > 1:
            yield Finding("one_history", "ok", f"{compared} kinds share one order of writes")
        else:
            yield Finding("one_history", "unknown", "there were not two kinds to compare")

    def _exact_lists(self) -> Finding:
        path = _QUIET
        with self._connection() as connection:
            start = read_version(connection, path)
            moved = self._await_write(connection, path, start)
            if moved is None:
                detail = f"nothing was written for {_WRITE_WAIT_SEC:g} s"
                return Finding("exact_lists", "unknown", detail)
            try:
                read_exact(connection, path, start)
            except ApiError as exc:
                detail = f"a past state is refused ({exc.status}: {exc}): gaps cannot be repaired"
                return Finding("exact_lists", "limited", detail)
        return Finding("exact_lists", "ok", "a past state can be read: gaps can be repaired")

    def _bookmarks(self) -> Finding:
        path = _QUIET
        with self._connection() as connection:
            start = read_version(connection, path)
            if self._await_write(connection, path, start) is None:
                detail = f"nothing was written for {_WRITE_WAIT_SEC:g} s, so none is due"
                return Finding("bookmarks", "unknown", detail)
            began = self._clock.monotonic()
            wanted = read_list(connection, path, {}).rv
            query = {
                "resourceVersion": str(start),
                "allowWatchBookmarks": "true",
                "timeoutSeconds": str(FENCE_WATCH_SEC),
            }
            for line in connection.watch(path, query, idle_sec=FENCE_WATCH_SEC + 5.0):
                event = parse_line(line)
                if isinstance(event, ErrorEvent | Malformed):
                    return Finding("bookmarks", "unknown", f"the watch failed: {event}")
                if isinstance(event, BookmarkEvent) and event.rv >= wanted:
                    took = self._clock.monotonic() - began
                    detail = f"one at or past the LIST's version came after {took:.1f} s"
                    return Finding("bookmarks", "ok", detail)
        detail = "none at or past a LIST's version came before the watch ended: fences may fail"
        return Finding("bookmarks", "limited", detail)

    def _end_fence(self) -> Finding:
        watcher = Watcher(self._client, self._discovery, _Nobody(), clock=self._clock)
        try:
            started = watcher.start([Subscription(n, (q,)) for n, q in _FENCED], TIMEOUT_SEC)
            # A fence where nothing was written proves nothing about the next one; who may not see
            # whether something was written may hardly watch anything either.
            with contextlib.suppress(ApiError), self._connection() as connection:
                self._await_write(connection, _QUIET, read_version(connection, _QUIET))
            fence = watcher.fence(_FENCE_SEC)
        finally:
            watcher.stop()
        reached = [name for name in started.watched if fence.why_not(name) is None]
        failed = [
            f"{name}: {fence.why_not(name)}" for name in started.watched if name not in reached
        ]
        failed += [f"{name}: only sampled: {why}" for name, why in started.sampled.items()]
        how = [f"{one.stream} ({one.how})" for one in fence.streams.values() if one.passed]
        text = f"reached within {fence.elapsed_sec:.1f} s for {', '.join(how) or 'nothing'}"
        if failed:
            return Finding("end_fence", "limited", f"{text}; not for {'; '.join(failed)}")
        return Finding("end_fence", "ok", text)

    def _await_write(self, connection: Connection, path: str, start: int) -> int | None:
        """Return a version after ``start``, ``None`` if nothing is written in time."""
        deadline = self._clock.monotonic() + _WRITE_WAIT_SEC
        while self._clock.monotonic() < deadline:
            version = read_version(connection, path)
            if version > start:
                return version
            self._clock.wait(self._never, _LOOK_SEC)
        return None

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        connection = Connection(self._client.config, TIMEOUT_SEC)
        try:
            yield connection
        finally:
            connection.close()


class _Nobody:
    """A listener that is not interested."""

    def on_state(self, subscription: str, view: View, state: StateInfo) -> None:
        """Do nothing."""

    def on_gap(self, subscription: str, gap: Gap) -> None:
        """Do nothing."""


def _preferred(catalogue: Catalogue) -> list[ApiResource]:
    """Return each kind that can be watched once, in its preferred version."""
    kinds: dict[tuple[str, str], ApiResource] = {}
    for item in catalogue.resources:
        if {"list", "watch"} <= set(item.verbs):
            kinds.setdefault((item.group, item.resource), item)
    return list(kinds.values())


def _version_of(connection: Connection, resource: ApiResource | None) -> int | str:
    """Return a kind's version now, else ``unread`` or ``unordered``."""
    if resource is None:
        return "unread"
    try:
        return read_version(connection, resource.path())
    except ApiError:
        return "unread"
    except ClusterError as exc:
        if "no resourceVersion" in str(exc):
            return "unordered"
        raise
