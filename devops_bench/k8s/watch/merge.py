"""Several streams as one history, for what is judged over more than one of them.

Revisions order all writes of one etcd, so the states between the streams' writes are known exactly,
but only up to the revision that every stream has provably passed. A state that mixes one stream's
present with another's past never existed; none is ever handed out.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from devops_bench.k8s.watch.tables import Step

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

    Attributes:
        judged_rv: The revision up to which everything was handed out.
    """

    def __init__(self, streams: Iterable[S], rv: int) -> None:
        self._passed = dict.fromkeys(streams, rv)
        if not self._passed:
            raise ValueError("a merge needs at least one stream")
        self._blind: list[tuple[int, int]] = []
        self._waiting: list[tuple[int, int, Step]] = []
        self._count = 0
        self.judged_rv = rv

    def push(self, stream: S, step: Step) -> None:
        """Add the next step of a stream; it also proves that the stream has passed its revision."""
        if step.updates:
            self._wait(step)
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
            self._wait(Step(to_rv, ()))

    def behind(self) -> list[S]:
        """Return the streams that steps wait for, empty when no step waits."""
        if not self._waiting:
            return []
        first = self._waiting[0][0]
        return [stream for stream, rv in self._passed.items() if rv < first]

    @property
    def passed_rv(self) -> int:
        """The revision that every stream has passed."""
        return min(self._passed.values())

    def ready(self) -> Iterator[MergedStep]:
        """Hand out every step that no stream can put anything before any more, in order."""
        horizon = self.passed_rv
        while self._waiting and self._waiting[0][0] <= horizon:
            rv = self._waiting[0][0]
            steps: list[Step] = []
            while self._waiting and self._waiting[0][0] == rv:
                steps.append(heapq.heappop(self._waiting)[2])
            yield MergedStep(rv, tuple(steps), self._known(rv))
        self.judged_rv = max(self.judged_rv, horizon)
        self._blind = [span for span in self._blind if span[1] > horizon]

    def _wait(self, step: Step) -> None:
        self._count += 1
        heapq.heappush(self._waiting, (step.rv, self._count, step))

    def _known(self, rv: int) -> bool:
        return not any(start < rv < end for start, end in self._blind)
