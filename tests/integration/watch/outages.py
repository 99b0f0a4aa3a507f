"""Breaking a watch, and keeping it from coming back for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.integration.watch.faultproxy import Answer, Request
from tests.integration.watch.observing import Bench

MARK = b'"v":"trip"'


class Outage:
    """Refuses everything but what goes on already, until it is over."""

    def __init__(self, at: Bench, answer: Answer | None = None) -> None:
        self.over = threading.Event()
        self.refused = threading.Semaphore(0)
        self._answer = answer or Answer(503, {"Retry-After": "0"})
        self._at = at

    def __call__(self, request: Request) -> Answer | None:
        if self.over.is_set() or "configmaps" not in request.path:
            return None
        self.refused.release()
        return self._answer

    def wait_refused(self) -> None:
        assert self.refused.acquire(timeout=30), "the watcher did not try to come back"


def trip_on(at: Bench, fault: Callable[[bytes], BaseException]) -> None:
    """Break the watch of configmaps when the value ``trip`` passes, once."""
    left = threading.Semaphore(1)

    def on_line(request: Request, line: bytes) -> bytes:
        if "configmaps" in request.path and MARK in line and left.acquire(blocking=False):
            raise fault(line)
        return line

    at.proxy.on_line = on_line
