"""What has to happen beside reading: moving merged histories on, and finding dead connections."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import structlog

from devops_bench.core.errors import ApiUnavailableError
from devops_bench.k8s.watch.context import StreamContext
from devops_bench.k8s.watch.fence import Fence
from devops_bench.k8s.watch.stream import WatchStream
from devops_bench.k8s.watch.types import StreamKey

log = structlog.get_logger(__name__)

_TICK_SEC: Final = 0.5
_QUIET_SEC: Final = 75.0
"""Bookmarks come about every 60 s, but not when nothing moved: quiet is no proof of anything."""
_CHECK_SEC: Final = 8.0
_GRACE_SEC: Final = 3.0
_FEW_REVISIONS: Final = 40
"""Someone waits for these states: a few exact LISTs are faster than a bookmark."""


class Housekeeper:
    """A thread that looks after the streams twice a second.

    A merged state waits until every stream has passed it, and a quiet kind says so only once a
    minute: where states wait, the streams behind are asked. A stream that was quiet for long is
    compared with the server over another connection: if it misses a write, its connection is dead,
    whatever TCP says.

    Args:
        streams: Returns the streams.
        context: What they share.
        quiet_sec: Seconds without a line after which a stream is checked, > 0.
    """

    def __init__(
        self,
        streams: Callable[[], dict[StreamKey, WatchStream]],
        context: StreamContext,
        quiet_sec: float = _QUIET_SEC,
    ) -> None:
        self._streams = streams
        self._context = context
        self._quiet_sec = quiet_sec
        self._stopping = threading.Event()
        self._behind: set[StreamKey] = set()
        self._checked: dict[StreamKey, float] = {}
        self.requests = 0
        self._thread = threading.Thread(target=self._run, name="watch housekeeper", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_sec: float) -> None:
        """End the thread; wait for it at most ``timeout_sec`` seconds."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(max(0.0, timeout_sec))

    def _run(self) -> None:
        while not self._context.clock.wait(self._stopping, _TICK_SEC):
            try:
                self._move_on()
                self._check_quiet()
            except ApiUnavailableError:
                log.info("watch_housekeeper_ended", why="the judge has ended")
                return

    def _move_on(self) -> None:
        """Fence the streams that merged states have waited for since the last look."""
        behind = set(self._context.judge.behind())
        streams = self._streams()
        for key in behind & self._behind:
            self._fence(streams[key])
        self._behind = behind

    def _check_quiet(self) -> None:
        now = self._context.clock.monotonic()
        for key, stream in self._streams().items():
            last = max(stream.quiet_since(), self._checked.get(key, 0.0))
            if stream.opened.is_set() and now - last > self._quiet_sec:
                self._check(stream)
                self._checked[key] = self._context.clock.monotonic()

    def _check(self, stream: WatchStream) -> None:
        before = stream.newest_rv()
        missed = self._fence(stream)
        if missed <= before or self._stopping.is_set():
            return
        # What the other connection has brought may only just be on its way here.
        self._context.clock.wait(self._stopping, _GRACE_SEC)
        if stream.newest_rv() < missed and stream.opened.is_set():
            stream.cut(
                f"the connection brings nothing any more: it missed resourceVersion {missed}"
            )

    def _fence(self, stream: WatchStream) -> int:
        deadline = self._context.clock.monotonic() + _CHECK_SEC
        fence = Fence(stream, self._context, deadline, self._stopping, few=_FEW_REVISIONS)
        self.requests += fence.run().requests
        return fence.written_rv
