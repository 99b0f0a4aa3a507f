"""Time as a thing that is handed in, so that no rule depends on the machine's clock."""

from __future__ import annotations

import datetime as dt
import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. Durations use ``monotonic``; ``now`` is only ever shown."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start that never go back."""
        ...

    def now(self) -> dt.datetime:
        """Return the wall time, aware, in UTC."""
        ...

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        """Wait until ``event`` is set, at most ``timeout_sec`` seconds; return whether it is."""
        ...


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Return ``time.monotonic()``."""
        return time.monotonic()

    def now(self) -> dt.datetime:
        """Return the wall time, aware, in UTC."""
        return dt.datetime.now(dt.UTC)

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        """Wait on the event itself."""
        return event.wait(max(0.0, timeout_sec))


SYSTEM_CLOCK = SystemClock()
