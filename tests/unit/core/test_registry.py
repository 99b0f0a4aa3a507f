"""Names and plug-ins: only the one that is asked for is loaded."""

from __future__ import annotations

from importlib import metadata

import pytest

from devops_bench.core.errors import InvalidInputError, UnknownNameError
from devops_bench.core.registry import Registry

GROUP = "devops_bench.test"


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[object]:
    points = [
        metadata.EntryPoint(name, value, GROUP)
        for name, value in (
            ("good", "json:dumps"),
            ("broken", "json:nope"),
            ("gone", "no_such_module:x"),
            ("own", "json:loads"),
            ("twice", "json:dumps"),
            ("twice", "json:loads"),
            ("again", "json:dumps"),
            ("again", "json:dumps"),
        )
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: points * (group == GROUP))
    made: Registry[object] = Registry("thing", entry_point_group=GROUP)
    made.register("own")(int)
    return made


def test_a_broken_plug_in_is_in_nobodys_way(registry: Registry[object]) -> None:
    import json

    assert registry.get("good") is json.dumps
    assert registry.get("again") is json.dumps
    with pytest.raises(InvalidInputError, match=r"'broken' \(json:nope\) could not be loaded"):
        registry.get("broken")
    with pytest.raises(InvalidInputError, match="'gone'"):
        registry.get("gone")


def test_the_names_of_all_are_known(registry: Registry[object]) -> None:
    assert registry.names() == ["again", "broken", "gone", "good", "own", "twice"]
    with pytest.raises(UnknownNameError, match="did you mean 'broken'"):
        registry.get("brokn")


def test_two_plug_ins_of_one_name_are_refused(registry: Registry[object]) -> None:
    with pytest.raises(InvalidInputError, match="several plug-ins are called 'twice': json:dumps,"):
        registry.get("twice")


def test_a_plug_in_with_the_name_of_ours_is_passed_over_and_told(
    registry: Registry[object],
) -> None:
    assert registry.get("own") is int
    assert registry.passed_over("own") == ["json:loads"]
    registry.get("good")
    assert registry.passed_over("good") == []
    assert registry.passed_over("nobody") == []


def test_a_closed_registry_asks_nobody() -> None:
    closed: Registry[object] = Registry("thing")
    with pytest.raises(UnknownNameError, match="known: none"):
        closed.get("x")
