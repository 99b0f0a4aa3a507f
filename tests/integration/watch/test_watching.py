"""Without faults: every stored state arrives, the fence holds, nothing is left behind."""

from __future__ import annotations

import threading

from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.observing import ABSENT, Bench


def test_every_write_is_shown_in_order_and_once(at: Bench) -> None:
    at.put("0")
    watcher, notes, started = at.watch(Subscription("it", (at.query(),)))
    assert list(started.watched) == ["it"]
    assert notes.values("it") == ["0"]
    for number in range(1, 30):
        at.put(str(number))
    at.delete()
    at.put("again")
    fence = watcher.fence(10)
    assert fence.why_not("it") is None
    assert notes.values("it") == [*map(str, range(30)), ABSENT, "again"]
    assert notes.gaps("it") == []


def test_the_fence_says_where_the_turn_ended(at: Bench) -> None:
    watcher, notes, _ = at.watch(Subscription("it", (at.query(),)))
    before = at.put("before")
    fence = watcher.fence(10)
    after = at.put("after")
    notes.wait("the later write", lambda: notes.values("it")[-1:] == ["after"])
    end = fence.end_rv("it")
    assert end is not None
    assert before <= end < after


def test_the_fence_of_a_quiet_kind_is_reached_while_others_are_written(at: Bench) -> None:
    quiet = ResourceQuery("secrets", namespace=at.namespace)
    watcher, notes, _ = at.watch(Subscription("quiet", (quiet,)))
    for number in range(60):
        at.put(str(number))
    fence = watcher.fence(10)
    assert fence.why_not("quiet") is None
    assert notes.open_gaps("quiet") == []


def test_events_have_no_bookmarks_and_are_fenced_all_the_same(at: Bench) -> None:
    watcher, _, started = at.watch(
        Subscription("events", (ResourceQuery("events", namespace=at.namespace),))
    )
    assert "events" in started.watched
    for number in range(30):
        at.put(str(number))
    assert watcher.fence(20).why_not("events") is None


def test_states_over_two_kinds_are_the_ones_that_existed(at: Bench) -> None:
    at.put("0")
    at.put("0", kind="secrets")
    both = Subscription("both", (at.query(), at.query("secrets")))
    watcher, notes, started = at.watch(both)
    assert "both" in started.watched, started.sampled
    expected: list[tuple[str, bool]] = [("0", True)]
    for number in range(1, 8):
        at.put(str(number))
        expected.append((str(number), expected[-1][1]))
        if number % 2:
            at.delete(kind="secrets")
        else:
            at.put("0", kind="secrets")
        expected.append((str(number), number % 2 == 0))
    assert watcher.fence(10).why_not("both") is None
    shown = [
        (seen.values[0].get("it", ABSENT), "it" in seen.values[1]) for seen in notes.states["both"]
    ]
    assert shown == expected


def test_a_state_over_two_kinds_does_not_wait_for_a_bookmark(at: Bench) -> None:
    """The secrets stay quiet; what waits for them moves on within seconds, not a minute."""
    both = Subscription("both", (at.query(), at.query("secrets", name=None)))
    _, notes, _ = at.watch(both)
    at.put("now")
    notes.wait("the merged state", lambda: notes.values("both")[-1:] == ["now"], 15)


def test_more_than_three_namespaces_are_one_stream(at: Bench) -> None:
    queries = tuple(ResourceQuery("configmaps", f"{at.namespace}-{n}") for n in range(4))
    _, _, started = at.watch(Subscription("many", queries))
    assert started.watched == {"many": ("configmaps",)}


def test_an_unknown_kind_is_not_watched_and_says_why(at: Bench) -> None:
    _, _, started = at.watch(Subscription("it", (at.query("gizmos"),)))
    assert "gizmos" in started.sampled["it"]


def test_stopping_twice_and_without_a_start_does_no_harm(at: Bench) -> None:
    before = threading.active_count()
    watcher, _, _ = at.watch(Subscription("it", (at.query(),)))
    assert watcher.stop(10)
    assert watcher.stop(10)
    assert threading.active_count() >= before
