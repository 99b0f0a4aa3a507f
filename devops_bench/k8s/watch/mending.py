"""Reading a gap again, and handing its states to the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from devops_bench.core.errors import ApiError
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.context import StreamContext
from devops_bench.k8s.watch.events import ErrorEvent, ObjectList
from devops_bench.k8s.watch.identity import Redefined
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.repair import GONE, Hole, Repair, Repaired, RepairLimits, read_exact
from devops_bench.k8s.watch.types import Held, StreamKey

SCHEMA_MOVED: Final = "the schema of its CustomResourceDefinition changed while it was read again"
_WAIT_AFTER: Final = 20
"""After so many LISTs the judge is waited for, so that they do not pile up."""


def read_again(
    context: StreamContext,
    key: StreamKey,
    connection: Connection,
    held: Held,
    differently: Redefined | None,
    query: Mapping[str, str],
    tell: Callable[[Hole], None],
) -> Repaired:
    """Read what a stream has missed by exact LISTs.

    Args:
        context: What all streams share.
        key: Which stream.
        connection: Where to ask.
        held: How far it is known.
        differently: How stored objects may be read differently than before, because the
            CustomResourceDefinition was changed; ``None`` if they are not.
        query: More query parameters of every LIST.
        tell: Is told of what stays unknown before the state behind it is judged: another try after
            a failure starts from that state and would not know.

    Raises:
        ApiError: A LIST failed; what was handed to the judge until then counts.
        ApiUnavailableError: Likewise.
    """
    emit = _Emit(context.judge, key, context.clock.monotonic, tell)
    if differently is not None:
        _distrust(connection, key.path, held, differently, query, emit, context.limits)
        # Named objects prove nothing by their version now: they may look different unwritten.
        held = Held(held.rv, None)
    monotonic = context.clock.monotonic
    repair = Repair(connection, key.path, held, emit, context.limits, monotonic, query)
    return repair.run()


def _distrust(
    connection: Connection,
    path: str,
    held: Held,
    differently: Redefined,
    query: Mapping[str, str],
    emit: _Emit,
    limits: RepairLimits,
) -> None:
    """Tell of writes that were, or will be, read by another schema than they were written by.

    Up to what is held they were read by the old schema, although the open watch outlived it for a
    moment; what is read from here on is read by the new one, although it may be older.
    """
    start = min(held.rv, differently.first_rv - 1)
    try:
        listing = read_exact(connection, path, start, query)
        doubt = None
        if start < held.rv:
            doubt = _written(connection, path, held, listing, query, limits)
            listing = read_exact(connection, path, held.rv, query)
    except ApiError as exc:
        if exc.status != GONE:
            raise
        emit.doubt(Hole(start, held.rv + 1, f"what was written since {differently.why} is gone"))
        return
    if doubt is not None:
        emit.doubt(Hole(start, held.rv + 1, f"{doubt} since {differently.why}"))
    emit.expect_no_write(listing, differently)


def _written(
    connection: Connection,
    path: str,
    held: Held,
    start: ObjectList,
    query: Mapping[str, str],
    limits: RepairLimits,
) -> str | None:
    """Return what is known of writes between a LIST and what is held, ``None`` if there are none.

    Raises:
        ApiError: A LIST failed.
        ApiUnavailableError: Likewise.
    """
    if held.named is not None:
        found = {(o.namespace, o.name): (o.uid, o.resource_version) for o in start.objects}
        if all(found.get(key) == value for key, value in held.named.items()):
            return None
    if held.rv - start.rv > limits.requests:
        return f"more than {limits.requests} revisions were written"
    before = _versions(start)
    for rv in range(start.rv + 1, held.rv + 1):
        if _versions(read_exact(connection, path, rv, query)) != before:
            return "objects were written, or could not be read,"
    return None


def ended_with(failure: ErrorEvent) -> str:
    """Return the cause of a gap that begins with an ERROR event."""
    text = failure.message or failure.reason or "without a message"
    return f"the server ended the watch with {failure.code}: {text}"


def closed_how(to_rv: int, repaired: Repaired | None, has_holes: bool) -> str:
    """Return how a gap was closed, as a sentence.

    Args:
        to_rv: The revision from which on everything is seen again.
        repaired: What was read again; ``None`` where the server went on by itself.
        has_holes: Whether some of it stays a gap of its own.
    """
    if repaired is None:
        how = f"closed: the watch goes on from resourceVersion {to_rv}"
    else:
        how = f"closed: read again up to resourceVersion {to_rv}"
        if repaired.requests:
            lists = "exact LIST" if repaired.requests == 1 else "exact LISTs"
            how += f" by {repaired.requests} {lists}"
    return how + (", except for what is told of as a gap of its own" if has_holes else "")


class _Emit:
    """Hands repaired states to the judge."""

    def __init__(
        self,
        judge: Judge,
        key: StreamKey,
        monotonic: Callable[[], float],
        tell: Callable[[Hole], None],
    ) -> None:
        self._tell = tell
        self._from_rv = 0
        self._differently: Redefined | None = None
        self._lists = 0
        self._judge = judge
        self._key = key
        self._monotonic = monotonic
        self._expected: frozenset[tuple[str, str]] | None = None

    def doubt(self, hole: Hole) -> None:
        """Tell of a hole in what was judged already."""
        self._tell(hole)

    def expect_no_write(self, listing: ObjectList, differently: Redefined) -> None:
        """Tell of a hole if a state differs from this one in what was written meanwhile."""
        self._differently = differently
        self._expected = _versions(listing)
        self._from_rv = listing.rv

    def known(self, listing: ObjectList) -> None:
        """Judge a state."""
        self._look_for_writes(listing)
        self._judge.listed(self._key, listing, self._monotonic())
        self._lists += 1
        if self._lists % _WAIT_AFTER == 0:
            self._judge.held(self._key)

    def _look_for_writes(self, listing: ObjectList) -> None:
        differently = self._differently
        if self._expected is None or differently is None:
            return
        last_rv = differently.last_rv
        if last_rv is not None and listing.rv >= last_rv:
            # Written by the schema by which it is read; every revision before was looked at.
            self._expected = None
        elif _versions(listing) != self._expected:
            why = f"objects were written, or could not be read, since {differently.why}"
            self._tell(Hole(self._from_rv, last_rv or listing.rv, why))
            self._expected = None

    def behind_hole(self, listing: ObjectList, hole: Hole) -> None:
        """Judge a state behind a hole."""
        self._tell(hole)
        self._judge.jumped(self._key, listing, self._monotonic())


def _versions(listing: ObjectList) -> frozenset[tuple[str, str]]:
    return frozenset((obj.uid, obj.resource_version) for obj in listing.objects)
