"""Several streams as one history, for what is judged over more than one of them.

Revisions order all writes of one etcd, so the states between the streams' writes are known exactly,
but only up to the revision that every stream has provably passed. A state that mixes one stream's
present with another's past never existed; none is ever handed out.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.repair import Hole
from devops_bench.k8s.watch.tables import Key, Step, Update

MANY_STATES: Final = 20_000
"""So many states of one merged history are kept until they can be judged."""
MANY_BYTES: Final = 1 << 26
"""So many bytes of lines may lie behind them; parsed, they take several times as much."""

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True)
class MergedStep:
    """The next state of all streams together.

    Attributes:
        rv: Its revision.
        steps: What leads to it, of every stream that was written at this revision.
        known: Whether the state is known in full; ``False`` inside a gap of a stream, where the
            steps have to be taken over and nothing can be judged.
    """

    rv: int
    steps: tuple[Step, ...]
    known: bool


class Merge(Generic[S]):
    """Orders the steps of several streams by revision.

    Args:
        streams: Which; at least one.
        rv: Where the state of each is known (exact LISTs); the history starts there.
        many_states: How many states may wait, > 0.
        many_bytes: How many bytes may lie behind them, > 0.

    Attributes:
        judged_rv: The revision up to which everything was handed out.
    """

    def __init__(
        self,
        streams: Iterable[S],
        rv: int,
        many_states: int = MANY_STATES,
        many_bytes: int = MANY_BYTES,
    ) -> None:
        self._passed = dict.fromkeys(streams, rv)
        if not self._passed:
            raise ValueError("a merge needs at least one stream")
        self._blind: list[tuple[int, int]] = []
        self._waiting: list[_Waiting[S]] = []
        self._bytes = 0
        self._many_states = many_states
        self._many_bytes = many_bytes
        self._count = 0
        self.judged_rv = rv

    def push(self, stream: S, step: Step, size: int = 0) -> None:
        """Add the next step of a stream; it also proves that the stream has passed its revision.

        Args:
            stream: Which stream.
            step: Its next step.
            size: How many bytes lie behind it, as far as that is known.
        """
        if step.updates:
            self._wait(step, stream, size)
        self.passed(stream, step.rv)

    def passed(self, stream: S, rv: int) -> None:
        """Note that a stream sends nothing more up to ``rv``."""
        self._passed[stream] = max(self._passed[stream], rv)

    def blind(self, from_rv: int, to_rv: int) -> None:
        """Note that some stream's writes after ``from_rv`` and before ``to_rv`` are not known.

        To be called before the step of ``to_rv`` is pushed. The state at ``to_rv`` itself is known
        again.
        """
        if to_rv > from_rv + 1:
            self._blind.append((from_rv, to_rv))
            # What changed inside is judged here at the latest, even if nothing is written here.
            self._wait(Step(to_rv, ()), None)

    def behind(self) -> list[S]:
        """Return the streams that steps wait for, empty when no step waits."""
        if not self._waiting:
            return []
        first = self._waiting[0].rv
        return [stream for stream, rv in self._passed.items() if rv < first]

    @property
    def waiting(self) -> int:
        """How many steps wait, with the ends of gaps."""
        return len(self._waiting)

    @property
    def passed_rv(self) -> int:
        """The revision that every stream has passed."""
        return min(self._passed.values())

    def ready(self) -> Iterator[MergedStep]:
        """Hand out every step that no stream can put anything before any more, in order."""
        horizon = self.passed_rv
        while self._waiting and self._waiting[0].rv <= horizon:
            rv = self._waiting[0].rv
            steps: list[Step] = []
            while self._waiting and self._waiting[0].rv == rv:
                item = heapq.heappop(self._waiting)
                self._bytes -= item.size
                steps.append(item.step)
            yield MergedStep(rv, tuple(steps), self._known(rv))
        self.judged_rv = max(self.judged_rv, horizon)
        self._blind = [span for span in self._blind if span[1] > horizon]

    def give_up(self) -> Hole | None:
        """Give up the states that wait, if they are more than may wait, except for the newest.

        Of each stream only what its steps lead to is kept, so the newest state of all is known as
        soon as every stream has passed it; those before it are not judged.

        Returns:
            What is not judged; ``None`` while there is room.
        """
        count = len(self._waiting)
        if count <= self._many_states and self._bytes <= self._many_bytes:
            return None
        first, end_rv = self.judged_rv, max(item.rv for item in self._waiting)
        if end_rv <= first + 1:
            return None
        behind, size = ", ".join(map(str, self.behind())), self._bytes
        in_order = sorted(self._waiting)
        self._waiting, self._bytes = [], 0
        for stream in self._passed:
            steps = [item.step for item in in_order if item.stream == stream]
            if steps:
                self._wait(_together(steps), stream)
        # Every gap that is still to come ends at or before the newest step, and so in this one.
        self._blind = []
        self.blind(first, end_rv)
        return Hole(first, end_rv, f"{count} states of {size} bytes waited for {behind}")

    def _wait(self, step: Step, stream: S | None, size: int = 0) -> None:
        self._count += 1
        self._bytes += size
        heapq.heappush(self._waiting, _Waiting(step.rv, self._count, step, stream, size))

    def _known(self, rv: int) -> bool:
        return not any(start < rv < end for start, end in self._blind)


@dataclass(frozen=True, slots=True, order=True)
class _Waiting(Generic[S]):
    """A step that a stream has to be waited for with; ordered by revision, then as it came.

    Attributes:
        stream: Whose step; ``None`` where it only marks the end of a gap.
    """

    rv: int
    count: int
    step: Step = field(compare=False)
    stream: S | None = field(compare=False)
    size: int = field(compare=False)


def _together(steps: Sequence[Step]) -> Step:
    """Return the one step that leads where these, of one stream and in order, lead."""
    updates: dict[tuple[ResourceQuery, Key], Update] = {}
    for step in steps:
        for update in step.updates:
            updates[update.query, update.key] = update
    return Step(steps[-1].rv, tuple(updates.values()))
