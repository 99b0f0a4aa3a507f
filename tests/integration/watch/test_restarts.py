"""The server itself dies, comes back, and forgets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.repair import RepairLimits
from devops_bench.k8s.watch.results import WatchOptions
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.control_plane import ControlPlane
from tests.integration.watch.faultproxy import Answer, Request
from tests.integration.watch.observing import Bench, Notes, bench


class Held:
    """Keeps the watcher out until it is over, while the test writes past it."""

    def __init__(self, at: Bench) -> None:
        self.over = False
        self.expired = 0
        at.proxy.on_request = self

    def __call__(self, request: Request) -> Answer | None:
        if self.over:
            old = request.watch and int(request.query["resourceVersion"]) < self.expired
            return Answer(410) if old else None
        return Answer(503)


@pytest.fixture
def at(own_plane: ControlPlane, tmp_path: Path) -> Iterator[Bench]:
    with bench(own_plane, tmp_path) as made:
        yield made


def everything(at: Bench) -> Subscription:
    return Subscription("it", (ResourceQuery("configmaps", namespace=at.namespace),))


def named(at: Bench) -> Subscription:
    return Subscription("it", (at.query(),))


def check_nothing_is_hidden(notes: Notes) -> None:
    assert "bad" in notes.values("it") or notes.open_gaps("it")


@pytest.mark.parametrize("make", [named, everything], ids=["one object", "all objects"])
def test_a_violation_around_a_restart_of_the_api_server_is_found(at: Bench, make: object) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(named(at) if make is named else everything(at))
    held = Held(at)
    at.plane.kill_api()
    at.plane.start_api()
    at.put("bad")
    at.put("good")
    held.over = True
    assert watcher.fence(60).why_not("it") is None
    assert "bad" in notes.values("it")
    assert notes.open_gaps("it") == []


def test_a_quiet_stream_survives_a_restart_without_an_open_gap(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(named(at))
    at.plane.kill_api()
    at.plane.start_api()
    assert watcher.fence(60).why_not("it") is None
    assert set(notes.values("it")) == {"good"}
    assert notes.open_gaps("it") == []
    assert notes.gaps("it")


def test_what_is_compacted_stays_a_gap(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(everything(at))
    held = Held(at)
    at.plane.kill_api()
    at.plane.start_api()
    at.put("bad")
    newest = at.put("good")
    at.plane.compact(newest)
    at.plane.kill_api()
    at.plane.start_api()
    held.over = True
    watcher.fence(60)
    gaps = notes.open_gaps("it")
    assert gaps
    assert "compacted" in gaps[0].how
    assert gaps[0].to_rv is not None
    assert gaps[0].to_rv <= newest
    assert notes.values("it")[-1:] == ["good"]


def test_a_hole_is_told_of_even_if_reading_on_behind_it_fails(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(everything(at))
    Held(at)
    for relay in at.proxy.open_watches("configmaps"):
        relay.cut()
    at.put("bad")
    newest = at.put("middle")
    at.plane.compact(newest)
    at.plane.kill_api()
    at.plane.start_api()
    for number in range(20):
        at.put(f"good{number}")
    exact = itertools.count()

    def on_request(request: Request) -> Answer | None:
        is_exact = request.query.get("resourceVersionMatch") == "Exact"
        return Answer(503) if is_exact and next(exact) == 12 else None

    at.proxy.on_request = on_request
    watcher.fence(60)
    assert next(exact) > 13, "the repair was not broken off and tried again"
    assert any("compacted" in gap.how for gap in notes.open_gaps("it"))
    assert notes.values("it")[-1:] == ["good19"]


def test_what_is_not_compacted_is_still_read(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(everything(at))
    held = Held(at)
    at.plane.kill_api()
    at.plane.start_api()
    at.put("lost")
    # What a compaction names is the oldest state that is kept.
    at.plane.compact(at.put("kept"))
    at.plane.kill_api()
    at.plane.start_api()
    at.put("bad")
    at.put("good")
    held.over = True
    watcher.fence(60)
    assert notes.values("it") == ["good", "kept", "bad", "good"]
    assert len(notes.open_gaps("it")) == 1


def test_named_objects_that_were_not_written_need_no_history(at: Bench) -> None:
    at.put("good")
    watcher, notes, _ = at.watch(named(at))
    held = Held(at)
    newest = at.put("other", name="other")
    at.plane.compact(newest)
    at.plane.kill_api()
    at.plane.start_api()
    held.over = True
    assert watcher.fence(60).why_not("it") is None
    assert notes.open_gaps("it") == []


def test_a_gap_over_the_bound_stays_open_and_says_so(at: Bench) -> None:
    at.put("good")
    limits = RepairLimits(requests=5)
    watcher, notes, _ = at.watch(everything(at), options=WatchOptions(limits=limits))
    held = Held(at)
    at.plane.kill_api()
    at.plane.start_api()
    at.put("bad")
    for number in range(20):
        # This server still knows the old versions; one with a shorter memory would not.
        held.expired = at.put(f"good{number}")
    held.over = True
    watcher.fence(60)
    check_nothing_is_hidden(notes)
    assert "more than 5 revisions" in notes.open_gaps("it")[0].how


def test_states_over_two_kinds_survive_a_restart(at: Bench) -> None:
    at.put("0")
    at.put("0", kind="secrets")
    both = Subscription("both", (at.query(), at.query("secrets", name=None)))
    watcher, notes, _ = at.watch(both)
    held = Held(at)
    at.plane.kill_api()
    at.plane.start_api()
    at.put("1")
    at.put("1", kind="secrets")
    at.put("bad")
    at.put("2", kind="secrets")
    at.put("2")
    held.over = True
    assert watcher.fence(60).why_not("both") is None
    assert notes.values("both") == ["0", "1", "1", "bad", "bad", "2"]
    assert notes.open_gaps("both") == []


def test_states_over_two_kinds_are_not_judged_inside_an_open_gap(at: Bench) -> None:
    at.put("0")
    at.put("0", kind="secrets")
    both = Subscription("both", (at.query(), at.query("secrets", name=None)))
    watcher, notes, _ = at.watch(both)
    held = Held(at)
    at.put("bad")
    newest = at.put("1")
    at.plane.compact(newest)
    at.plane.kill_api()
    at.plane.start_api()
    held.over = True
    watcher.fence(60)
    assert notes.open_gaps("both")
    assert notes.values("both")[0] == "0"
    assert notes.values("both")[-1:] == ["1"]
