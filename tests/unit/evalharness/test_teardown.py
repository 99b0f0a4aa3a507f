"""What is deleted after a task, and what is said of the rest."""

from __future__ import annotations

from devops_bench.core.errors import ClusterError, SetupError
from devops_bench.evalharness.default import HarnessOptions
from tests.unit.evalharness.fakes import FakeProvider, make_task
from tests.unit.evalharness.helpers import ERROR
from tests.unit.evalharness.world import OBJECTIVE, OBJECTS, World


def test_what_could_not_be_deleted_is_said_and_changes_no_verdict(world: World) -> None:
    world.access.not_deleted = ["ConfigMap default/o1: a finalizer holds it"]
    result = world.run(make_task(OBJECTIVE, setup=OBJECTS))
    assert result.status == "passed"
    assert result.left_behind == ["ConfigMap default/o1: a finalizer holds it"]
    assert any("o1" in notice for notice in world.reporter.notices)


def test_a_dead_cluster_is_still_taken_down(world: World) -> None:
    world.access.answers = {"fixed": lambda: ERROR}
    world.access.delete_fails = ClusterError("connection refused")
    world.provider.fails_to_end = ClusterError("etcd does not end")
    result = world.run(make_task(OBJECTIVE, setup=OBJECTS))
    assert result.status == "error"
    assert world.provider.ended == 1
    assert "connection refused" in result.left_behind[0]
    assert "etcd does not end" in result.left_behind[1]


def test_a_broken_task_keeps_its_reason_when_the_teardown_fails_too(world: World) -> None:
    world.access.create_fails = SetupError("the first reason")
    world.provider.fails_to_end = ClusterError("the second")
    result = world.run(make_task(OBJECTIVE, setup=OBJECTS))
    assert result.reason == "the first reason"
    assert "the second" in result.left_behind[0]


def test_keep_leaves_the_objects_and_says_so(world: World) -> None:
    world.options = HarnessOptions(keep=True)
    result = world.run(make_task(OBJECTIVE, setup=OBJECTS))
    assert world.access.deleted == []
    assert len(result.left_behind) == 1


def test_nothing_is_deleted_from_a_cluster_that_ends_anyway(world: World) -> None:
    world.provider = FakeProvider(disposable=True)
    result = world.run(make_task(OBJECTIVE, setup=OBJECTS))
    assert (world.access.deleted, result.left_behind) == ([], [])
