"""Every state is shown, in its order, and none that never was."""

from __future__ import annotations

import itertools
import threading

from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.faultproxy import Answer, Request, Reset
from tests.integration.watch.observing import ABSENT, FENCE_SEC, Bench, several, subscription
from tests.integration.watch.outages import Outage, trip_on


def test_an_object_that_came_and_went_inside_a_gap_is_found(at: Bench) -> None:
    at.put("other", name="other")
    watcher, notes, _ = at.watch(subscription(at))
    outage = Outage(at, Answer(410))
    trip_on(at, lambda _: Reset())
    at.proxy.on_request = lambda request: outage(request) if request.watch else None
    at.put("trip", name="other")
    outage.wait_refused()
    at.put("bad")
    at.delete()
    outage.over.set()
    assert watcher.fence(FENCE_SEC).why_not("it") is None
    assert "bad" in notes.values("it")
    assert notes.values("it")[-1] == ABSENT
    assert notes.open_gaps("it") == []


def test_an_object_between_two_events_of_another_kind_is_found(at: Bench) -> None:
    """Secrets are delayed until long after; the configmap lived between two of their writes."""
    at.put("one", kind="secrets")
    both = Subscription("both", (at.query(), at.query("secrets")))
    watcher, notes, _ = at.watch(both)
    released = threading.Event()

    def on_line(request: Request, line: bytes) -> bytes:
        if "secrets" in request.path:
            released.wait(30)
        return line

    at.proxy.on_line = on_line
    at.put("two", kind="secrets")
    at.put("bad")
    at.delete()
    at.put("three", kind="secrets")
    released.set()
    assert watcher.fence(FENCE_SEC).why_not("both") is None
    assert "bad" in notes.values("both")
    assert notes.open_gaps("both") == []


def test_delayed_streams_show_no_state_that_never_was(at: Bench) -> None:
    """The pair is always equal or one step apart; a mix of present and past would be further."""
    at.put("0")
    at.put("0", kind="secrets")
    both = Subscription("both", (at.query(), at.query("secrets", name="it")))
    watcher, notes, _ = at.watch(both)
    gate = threading.Semaphore(0)

    def on_line(request: Request, line: bytes) -> bytes:
        if "secrets" in request.path:
            gate.acquire(timeout=30)
        return line

    at.proxy.on_line = on_line
    for number in range(1, 10):
        at.put(str(number))
        at.put(str(number), kind="secrets")
        if number % 3 == 0:
            gate.release(2)
    gate.release(1_000)
    assert watcher.fence(FENCE_SEC).why_not("both") is None
    shown = [int(value) for value in notes.values("both")]
    assert shown == sorted(shown)
    assert len(shown) == 19


def test_an_object_of_the_same_name_in_a_new_namespace_is_another_state(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(subscription(at))
    at.delete()
    at.delete_namespace()
    at.create_namespace()
    at.put("bad")
    at.put("good")
    assert watcher.fence(FENCE_SEC).why_not("it") is None
    assert notes.values("it") == ["good", ABSENT, "bad", "good"]


def test_a_new_namespace_inside_a_gap_is_found_too(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(subscription(at))
    outage = Outage(at, Answer(410))
    trip_on(at, lambda _: Reset())
    at.proxy.on_request = lambda request: outage(request) if request.watch else None
    at.put("trip")
    outage.wait_refused()
    at.delete()
    at.delete_namespace()
    at.create_namespace()
    at.put("bad")
    at.put("good")
    outage.over.set()
    assert watcher.fence(FENCE_SEC).why_not("it") is None
    assert [value for value in notes.values("it") if value != "trip"][-3:] == [
        ABSENT,
        "bad",
        "good",
    ]
    assert notes.open_gaps("it") == []


def test_ten_thousand_states_in_a_burst_are_all_shown(at: Bench) -> None:
    at.put("0", name="it")
    watcher, notes, _ = at.watch(several(at))

    def write(worker: int) -> None:
        for number in range(1_250):
            at.put(str(number), name=f"w{worker}")

    writers = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert watcher.fence(60).why_not("it") is None
    for worker in range(8):
        shown = [
            seen.values[0][f"w{worker}"]
            for seen in notes.states["it"]
            if f"w{worker}" in seen.values[0]
        ]
        ordered = [value for value, _ in itertools.groupby(shown)]
        assert ordered == [str(number) for number in range(1_250)]
