"""What one object was between two looks at it, write by write.

Two looks that show the same do not prove that it was the same in between. A watch from the first
look brings every write of it since; the second look says which write was the last, so that no
bookmark has to be waited for. Where the server has forgotten (410), exact LISTs show the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from devops_bench.core.clock import Clock
from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.events import ObjectEvent, ObjectList, parse_line
from devops_bench.k8s.watch.repair import Hole, Repair, RepairLimits
from devops_bench.k8s.watch.types import Held

T = TypeVar("T")

States: TypeAlias = list[KubeObject | None]
"""Every state that an object had, in order; ``None`` where it did not exist."""

_WATCH_SEC: Final = 5
_LONGEST_SEC: Final = 10.0
_LISTS: Final = 500


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not every state is known.

    Attributes:
        why: A sentence for the reader.
    """

    why: str


class PastReader:
    """Reads what single objects were.

    Args:
        connect: Opens a connection whose answers may take so many seconds.
        clock: Where times come from.
        deadline: Monotonic seconds at which it gives up.

    Attributes:
        requests: How many requests it has sent.
    """

    def __init__(
        self, connect: Callable[[float], Connection], clock: Clock, deadline: float
    ) -> None:
        self.requests = 0
        self._connect = connect
        self._clock = clock
        self._deadline = deadline

    def states(self, path: str, name: str, since: Held, last_rv: int) -> States | Unknown:
        """Return every state since the first look, that of the second included.

        Args:
            path: The path of the collection, which is cluster-scoped.
            name: The object's name.
            since: The revision of the first look; in ``named`` the object, if it existed then.
            last_rv: The resourceVersion that the object had at the second look.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer.
        """
        found = self._on_connection(lambda c: self._watched(c, path, name, since.rv, last_rv))
        if found is not None:
            return found
        return self._on_connection(lambda c: self._listed(c, path, name, since))

    def _on_connection(self, read: Callable[[Connection], T]) -> T:
        left = self._deadline - self._clock.monotonic()
        if left <= 0:
            raise ApiUnavailableError("there was no time left to read what was changed")
        connection = self._connect(min(left, _LONGEST_SEC))
        try:
            return read(connection)
        finally:
            self.requests += connection.requests
            with contextlib.suppress(OSError):  # it is being thrown away
                connection.close()

    def _watched(
        self, connection: Connection, path: str, name: str, since_rv: int, last_rv: int
    ) -> States | None:
        """Return the states as a watch brings them, ``None`` where it does not bring the last."""
        query = {**_only(name), "resourceVersion": str(since_rv), "timeoutSeconds": str(_WATCH_SEC)}
        states: States = []
        try:
            for line in connection.watch(path, query, idle_sec=_WATCH_SEC + 1.0):
                event = parse_line(line)
                if not isinstance(event, ObjectEvent):
                    return None
                states.append(None if event.deleted else event.object)
                if event.rv >= last_rv:
                    return states
        except (ApiError, ApiUnavailableError):
            # It is too old, or may not be watched: whoever may LIST it can still find out.
            return None
        return None

    def _listed(
        self, connection: Connection, path: str, name: str, since: Held
    ) -> States | Unknown:
        left = max(0.0, self._deadline - self._clock.monotonic())
        emit = _Kept()
        limits = RepairLimits(_LISTS, min(left, _LONGEST_SEC))
        monotonic = self._clock.monotonic
        Repair(connection, path, since, emit, limits, monotonic, _only(name)).run()
        return emit.states if emit.hole is None else Unknown(emit.hole.why)


class _Kept:
    """Keeps what a repair reads of one object."""

    def __init__(self) -> None:
        self.states: States = []
        self.hole: Hole | None = None

    def known(self, listing: ObjectList) -> None:
        self.states.append(next(iter(listing.objects), None))

    def behind_hole(self, listing: ObjectList, hole: Hole) -> None:
        self.hole = self.hole or hole
        self.known(listing)


def _only(name: str) -> dict[str, str]:
    return {"fieldSelector": f"metadata.name={name}"}
