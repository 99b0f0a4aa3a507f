"""Reading a gap again, and handing its states to the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.context import StreamContext
from devops_bench.k8s.watch.events import ObjectList
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.repair import Hole, Repair, Repaired, read_exact
from devops_bench.k8s.watch.types import Held, StreamKey


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
            why = "objects were written while the schema of their CustomResourceDefinition changed"
            self._tell(Hole(self._from_rv, listing.rv, why))
            self._expected = None
        self._judge.listed(self._key, listing, self._monotonic())

    def behind_hole(self, listing: ObjectList, hole: Hole) -> None:
        """Judge a state behind a hole."""
        self._tell(hole)
        self._judge.jumped(self._key, listing, self._monotonic())


def _versions(listing: ObjectList) -> frozenset[tuple[str, str]]:
    return frozenset((obj.uid, obj.resource_version) for obj in listing.objects)
