"""How a view is read for entries whose kind may appear later."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from devops_bench.evalharness.access import AbsentKinds
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import (
    Matched,
    Reading,
    ResourceQuery,
    Snapshot,
    UnknownKind,
    Unreadable,
    View,
)
from devops_bench.verification.runner import VerifierAgent
from tests.unit.evalharness.helpers import make_entry

QUERY = ResourceQuery("widgets")
ONE = Matched((KubeObject({"metadata": {"name": "w"}}),))


class Recorded:
    """A source that always answers the same."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> View:
        return Snapshot(dict.fromkeys(queries, self._reading))


@pytest.mark.parametrize(
    ("reading", "seen"),
    [
        (UnknownKind("the server has no kind Widget"), Matched(())),
        (Unreadable("an APIService is down"), Unreadable("an APIService is down")),
        (Matched(()), Matched(())),
        (ONE, ONE),
    ],
)
def test_only_an_unknown_kind_is_read_as_no_objects(reading: Reading, seen: Reading) -> None:
    view = AbsentKinds(Recorded(reading)).view([QUERY], 1.0)
    assert view.read(QUERY) == seen


@pytest.mark.parametrize(("op", "status"), [("absent", "pass"), ("exists", "fail")])
def test_no_objects_are_judged_as_ever(op: str, status: str) -> None:
    check = {"type": "resource_property", "kind": "Widget", "op": op}
    entry = make_entry("w", "safeguard", "assert", may_appear=True, check=check)
    agent = VerifierAgent(AbsentKinds(Recorded(UnknownKind("no kind Widget"))))
    assert agent.run_entry(entry, 1.0).status == status
