"""What waits to be taken in for one entry, bounded."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, NamedTuple, TypeAlias

from devops_bench.core.clock import Clock
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.types import StateInfo
from devops_bench.verification.result import VerificationResult

MANY_STATES: Final = 10_000
"""So many judged states of one entry may wait: about 10 MB."""

STREAM: Final = "what waits to be taken in"
"""The stream of a gap that is made here, for the reader."""


class FedState(NamedTuple):
    """A watched state, judged."""

    result: VerificationResult
    state: StateInfo


Fed: TypeAlias = FedState | Gap


class Backlog:
    """States and gaps of one entry, in order, from the thread that judges to the one that folds.

    Where too many states wait, they make way for the newest one, and a gap says so; of those the
    first of each status stays, so that neither a violation nor a pass is lost to it.

    Args:
        clock: Where time comes from.
        bound: How many items may wait, > 5.
    """

    def __init__(self, clock: Clock, bound: int = MANY_STATES) -> None:
        self._clock = clock
        self._bound = bound
        self._items: deque[Fed] = deque()
        self._lock = threading.Lock()
        self._filled = threading.Event()
        self._closed = False
        self._gaps = 0

    def __len__(self) -> int:
        """Return how much waits."""
        return len(self._items)

    def put(self, fed: Fed) -> None:
        """Add what comes next; after :meth:`close` it does nothing."""
        with self._lock:
            if self._closed:
                return
            self._items.append(fed)
            if len(self._items) > self._bound:
                self._shorten()
            self._filled.set()

    def take(self, timeout_sec: float) -> Fed | None:
        """Return the next state or gap, ``None`` if there is none within the time."""
        self._clock.wait(self._filled, max(0.0, timeout_sec))
        with self._lock:
            fed = self._items.popleft() if self._items else None
            if not self._items:
                self._filled.clear()
            return fed

    def close(self) -> None:
        """Forget what waits, and take nothing any more; safe to call twice."""
        with self._lock:
            self._closed = True
            self._items.clear()

    def _shorten(self) -> None:
        states = [fed for fed in self._items if isinstance(fed, FedState)]
        # Of what was told of one gap only the newest word counts.
        told = {(fed.stream, fed.number): fed for fed in self._items if isinstance(fed, Gap)}
        own = [told.pop(key) for key in list(told) if key[0] == STREAM]
        if len(told) > self._bound // 2:
            # Nobody can tell them apart any more; that there were some must not be lost.
            own += told.values()
            told = {}
        if len(states) > 1:
            first, last = states[0].state, states[-1].state
            own.append(self._gap(first.rv - 1, last.rv, first.at_sec, last.at_sec))
        kept = {id(one) for one in {s.result.status: s for s in reversed(states)}.values()}
        kept.update(id(one) for one in states[-1:])
        self._items = deque(told.values())
        if own:
            self._items.append(self._joined(own))
        self._items += [one for one in states if id(one) in kept]

    def _joined(self, gaps: list[Gap]) -> Gap:
        ends, times = [gap.to_rv for gap in gaps], [gap.to_sec for gap in gaps]
        mine = [gap.number for gap in gaps if gap.stream == STREAM]
        if not mine:
            self._gaps += 1
        return Gap(
            stream=STREAM,
            number=mine[0] if mine else self._gaps,
            cause=f"more than {self._bound} judged states and gaps waited",
            from_rv=min(gap.from_rv for gap in gaps),
            to_rv=None if None in ends else max(one for one in ends if one is not None),
            from_sec=min(gap.from_sec for gap in gaps),
            to_sec=None if None in times else max(one for one in times if one is not None),
            closed=False,
            how="not closed: they were given up",
        )

    def _gap(self, from_rv: int, to_rv: int, from_sec: float, to_sec: float) -> Gap:
        self._gaps += 1
        return Gap(STREAM, self._gaps, "", from_rv, to_rv, from_sec, to_sec, False, "")
