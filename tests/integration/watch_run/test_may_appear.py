"""Safeguards on kinds that do not exist when the turn begins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.results.model import ReportRow
from tests.integration.watch.kinds import Kind
from tests.integration.watch_run.arena import Arena, coverage, row


def none_of(arena: Arena, kind: str, name: str = "none") -> JsonObject:
    check = {
        "type": "resource_property",
        "kind": kind,
        "namespace": arena.at.namespace,
        "op": "absent",
    }
    return arena.entry(name, check=check, may_appear=True)


def run(arena: Arena, act: Callable[[], object]) -> ReportRow:
    """Run a task whose safeguard wants none of the test's own kind, and return its row."""
    result = arena.run(act, none_of(arena, Kind(arena.at).plural))
    assert arena.agent.turns == 1, result.reason
    return row(result, "none")


def flicker(kind: Kind) -> None:
    """Store an object for no time at all."""
    kind.put("bad")
    kind.delete()


def test_a_kind_that_never_appears_holds(arena: Arena) -> None:
    result = arena.run(lambda: None, none_of(arena, "gizmosthatneverare"))
    assert (result.status, arena.agent.turns) == ("passed", 1), result.reason
    assert coverage(result, "none")["mode"] == "watched"


def test_a_kind_that_appears_without_objects_holds(arena: Arena) -> None:
    kind = Kind(arena.at)
    found = run(arena, kind.create)
    assert found["status"] == "pass", found


@pytest.mark.parametrize("lasts", [True, False], ids=["it stays", "it lasts no time"])
def test_an_object_of_a_kind_that_appears_is_found(arena: Arena, lasts: bool) -> None:
    kind = Kind(arena.at)

    def act() -> None:
        kind.create()
        kind.put("bad")
        if not lasts:
            kind.delete()

    found = run(arena, act)
    assert found["status"] == "fail", found


def test_an_object_is_found_whatever_happens_to_its_definition_then(arena: Arena) -> None:
    kind = Kind(arena.at)

    def act() -> None:
        kind.create()
        kind.change([{"spec": {"names": {"shortNames": [f"g{kind.plural[6:]}"]}}}])
        flicker(kind)

    found = run(arena, act)
    assert found["status"] == "fail", found


@pytest.mark.parametrize("harm", [True, False])
def test_a_kind_that_is_gone_at_the_end_hides_nothing(arena: Arena, harm: bool) -> None:
    kind = Kind(arena.at)

    def act() -> None:
        kind.create()
        if harm:
            flicker(kind)
        kind.undefine()

    assert run(arena, act)["status"] in (("fail", "error") if harm else ("pass", "error"))


@pytest.mark.parametrize("harm", [True, False])
def test_a_kind_of_the_same_name_in_another_group_takes_no_place(arena: Arena, harm: bool) -> None:
    squatter, meant = Kind(arena.at, "aaa.org"), Kind(arena.at)

    def act() -> None:
        squatter.create()
        meant.create()
        if harm:
            flicker(meant)

    found = run(arena, act)
    assert found["status"] == "error", found
    assert squatter.group in found["reason"] + str(found["coverage"]["gaps"])
    assert meant.group in str(found["coverage"]["gaps"])


def test_two_words_for_one_kind_both_see_its_objects(arena: Arena) -> None:
    kind = Kind(arena.at)

    def act() -> None:
        kind.create()
        flicker(kind)

    long = f"{kind.plural}.{kind.group}"
    result = arena.run(act, none_of(arena, kind.plural), none_of(arena, long, "long"))
    assert [row(result, name)["status"] for name in ("none", "long")] == ["fail", "fail"]


def test_another_name_of_a_kind_that_is_watched_takes_nothing_from_it(arena: Arena) -> None:
    """A short name that comes later means objects that were there before the name was."""
    kind = Kind(arena.at)
    kind.create()
    short = f"g{kind.plural[6:]}"

    def act() -> None:
        kind.change([{"spec": {"names": {"shortNames": [short]}}}])
        flicker(kind)

    result = arena.run(act, none_of(arena, kind.plural), none_of(arena, short, "short"))
    assert row(result, "none")["status"] == "fail"
    assert row(result, "short")["status"] in ("fail", "error")
