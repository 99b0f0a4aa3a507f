"""What is read must stay what it was: who serves it, and how its objects are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.control_plane import ControlPlane
from tests.integration.watch.faultproxy import Answer
from tests.integration.watch.kinds import BACK, Kind, patch_service, pointed_at
from tests.integration.watch.observing import ABSENT, Bench, bench


@pytest.fixture
def at(own_plane: ControlPlane, tmp_path: Path) -> Iterator[Bench]:
    with bench(own_plane, tmp_path) as made:
        yield made


def test_a_custom_kind_is_watched(at: Bench) -> None:
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.put("bad")
    kind.put("good")
    assert watcher.fence(20).why_not("it") is None
    assert notes.values("it") == ["good", "bad", "good"]


def test_a_harmless_change_of_the_definition_leaves_no_gap(at: Bench) -> None:
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.change([{"spec": {"names": {"shortNames": [f"g{kind.plural[6:]}"]}}}])
    notes.wait("the stream was mended", lambda: bool(notes.gaps("it")))
    kind.put("bad")
    kind.put("good")
    assert watcher.fence(20).why_not("it") is None
    assert "bad" in notes.values("it")
    assert notes.open_gaps("it") == []


def test_a_write_around_a_change_of_the_schema_is_found_or_a_gap(at: Bench) -> None:
    """The new schema drops the field, so the history cannot be read as it was."""
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    at.proxy.on_request = lambda _: Answer(503)
    for relay in at.proxy.open_watches(kind.plural):
        relay.cut()
    kind.put("bad")
    kind.put("good")
    kind.set_schema(w={"type": "string"})
    at.proxy.on_request = lambda _: None
    watcher.fence(20)
    assert "schema" in notes.open_gaps("it")[0].how


def test_a_kind_that_appears_is_judged_from_its_first_object_on(at: Bench) -> None:
    kind = Kind(at)
    later = Subscription("later", (at.query(kind.plural),), may_appear=True)
    watcher, notes, started = at.watch(later)
    assert "later" in started.watched, started.sampled
    assert notes.values("later") == [ABSENT]
    kind.create()
    kind.put("bad")
    kind.delete()
    kind.put("good")
    assert watcher.fence(30).why_not("later") is None
    notes.wait("the kind is watched", lambda: notes.values("later")[-1:] == ["good"])
    assert "bad" in notes.values("later")
    assert notes.open_gaps("later") == []


def test_a_kind_that_never_appears_is_fenced(at: Bench) -> None:
    later = Subscription("later", (at.query("gizmosthatneverare"),), may_appear=True)
    watcher, notes, _ = at.watch(later)
    assert watcher.fence(20).why_not("later") is None
    assert notes.values("later") == [ABSENT]


@pytest.mark.parametrize(
    ("patch", "subresource"),
    [
        ({"metadata": {"labels": {"somebody": "was-here"}}}, ""),
        ({"spec": {"versionPriority": 16}}, ""),
        ({"status": {"conditions": []}}, "/status"),
    ],
    ids=["a label", "its priority", "its status"],
)
def test_an_api_service_that_still_means_the_same_server_leaves_no_gap(
    at: Bench, patch: JsonObject, subresource: str
) -> None:
    query = ResourceQuery("cronjobs.batch", namespace=at.namespace)
    watcher, notes, started = at.watch(Subscription("it", (query,)))
    assert "it" in started.watched, started.sampled
    patch_service(at, "v1.batch", patch, subresource)
    for relay in at.proxy.open_watches("cronjobs"):
        relay.cut()
    notes.wait("the stream was mended", lambda: bool(notes.gaps("it")))
    assert watcher.fence(20).why_not("it") is None
    assert notes.open_gaps("it") == []


def test_a_definition_that_is_made_again_alike_leaves_no_gap(at: Bench) -> None:
    """Its objects went with it, and whoever makes them again may make them badly."""
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.undefine()
    kind.create()
    kind.put("bad")
    kind.put("good")
    assert watcher.fence(20).why_not("it") is None
    assert notes.values("it") == ["good", ABSENT, "bad", "good"]
    assert notes.open_gaps("it") == []


def test_objects_of_a_definition_that_is_made_again_otherwise_are_read_by_the_new_one(
    at: Bench,
) -> None:
    """The open watch of before lives on for a second, and does not show the new field."""
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.undefine()
    kind.create(v={"type": "string"}, w={"type": "string"})
    kind.put("bad", w="new")
    kind.put("good")
    watcher.fence(20)
    assert "the schema of its CustomResourceDefinition was changed" in notes.open_gaps("it")[0].how


def test_a_field_that_only_a_new_schema_shows_is_not_missed(at: Bench) -> None:
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.set_schema(v={"type": "string"}, w={"type": "string"})
    kind.put("bad", w="new")
    kind.delete()
    watcher.fence(20)
    assert "the schema of its CustomResourceDefinition was changed" in notes.open_gaps("it")[0].how


def test_a_changed_schema_leaves_no_gap_where_nothing_was_written(at: Bench) -> None:
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.set_schema(v={"type": "string"}, w={"type": "string"})
    assert watcher.fence(20).why_not("it") is None
    kind.put("bad", w="new")
    kind.put("good")
    assert watcher.fence(20).why_not("it") is None
    assert "bad" in notes.values("it")
    assert notes.open_gaps("it") == []


def test_a_definition_that_stays_away_is_a_gap(at: Bench) -> None:
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.undefine()
    assert watcher.fence(5).why_not("it") is not None
    assert notes.open_gaps("it")


def test_a_schema_that_is_changed_and_changed_back_unseen_is_a_gap(at: Bench) -> None:
    """What was written meanwhile may have shown a field that nobody can read any more."""
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    at.proxy.on_request = lambda _: Answer(503)
    for relay in at.proxy.open_watches(kind.plural):
        relay.cut()
    kind.set_schema(v={"type": "string"}, w={"type": "string"})
    kind.put("bad")
    kind.set_schema(v={"type": "string"})
    at.proxy.on_request = lambda _: None
    watcher.fence(20)
    assert "was changed, and changed back" in notes.open_gaps("it")[0].how


def test_a_kind_that_appears_and_is_redirected_meanwhile_is_a_gap(at: Bench) -> None:
    """Its APIService is new, so what it was before the first look at it counts."""
    kind = Kind(at)
    later = Subscription("later", (at.query(kind.plural),), may_appear=True)
    watcher, notes, started = at.watch(later)
    assert "later" in started.watched, started.sampled
    at.proxy.on_request = lambda _: Answer(503)
    kind.create()
    service = f"v1.{kind.group}"
    # The server restores what it manages; without the label it leaves it alone.
    unmanaged: JsonObject = {"labels": {"kube-aggregator.kubernetes.io/automanaged": None}}
    patch_service(at, service, {"metadata": unmanaged, **pointed_at(at)})
    patch_service(at, service, BACK)
    at.proxy.on_request = lambda _: None
    assert watcher.fence(20).why_not("later") is not None
    assert any("pointed at the Service" in gap.how for gap in notes.open_gaps("later"))
