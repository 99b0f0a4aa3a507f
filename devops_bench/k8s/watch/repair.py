"""Reading again what a gap hid, by exact LISTs.

``LIST ?resourceVersion=R&resourceVersionMatch=Exact`` shows the state at any revision that is
not compacted (https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list).
Revisions count the writes of all kinds, so most of those inside a gap leave the kind as it was;
they have to be read all the same: an object may have come and gone. Only an object that is read
by name spares that: with the same uid and resourceVersion at both ends it was not written between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.events import Malformed, ObjectList, list_version, parse_list
from devops_bench.k8s.watch.tables import Key
from devops_bench.k8s.watch.types import Held

GONE: Final = 410


@dataclass(frozen=True, slots=True)
class RepairLimits:
    """How much a repair may cost.

    Attributes:
        requests: LISTs at most, > 0.
        seconds: Seconds at most, > 0.
    """

    requests: int = 2_000
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Hole:
    """Revisions that stay unknown: those after ``from_rv`` and before ``to_rv``."""

    from_rv: int
    to_rv: int
    why: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair came to.

    Attributes:
        rv: The revision of the newest LIST; what follows it is to be watched.
        holes: What stays unknown.
        requests: How many exact LISTs it took.
    """

    rv: int
    holes: tuple[Hole, ...]
    requests: int


class Emit(Protocol):
    """Where the states go, in order."""

    def known(self, listing: ObjectList) -> None:
        """Take a state that follows the one before without a hole."""
        ...

    def behind_hole(self, listing: ObjectList, hole: Hole) -> None:
        """Take a state behind revisions that are not known.

        It counts from now on, even if the repair fails later: so does the hole.
        """
        ...


class VersionsWentBackError(ApiUnavailableError):
    """The server's revision is older than what it had sent: it is another history."""


def read_list(connection: Connection, path: str, query: Mapping[str, str]) -> ObjectList:
    """LIST and parse.

    Raises:
        ApiError: The server answered with an error status.
        ApiUnavailableError: It did not answer, or not with a list that can be relied on.
    """
    listing = parse_list(connection.list(path, query))
    if isinstance(listing, Malformed):
        raise ApiUnavailableError(f"LIST {path}: {listing.reason}")
    return listing


def read_version(connection: Connection, path: str) -> int:
    """Return the revision that the server is at, without reading the collection.

    Raises:
        ApiError: The server answered with an error status.
        ApiUnavailableError: It did not answer, or not with a version that orders writes.
    """
    rv = list_version(connection.list(path, {"limit": "1"}))
    if rv is None:
        raise ApiUnavailableError(f"LIST {path} has no resourceVersion that orders writes")
    return rv


def read_exact(
    connection: Connection, path: str, rv: int, query: Mapping[str, str] | None = None
) -> ObjectList:
    """Return the state of a collection at one revision.

    Raises:
        ApiError: The server answered with an error status; 410 when the revision is compacted.
        ApiUnavailableError: It did not answer with that state.
    """
    asked = {**(query or {}), "resourceVersion": str(rv), "resourceVersionMatch": "Exact"}
    listing = read_list(connection, path, asked)
    if listing.rv != rv:
        raise ApiUnavailableError(
            f"LIST {path} at {rv} was answered with the state at {listing.rv}"
        )
    return listing


def require_not_older(server_rv: int, held_rv: int) -> None:
    """Make sure that a server still has what it had sent; a watch would not tell.

    Raises:
        VersionsWentBackError: It does not.
    """
    if server_rv < held_rv:
        raise VersionsWentBackError(
            f"the server is at resourceVersion {server_rv}, but had sent {held_rv}: "
            "its history is not the one that was watched"
        )


class Repair:
    """Reads everything between what is held and now.

    Args:
        connection: Where to ask.
        path: The path of the collection.
        held: How far the stream is known.
        emit: Where the states go.
        limits: What it may cost.
        monotonic: Returns seconds.
        query: More query parameters of every LIST, e.g. a field selector.
    """

    def __init__(
        self,
        connection: Connection,
        path: str,
        held: Held,
        emit: Emit,
        limits: RepairLimits,
        monotonic: Callable[[], float],
        query: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._path = path
        self._held = held
        self._emit = emit
        self._limits = limits
        self._monotonic = monotonic
        self._query = dict(query or {})
        self._deadline = monotonic() + limits.seconds
        self._requests = 0
        self._done_rv = held.rv
        self._holes: list[Hole] = []

    def run(self) -> Repaired:
        """Repair.

        Raises:
            ApiError: A LIST failed; what was handed out until then counts.
            ApiUnavailableError: Likewise.
            VersionsWentBackError: The server does not have what it had sent before.
        """
        newest = read_list(self._connection, self._path, self._query)
        require_not_older(newest.rv, self._held.rv)
        if newest.rv > self._held.rv:
            try:
                self._between(self._held.named, newest)
            except _TooMuchError as exc:
                self._skip_to(newest, str(exc))
        return Repaired(newest.rv, tuple(self._holes), self._requests)

    def _between(self, named: Mapping[Key, tuple[str, str]] | None, newest: ObjectList) -> None:
        if self._unchanged(named, newest):
            self._emit.known(newest)
            return
        start = self._held.rv + 1
        if named is None and newest.rv - start > self._limits.requests:
            start = newest.rv - self._limits.requests + 1
            why = f"it spans more than {self._limits.requests} revisions"
            self._skip_to(self._exact(start), why)
        elif newest.rv > start:
            try:
                first = self._exact(start)
            except ApiError as exc:
                if exc.status != GONE:
                    raise
                self._skip_to(self._oldest(start, newest), "the server has compacted them")
            else:
                self._known(first)
        self._fill(self._done_rv, named if not self._holes else None, newest)

    def _fill(
        self, after: int, named: Mapping[Key, tuple[str, str]] | None, end: ObjectList
    ) -> None:
        """Hand out every state after ``after`` up to ``end``, halving where halves may be equal."""
        if after >= end.rv:
            return
        if named is None:
            for rv in range(after + 1, end.rv):
                self._known(self._exact(rv))
            self._known(end)
            return
        if after + 1 == end.rv or self._unchanged(named, end):
            self._known(end)
            return
        middle = self._exact((after + end.rv) // 2)
        self._fill(after, named, middle)
        self._fill(middle.rv, self._proof(named, middle), end)

    def _oldest(self, gone: int, available: ObjectList) -> ObjectList:
        """Return the oldest state that is not compacted; ``gone`` is, ``available`` is not."""
        while gone + 1 < available.rv:
            middle = (gone + available.rv) // 2
            try:
                available = self._exact(middle)
            except ApiError as exc:
                if exc.status != GONE:
                    raise
                gone = middle
        return available

    def _exact(self, rv: int) -> ObjectList:
        if self._requests >= self._limits.requests + 1:
            raise _TooMuchError(f"the bound of {self._limits.requests} LISTs was reached")
        if self._monotonic() > self._deadline:
            raise _TooMuchError(f"the bound of {self._limits.seconds:g} s was reached")
        self._requests += 1
        return read_exact(self._connection, self._path, rv, self._query)

    def _known(self, listing: ObjectList) -> None:
        self._emit.known(listing)
        self._done_rv = listing.rv

    def _skip_to(self, listing: ObjectList, why: str) -> None:
        hole = Hole(self._done_rv, listing.rv, why)
        self._holes.append(hole)
        self._emit.behind_hole(listing, hole)
        self._done_rv = listing.rv

    def _unchanged(self, named: Mapping[Key, tuple[str, str]] | None, listing: ObjectList) -> bool:
        return named is not None and self._proof(named, listing) == named

    @staticmethod
    def _proof(
        named: Mapping[Key, tuple[str, str]], listing: ObjectList
    ) -> Mapping[Key, tuple[str, str]] | None:
        found = {
            (obj.namespace, obj.name): (obj.uid, obj.resource_version)
            for obj in listing.objects
            if (obj.namespace, obj.name) in named
        }
        return found if len(found) == len(named) else None


class _TooMuchError(Exception):
    """The bound of a repair was reached."""
