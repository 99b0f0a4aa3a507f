"""Time as seconds after the start of a task, so that what is folded is what is recorded."""

from __future__ import annotations

import datetime as dt
import threading

from devops_bench.core.clock import Clock


class TaskClock:
    """A clock whose monotonic axis starts at 0 when it is made.

    Args:
        clock: Where time comes from.

    Attributes:
        started_at: The wall time of second 0.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.monotonic()
        self.started_at = clock.now()

    def monotonic(self) -> float:
        """Return seconds after the start."""
        return self._clock.monotonic() - self._start

    def now(self) -> dt.datetime:
        """Return the wall time, aware, in UTC."""
        return self._clock.now()

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        """Wait until ``event`` is set, at most ``timeout_sec`` seconds; return whether it is."""
        return self._clock.wait(event, timeout_sec)
