"""A task on a watcher: what is shown before the turn, what is refused, what comes after it."""

from __future__ import annotations

from devops_bench.agents.base import AgentTurn
from devops_bench.evalharness.events import Phase
from devops_bench.results.evidence.records import Header
from tests.unit.evalharness.fakes import FakeAgent, make_task
from tests.unit.evalharness.fakewatch import FakeWatch, Records, valued
from tests.unit.evalharness.world import FLOOR, OBJECTIVE, World, no_monitor_is_left, row


def test_watched_and_sampled_are_told_apart_before_the_agent_starts(world: World) -> None:
    world.access.watch = FakeWatch(sampled={"odd": "gizmos has no watch verb"})
    told: list[str] = []
    world.agent = FakeAgent(lambda _: told.extend(world.reporter.notices))
    odd = valued("odd", hold_poll_interval_sec=0.01)
    result = world.run(make_task(OBJECTIVE, valued("floor"), odd))
    assert result.status == "passed"
    assert [text for text in told if "gizmos has no watch verb" in text]
    assert row(result, "floor")["coverage"]["mode"] == "watched"
    assert row(result, "odd")["coverage"]["mode"] == "sampled"
    assert {"watched", "sampled"} <= set(world.events())
    assert world.events().count("fence") == 2


def test_what_must_be_watched_and_is_not_keeps_the_agent_from_starting(world: World) -> None:
    world.access.watch = FakeWatch(sampled={"must": "gizmos has no watch verb"})
    result = world.run(make_task(OBJECTIVE, valued("must", coverage="watch"), valued("floor")))
    assert result.status == "error"
    assert "must: gizmos has no watch verb" in result.reason
    assert "floor" not in result.reason
    assert world.agent.turns == []
    assert no_monitor_is_left()


def test_a_violation_after_the_turn_is_in_the_row(world: World) -> None:
    watch = FakeWatch()
    world.access.watch = watch
    watch.after_list = [("floor", "bad"), ("floor", "good")]
    result = world.run(make_task(OBJECTIVE, valued("floor")))
    assert result.status == "passed"
    assert row(result, "floor")["after_turn"]["violated"]


def test_an_entry_of_the_whole_run_has_its_verdict_at_the_end(world: World) -> None:
    watch = FakeWatch()
    world.access.watch = watch
    watch.after_list = [("always", "bad"), ("always", "good")]
    result = world.run(make_task(OBJECTIVE, valued("always", hold_scope="run")))
    assert (result.status, result.outcome) == ("failed", 0.0)


def test_an_entry_of_the_whole_run_is_no_pass_when_the_rest_was_interrupted(world: World) -> None:
    world.access.watch = FakeWatch()
    world.reporter.interrupt_at = Phase.VERIFY
    result = world.run(make_task(OBJECTIVE, valued("floor"), valued("always", hold_scope="run")))
    assert result.status == "interrupted"
    assert row(result, "floor")["status"] == "pass"
    assert world.access.watch.stopped


def test_a_gap_is_told_and_decides(world: World) -> None:
    watch = FakeWatch()
    world.access.watch = watch

    def lose(_: AgentTurn) -> None:
        watch.tell("floor", watch.gap())
        watch.show("floor", "good")
        watch.show("floor", "good")

    world.agent = FakeAgent(lose)
    result = world.run(make_task(OBJECTIVE, valued("floor")))
    assert result.status == "error"
    assert row(result, "floor")["coverage"]["gaps"][0]["cause"] == "a reset"
    assert any("a reset" in text for text in world.reporter.notices)
    assert "gap" in world.events()


def test_a_gap_of_several_entries_is_told_once_with_their_names(world: World) -> None:
    watch = FakeWatch()
    world.access.watch = watch

    def lose(_: AgentTurn) -> None:
        gap = watch.gap()
        for name in ("floor", "ceiling"):
            watch.tell(name, gap)
            watch.show(name, "good")

    world.agent = FakeAgent(lose)
    result = world.run(make_task(OBJECTIVE, valued("floor"), valued("ceiling")))
    assert [row(result, name)["status"] for name in ("floor", "ceiling")] == ["error", "error"]
    told = [text for text in world.reporter.notices if "a reset" in text]
    assert len(told) == 1
    assert told[0].startswith("floor, ceiling: not everything was seen of")
    assert world.events().count("gap") == 2


def test_a_recording_that_is_cut_is_shown_and_changes_no_verdict(world: World) -> None:
    records = Records()
    records.problem = "no space left on device"
    world.open_evidence = lambda *_: records
    result = world.run(make_task(OBJECTIVE, FLOOR))
    assert (result.status, result.recording_cut) == ("passed", "no space left on device")
    assert records.closed
    assert isinstance(records.all[0], Header)
