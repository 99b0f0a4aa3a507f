"""Reading a gap again, and handing its states to the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.context import StreamContext
from devops_bench.k8s.watch.events import ObjectList
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.repair import Hole, Repair, Repaired, read_exact
from devops_bench.k8s.watch.types import Held, StreamKey

SCHEMA_MOVED: Final = "the schema of its CustomResourceDefinition changed while it was read again"
_WAIT_AFTER: Final = 20
"""After so many LISTs the judge is waited for, so that they do not pile up."""


def read_again(
    context: StreamContext,
    key: StreamKey,
    connection: Connection,
    held: Held,
    new_schema: bool,
    query: Mapping[str, str],
    tell: Callable[[Hole], None],
) -> Repaired:
    """Read what a stream has missed by exact LISTs.

    Args:
        context: What all streams share.
        key: Which stream.
        connection: Where to ask.
        held: How far it is known.
        new_schema: Whether stored objects are read differently than before, because the
            CustomResourceDefinition was changed.
        query: More query parameters of every LIST.
        tell: Is told of what stays unknown before the state behind it is judged: another try after
            a failure starts from that state and would not know.

    Raises:
        ApiError: A LIST failed; what was handed to the judge until then counts.
        ApiUnavailableError: Likewise.
    """
    emit = _Emit(context.judge, key, context.clock.monotonic, tell)
    if new_schema:
        # Named objects prove nothing by their version now, and a write of before the change cannot
        # be read as it was.
        emit.expect_no_write(read_exact(connection, key.path, held.rv, query))
        held = Held(held.rv, None)
    monotonic = context.clock.monotonic
    repair = Repair(connection, key.path, held, emit, context.limits, monotonic, query)
    return repair.run()


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
        requests = repaired.requests
        how = f"closed: read again up to resourceVersion {to_rv} by {requests} exact LISTs"
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
        self._lists = 0
        self._judge = judge
        self._key = key
        self._monotonic = monotonic
        self._expected: frozenset[tuple[str, str]] | None = None

    def expect_no_write(self, listing: ObjectList) -> None:
        """Tell of a hole as soon as a state differs from this one in what was written."""
        self._expected = _versions(listing)
        self._from_rv = listing.rv

    def known(self, listing: ObjectList) -> None:
        """Judge a state."""
        if self._expected is not None and _versions(listing) != self._expected:
            why = (
                "objects were written while the schema of their CustomResourceDefinition changed, "
                "or could not be read"
            )
            self._tell(Hole(self._from_rv, listing.rv, why))
            self._expected = None
        self._judge.listed(self._key, listing, self._monotonic())
        self._lists += 1
        if self._lists % _WAIT_AFTER == 0:
            self._judge.held(self._key)

    def behind_hole(self, listing: ObjectList, hole: Hole) -> None:
        """Judge a state behind a hole."""
        self._tell(hole)
        self._judge.jumped(self._key, listing, self._monotonic())


def _versions(listing: ObjectList) -> frozenset[tuple[str, str]]:
    return frozenset((obj.uid, obj.resource_version) for obj in listing.objects)
