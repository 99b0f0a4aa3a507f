"""A text stream that people watch: lines that stay, and some that are drawn again and again."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, TextIO

from devops_bench.cli.errors import use_color

REDRAW_SEC: Final = 0.5


class LiveStream:
    """Writes to a stream, and calls a redrawing function twice a second; thread-safe.

    A stream that is closed on us (``| head``) ends the showing, not the run.

    Args:
        stream: Where to write.

    Attributes:
        color: Whether it shows colours.
        live: Whether lines can be drawn again there: it is a terminal that can.
    """

    def __init__(self, stream: TextIO) -> None:
        self.color = use_color(stream)
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._stream = stream
        # A signal handler may have something to say in the middle of a write.
        self._lock = threading.RLock()
        self._closed = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called: nothing is to be redrawn any more."""
        return self._stop.is_set()

    def start(self, redraw: Callable[[], None]) -> None:
        """Call ``redraw`` from a thread of its own until :meth:`stop`, where lines are live."""
        if not self.live:
            return

        def run() -> None:
            while not self._stop.wait(REDRAW_SEC):
                redraw()

        self._thread = threading.Thread(target=run, name="progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the redrawing."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5)

    def write(self, text: str) -> None:
        """Write and flush; never raises because nobody reads."""
        with self._lock:
            if self._closed or not text:
                return
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # closed on us: the run goes on, its result is written
                self._closed = True
