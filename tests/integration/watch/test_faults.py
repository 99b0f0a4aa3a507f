"""Every fault between the watcher and the server: a violation is found, or the gap is told of.

In each test ``bad`` is stored for a moment while the connection is broken in its own way.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable

import pytest

from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.k8s.watch.results import WatchOptions
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.control_plane import until
from tests.integration.watch.faultproxy import Answer, End, Freeze, Request, Reset
from tests.integration.watch.observing import FENCE_SEC, Bench, Notes, several, subscription
from tests.integration.watch.outages import Outage, trip_on


def check_found(watcher_fence_reason: str | None, notes: Notes, at: Bench) -> None:
    assert watcher_fence_reason is None
    assert "bad" in notes.values("it")
    assert notes.values("it")[-1:] == ["good"]
    assert notes.open_gaps("it") == []


BREAKS: dict[str, Callable[[bytes], BaseException]] = {
    "reset between lines": lambda _: Reset(),
    "reset inside a line": lambda line: Reset(line[: len(line) // 2]),
    "clean end": lambda _: End(),
    "clean end inside a line": lambda line: End(line[: len(line) // 2]),
    "clean end without the last newline": lambda line: End(line[:-1]),
    "a line cut short": lambda line: End(line[: len(line) // 2] + b"\n"),
    "410 as an ERROR event": lambda _: End(
        json.dumps(
            {
                "type": "ERROR",
                "object": {"kind": "Status", "code": 410, "message": "too old resource version"},
            }
        ).encode()
        + b"\n"
    ),
    "500 as an ERROR event": lambda _: End(
        b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"storage"}}\n'
    ),
}


@pytest.mark.parametrize("make", [subscription, several], ids=["one object", "all objects"])
@pytest.mark.parametrize("name", BREAKS)
def test_a_violation_while_the_watch_is_broken_is_found(
    at: Bench, name: str, make: Callable[[Bench], Subscription]
) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(make(at))
    outage = Outage(at)
    trip_on(at, BREAKS[name])
    at.proxy.on_request = outage
    at.put("trip")
    outage.wait_refused()
    at.put("bad")
    at.put("good")
    outage.over.set()
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)
    assert [gap.closed for gap in notes.gaps("it")] == [True]


@pytest.mark.parametrize("garbage", [b"{\n", b"nonsense\n", b'{"type":"ADDED"}\n', b"\n"])
def test_a_malformed_line_is_asked_for_again(at: Bench, garbage: bytes) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(subscription(at))
    left = threading.Semaphore(1)

    def on_line(_: Request, line: bytes) -> bytes:
        return garbage if b'"v":"bad"' in line and left.acquire(blocking=False) else line

    at.proxy.on_line = on_line
    at.put("bad")
    at.put("good")
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)


def test_a_line_that_is_always_malformed_is_read_by_exact_lists(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(subscription(at))
    at.proxy.on_line = lambda _, line: b"{\n" if b'"v":"bad"' in line else line
    at.put("bad")
    at.put("good")
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)


@pytest.mark.parametrize(
    ("status", "headers"),
    [(401, {}), (403, {}), (410, {}), (429, {"Retry-After": "1"}), (503, {"Retry-After": "1"})],
)
def test_a_refused_watch_is_tried_again(at: Bench, status: int, headers: dict[str, str]) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(subscription(at))
    outage = Outage(at, Answer(status, headers))
    trip_on(at, lambda _: Reset())
    at.proxy.on_request = outage
    at.put("trip")
    outage.wait_refused()
    at.put("bad")
    at.put("good")
    outage.over.set()
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)


@pytest.mark.parametrize("status", [401, 403, 503])
def test_a_watch_that_is_refused_until_the_end_is_a_gap(at: Bench, status: int) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(subscription(at))
    outage = Outage(at, Answer(status))
    trip_on(at, lambda _: Reset())
    at.proxy.on_request = outage
    at.put("trip")
    outage.wait_refused()
    at.put("bad")
    at.put("good")
    fence = watcher.fence(1)
    assert fence.why_not("it") is not None
    gaps = notes.open_gaps("it")
    assert gaps
    assert gaps[-1].to_rv is None
    assert f"HTTP {status}" in gaps[-1].how


def test_a_half_open_connection_hides_nothing_from_the_fence(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(several(at))
    trip_on(at, lambda _: Freeze())
    at.put("trip")
    at.put("bad")
    at.put("good")
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)


def test_a_half_open_connection_is_found_out_and_replaced(at: Bench) -> None:
    at.put("good")
    _, notes, _ = at.watch(several(at), options=WatchOptions(quiet_sec=1.0))
    trip_on(at, lambda _: Freeze())
    at.put("trip")
    at.put("bad")
    at.put("good")
    notes.wait("the violation", lambda: "bad" in notes.values("it"))
    notes.wait("the gap of the dead connection", lambda: bool(notes.gaps("it")), 60)
    assert notes.open_gaps("it") == []
    at.put("after")
    notes.wait("the new connection's first line", lambda: notes.values("it")[-1:] == ["after"])


def test_a_quiet_connection_is_left_alone(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(several(at), options=WatchOptions(quiet_sec=0.5))
    asked = len(at.proxy.seen)
    until("the quiet stream was checked twice", lambda: len(at.proxy.seen) >= asked + 3)
    assert watcher.fence(FENCE_SEC).why_not("it") is None
    assert notes.gaps("it") == []


def test_a_reset_storm_ends_in_the_whole_history(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(several(at))
    count = threading.Semaphore(12)

    def on_line(request: Request, line: bytes) -> bytes:
        if "configmaps" in request.path and count.acquire(blocking=False):
            raise Reset(line[:20])
        return line

    at.proxy.on_line = on_line
    for number in range(20):
        at.put(f"v{number}")
    at.put("bad")
    at.put("good")
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)
    assert [value for value in notes.values("it") if value.startswith("v")] == [
        f"v{number}" for number in range(20)
    ]


def test_a_slow_way_to_the_server_loses_nothing(at: Bench) -> None:
    """The server ends a watch that is not read; what it had not sent is read after that."""
    at.put("good")
    watcher, notes, _ = at.watch(several(at))
    released = threading.Event()

    def on_line(request: Request, line: bytes) -> bytes:
        released.wait(60)
        return line

    at.proxy.on_line = on_line
    padding = "x" * 200_000
    for number in range(60):
        at.put(f"{padding}{number}", name="big")
    at.put("bad")
    at.put("good")
    released.set()
    check_found(watcher.fence(60).why_not("it"), notes, at)


class ClockThatGoesBack:
    """A clock whose monotonic time and wall time both go back an hour when told to."""

    def __init__(self) -> None:
        self.offset = 0.0

    def monotonic(self) -> float:
        return SYSTEM_CLOCK.monotonic() - self.offset

    def now(self) -> dt.datetime:
        return SYSTEM_CLOCK.now() - dt.timedelta(seconds=self.offset)

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        return SYSTEM_CLOCK.wait(event, timeout_sec)


def test_a_clock_that_goes_back_loses_nothing(at: Bench) -> None:
    at.put("good")
    clock = ClockThatGoesBack()
    watcher, notes, _ = at.watch(subscription(at), clock=clock)
    outage = Outage(at)
    trip_on(at, lambda _: Reset())
    at.proxy.on_request = outage
    at.put("trip")
    outage.wait_refused()
    clock.offset = 3600.0
    at.put("bad")
    at.put("good")
    outage.over.set()
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)


@pytest.fixture
def _hostile_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, "/nowhere/ca.pem")


@pytest.mark.usefixtures("_hostile_environment")
def test_the_environment_does_not_reach_the_connection(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(subscription(at))
    at.put("bad")
    at.put("good")
    check_found(watcher.fence(FENCE_SEC).why_not("it"), notes, at)
