"""What the judge holds of each stream, and of streams that are read together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.merge import Merge
from devops_bench.k8s.watch.repair import Hole
from devops_bench.k8s.watch.store import StreamStore
from devops_bench.k8s.watch.tables import Step, Tables
from devops_bench.k8s.watch.types import StreamKey, Subscription


class Readers:
    """Which subscriptions are judged on one set of tables, and what each of them reads.

    Args:
        subscriptions: Those.

    Attributes:
        all: The same, in order; their places are what :meth:`touched` returns.
    """

    def __init__(self, subscriptions: Iterable[Subscription]) -> None:
        self.all = tuple(subscriptions)
        self._by_query: dict[object, list[int]] = {}
        for place, subscription in enumerate(self.all):
            for query in dict.fromkeys(subscription.queries):
                self._by_query.setdefault(query, []).append(place)

    def touched(self, step: Step) -> list[int]:
        """Return the places of the subscriptions that read something which the step changes."""
        if len(step.updates) == 1:
            return self._by_query.get(step.updates[0].query, [])
        places = {p for update in step.updates for p in self._by_query.get(update.query, ())}
        return sorted(places)


class Group:
    """Subscriptions that read the same several streams, and the merged history they are shown.

    Args:
        streams: The streams.
        members: The subscriptions.

    Attributes:
        readers: The subscriptions.
        tables: The state that was handed out last.
        merge: What orders the streams; ``None`` until all of them are listed.
        unseen: Places of subscriptions whose state changed where it could not be judged.
        overflows: How often states had to be given up.
        moved_sec: Monotonic seconds when a state was handed out last.
    """

    def __init__(self, streams: Sequence[StreamKey], members: Sequence[Subscription]) -> None:
        self.streams = tuple(streams)
        self.readers = Readers(members)
        self.tables = Tables({query: None for item in members for query in item.queries})
        self.merge: Merge[StreamKey] | None = None
        self.unseen: set[int] = set()
        self.overflows = 0
        self.moved_sec = 0.0

    def gave_up(self, hole: Hole, now_sec: float) -> Gap:
        """Return the gap that states are which were too many to be kept until they could be judged.

        Args:
            hole: Those revisions.
            now_sec: Monotonic seconds now.
        """
        self.overflows += 1
        together = " with ".join(map(str, self.streams))
        cause = f"more states waited for a stream that was behind than are kept: {hole.why}"
        how = "not closed: they were not judged"
        return Gap(
            f"{together}, merged",
            self.overflows,
            cause,
            hole.from_rv,
            hole.to_rv,
            self.moved_sec,
            now_sec,
            False,
            how,
        )


class JudgedStream:
    """One stream as the judge knows it.

    Args:
        store: Its state.
        alone: The subscriptions that read nothing else.
        groups: What reads it together with others.

    Attributes:
        waiting: Revisions, and what is to be called when they were judged.
    """

    def __init__(
        self,
        store: StreamStore,
        alone: Sequence[Subscription],
        groups: Sequence[Group],
    ) -> None:
        self.store = store
        self.readers = Readers(alone)
        self.groups = tuple(groups)
        self.waiting: list[tuple[int, Callable[[], None]]] = []
