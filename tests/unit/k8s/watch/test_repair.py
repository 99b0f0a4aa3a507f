from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.events import ObjectList
from devops_bench.k8s.watch.repair import (
    Hole,
    Repair,
    Repaired,
    RepairLimits,
    VersionsWentBackError,
    read_exact,
    read_version,
)
from devops_bench.k8s.watch.types import Held
from tests.unit.k8s.watch.objects import thing

START = 10
KEY = ("shop", "web")


class Server:
    """Answers LISTs from a history: the state after each revision from ``START`` on."""

    def __init__(self, states: list[list[KubeObject]], compacted: int = 0) -> None:
        self.states = states
        self.compacted = compacted
        self.asked: list[int] = []

    @property
    def newest(self) -> int:
        return START + len(self.states) - 1

    def list(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        rv = int((query or {}).get("resourceVersion", self.newest))
        if query and "resourceVersion" in query:
            self.asked.append(rv)
            if rv <= self.compacted:
                raise ApiError(410, "Expired", "too old")
        items = [obj.data for obj in self.states[rv - START]]
        metadata = {"resourceVersion": str(rv)}
        return json.dumps({"kind": "ThingList", "metadata": metadata, "items": items}).encode()


class Emitted:
    def __init__(self) -> None:
        self.states: list[tuple[int, bool]] = []
        self.shown: list[ObjectList] = []
        self.holes: list[Hole] = []

    def known(self, listing: ObjectList) -> None:
        self.states.append((listing.rv, True))
        self.shown.append(listing)

    def behind_hole(self, listing: ObjectList, hole: Hole) -> None:
        self.holes.append(hole)
        self.states.append((listing.rv, False))
        self.shown.append(listing)


def connected(server: Server) -> Connection:
    return cast(Connection, server)


def repair(
    server: Server, *, named: bool = False, limits: RepairLimits | None = None
) -> tuple[Repaired, Emitted]:
    first = {(o.namespace, o.name): (o.uid, o.resource_version) for o in server.states[0]}
    proof = {KEY: first[KEY]} if named and KEY in first else None
    emitted = Emitted()
    done = Repair(
        connected(server),
        "/things",
        Held(START, proof),
        emitted,
        limits or RepairLimits(),
        lambda: 0.0,
    ).run()
    return done, emitted


ACTIONS = st.lists(
    st.sampled_from(["write web", "delete web", "write api", "delete api", "nothing"]), max_size=40
)


def history(actions: list[str], *, start_with_web: bool) -> list[list[KubeObject]]:
    live = {"web": thing("web", START)} if start_with_web else {}
    states = [list(live.values())]
    for offset, action in enumerate(actions, start=1):
        what, _, name = action.partition(" ")
        if what == "write":
            live[name] = thing(name, START + offset)
        elif what == "delete":
            live.pop(name, None)
        states.append(list(live.values()))
    return states


@given(ACTIONS, st.booleans())
def test_every_revision_is_read_in_order(actions: list[str], web: bool) -> None:
    server = Server(history(actions, start_with_web=web))
    done, emitted = repair(server)
    assert done.holes == ()
    assert emitted.states == [(rv, True) for rv in range(START + 1, server.newest + 1)]
    assert [list(item.objects) for item in emitted.shown] == server.states[1:]


@given(ACTIONS)
def test_of_a_named_object_every_state_is_found_with_fewer_lists(actions: list[str]) -> None:
    server = Server(history(actions, start_with_web=True))
    done, emitted = repair(server, named=True)
    assert done.holes == ()

    def web(states: list[list[KubeObject]]) -> list[str]:
        found = ["".join(o.resource_version for o in s if o.name == "web") for s in states]
        return [v for place, v in enumerate(found) if place == 0 or found[place - 1] != v]

    shown = [server.states[0], *[list(item.objects) for item in emitted.shown]]
    assert web(shown) == web(server.states)
    versions = [rv for rv, _ in emitted.states]
    assert versions == sorted(set(versions))
    if not any("web" in action for action in actions):
        assert server.asked == []


@given(ACTIONS, st.integers(min_value=0, max_value=45))
def test_what_is_compacted_is_a_hole_and_nothing_else_is(actions: list[str], gone: int) -> None:
    server = Server(history(actions, start_with_web=True))
    server.compacted = min(START + gone, server.newest)
    done, emitted = repair(server)
    lost = [rv for rv in range(START + 1, server.newest) if rv <= server.compacted]
    known = [rv for rv, _ in emitted.states]
    assert known == [rv for rv in range(START + 1, server.newest + 1) if rv not in lost]
    assert bool(done.holes) == bool(lost)
    if lost:
        assert (done.holes[0].from_rv, done.holes[0].to_rv) == (START, lost[-1] + 1)
        assert emitted.states[0] == (lost[-1] + 1, False)


@given(ACTIONS, st.integers(min_value=1, max_value=10))
def test_the_bound_is_kept_and_what_it_costs_is_a_hole(actions: list[str], most: int) -> None:
    server = Server(history(actions, start_with_web=False))
    done, emitted = repair(server, limits=RepairLimits(requests=most))
    assert len(server.asked) <= most + 1
    unknown = {
        rv
        for hole in done.holes
        for rv in range(hole.from_rv + 1, hole.to_rv)
        if rv <= server.newest
    }
    assert {rv for rv, _ in emitted.states} | unknown == set(range(START + 1, server.newest + 1))
    assert not {rv for rv, _ in emitted.states} & unknown


def test_time_is_bounded_too() -> None:
    server = Server(history(["write api"] * 10, start_with_web=False))
    ticks = iter(range(1_000))
    emitted = Emitted()
    done = Repair(
        connected(server),
        "/things",
        Held(START, None),
        emitted,
        RepairLimits(seconds=3),
        lambda: float(next(ticks)),
    ).run()
    assert done.holes
    assert emitted.states[-1] == (server.newest, False)


def test_a_hole_counts_even_if_the_repair_fails_behind_it() -> None:
    class Breaking(Server):
        def list(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
            if len(self.asked) > 8:
                raise ApiUnavailableError("broken")
            return super().list(path, query)

    server = Breaking(history(["write api"] * 30, start_with_web=False), compacted=START + 10)
    emitted = Emitted()
    with pytest.raises(ApiUnavailableError):
        Repair(
            connected(server), "/t", Held(START, None), emitted, RepairLimits(), lambda: 0.0
        ).run()
    assert emitted.states[0][1] is False
    assert emitted.holes


def test_another_history_is_not_repaired() -> None:
    server = Server([[thing("web", START)]])
    with pytest.raises(VersionsWentBackError, match="its history is not the one"):
        Repair(
            connected(server), "/t", Held(START + 5, None), Emitted(), RepairLimits(), lambda: 0.0
        ).run()


def test_a_server_that_answers_with_another_revision_is_not_believed() -> None:
    class Liar(Server):
        def list(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
            return super().list(path, None)

    with pytest.raises(ApiUnavailableError, match="was answered with the state at"):
        read_exact(connected(Liar([[], [], []])), "/things", START + 1)


def test_the_version_of_a_part_of_a_list_is_enough_to_compare() -> None:
    assert read_version(connected(Server([[], []])), "/things") == START + 1
