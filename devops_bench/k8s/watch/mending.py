"""Reading a gap again, and handing its states to the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

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

    Raises:
        ApiError: A LIST failed; what was handed to the judge until then counts.
        ApiUnavailableError: Likewise.
    """
    emit = _Emit(context.judge, key, context.clock.monotonic)
    if new_schema:
        # Named objects prove nothing by their version now, and a write of before the change cannot
        # be read as it was.
        emit.expect_no_write(read_exact(connection, key.path, held.rv, query))
        held = Held(held.rv, None)
    monotonic = context.clock.monotonic
    repair = Repair(connection, key.path, held, emit, context.limits, monotonic, query)
    repaired = repair.run()
    if not emit.wrote:
        return repaired
    why = "objects were written while the schema of their CustomResourceDefinition changed"
    hole = Hole(held.rv, repaired.rv, why)
    return replace(repaired, holes=(*repaired.holes, hole))


class _Emit:
    """Hands repaired states to the judge."""

    def __init__(self, judge: Judge, key: StreamKey, monotonic: Callable[[], float]) -> None:
        self.wrote = False
        self._judge = judge
        self._key = key
        self._monotonic = monotonic
        self._expected: frozenset[tuple[str, str]] | None = None

    def expect_no_write(self, listing: ObjectList) -> None:
        """Note in :attr:`wrote` whether any state differs in what was written from this one."""
        self._expected = _versions(listing)

    def known(self, listing: ObjectList) -> None:
        if self._expected is not None and _versions(listing) != self._expected:
            self.wrote = True
        self._judge.listed(self._key, listing, self._monotonic())

    def behind_hole(self, listing: ObjectList) -> None:
        self._judge.jumped(self._key, listing, self._monotonic())


def _versions(listing: ObjectList) -> frozenset[tuple[str, str]]:
    return frozenset((obj.uid, obj.resource_version) for obj in listing.objects)
