"""What a fence does when the server does not answer it: it tries again, and knows when to stop."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import dataclass, field
from typing import cast

import pytest

from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.context import StreamContext
from devops_bench.k8s.watch.fence import GONE_SEC, Fence
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.repair import RepairLimits
from devops_bench.k8s.watch.stream import WatchStream
from devops_bench.k8s.watch.types import StreamKey
from tests.unit.k8s.stub import NO_SUCH_PATH, Response, StubServer, client_of, status

DEADLINE_SEC = 1000.0
KEY = StreamKey(ApiResource("x.io", "v1", "things", "Thing", True, ("list", "watch")), "n")


class Clock:
    """A clock that only goes on where somebody waits."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        self._now += max(0.001, timeout_sec)
        return event.is_set()


@dataclass
class Stream:
    """As much of a stream as a fence asks for before the first LIST is answered."""

    key: StreamKey = KEY
    trouble: str = ""
    opened: threading.Event = field(default_factory=threading.Event)


def fenced(stub: StubServer, *answers: Response) -> tuple[bool, str, float]:
    """Return whether the fence was reached, how it went, and the seconds that it took."""
    clock = Clock()
    stub.on("GET", KEY.path, *answers)
    with client_of(stub) as client:
        context = StreamContext(client, cast(Judge, None), clock, RepairLimits())
        stream = cast(WatchStream, Stream())
        found = Fence(stream, context, DEADLINE_SEC, threading.Event()).run()
    return found.passed, found.how, clock.monotonic()


def test_a_kind_that_is_not_served_any_more_is_not_waited_for(stub: StubServer) -> None:
    passed, how, seconds = fenced(stub, NO_SUCH_PATH)
    assert not passed
    assert "HTTP 404" in how
    assert GONE_SEC <= seconds < DEADLINE_SEC / 10


@pytest.mark.parametrize("code", [403, 429, 500, 503])
def test_a_server_that_only_refuses_is_asked_to_the_end(stub: StubServer, code: int) -> None:
    passed, how, seconds = fenced(stub, NO_SUCH_PATH, status(code, "Refused", "no"))
    assert not passed
    assert f"HTTP {code}" in how
    assert seconds >= DEADLINE_SEC
