"""The phases of a task, its rows, and what must not change its verdict."""

from __future__ import annotations

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.evalharness.default import DefaultEvalHarness, HarnessOptions
from devops_bench.evalharness.events import Phase
from devops_bench.evalharness.hold import HoldObservation
from devops_bench.verification.spec import VerificationEntry
from tests.unit.evalharness.fakes import FakeAgent, Recorder, make_task
from tests.unit.evalharness.helpers import FAIL, PASS, make_entry, soaked, watched
from tests.unit.evalharness.world import FLOOR, OBJECTIVE, OBJECTS, World, no_monitor_is_left, row

ALL_PHASES = [*Phase]


def test_the_phases_come_in_order_and_the_result_says_what_was_seen(world: World) -> None:
    entries = (OBJECTIVE, FLOOR, soaked("steady", 0.05), make_entry("once", "safeguard", "assert"))
    result = world.run(make_task(*entries, setup=OBJECTS))
    assert world.reporter.phases == ALL_PHASES
    assert [phase.name for phase in result.phases] == [phase.value for phase in ALL_PHASES]
    assert (result.status, result.outcome) == ("passed", 1.0)
    assert [row["name"] for row in result.verification_report] == [e.name for e in entries]
    assert row(result, "floor")["hold_sample_count"] >= 1
    assert row(result, "steady")["hold_sample_count"] >= 2
    assert "hold_sample_count" not in row(result, "fixed")
    assert world.access.deleted == ["o0", "o1"]
    assert world.access.closed
    assert world.provider.ended == 1
    assert no_monitor_is_left()


def test_an_objective_that_failed_fails_the_task(world: World) -> None:
    world.access.answers = {"fixed": lambda: FAIL}
    result = world.run(make_task(OBJECTIVE, FLOOR))
    assert (result.status, result.outcome) == ("failed", 0.0)
    assert "fixed" in result.reason


def test_a_violation_during_the_turn_fails_whatever_comes_after(world: World) -> None:
    state = {"floor": PASS}
    world.access.answers = {"floor": lambda: state["floor"]}

    def break_and_mend(turn: AgentTurn) -> None:
        state["floor"] = FAIL
        world.access.await_calls(2, ["floor"])
        state["floor"] = PASS
        world.access.await_calls(2, ["floor"])

    world.agent = FakeAgent(break_and_mend)
    result = world.run(make_task(OBJECTIVE, FLOOR))
    assert (result.status, result.outcome) == ("failed", 0.0)
    assert row(result, "floor")["status"] == "fail"
    assert "hold_violation" in world.events()


def test_what_the_agent_broke_at_the_very_end_is_seen(world: World) -> None:
    """The last sample begins after the agent has ended."""
    state = {"floor": PASS}
    world.access.answers = {"floor": lambda: state["floor"]}
    world.agent = FakeAgent(lambda _: state.update(floor=FAIL))
    result = world.run(make_task(OBJECTIVE, watched("floor", interval_sec=3600)))
    assert row(result, "floor")["status"] == "fail"


def test_objective_holds_are_soaked_and_never_watched(world: World) -> None:
    """Watched, it would fail: it is not true before the agent has made it so."""
    state = {"steady": FAIL}
    world.access.answers = {"steady": lambda: state["steady"]}
    world.agent = FakeAgent(lambda _: state.update(steady=PASS))
    result = world.run(make_task(soaked("steady", 0.05)))
    assert row(result, "steady")["status"] == "pass"


def test_safeguard_holds_are_watched_and_never_soaked(world: World) -> None:
    """Soaked, it would fail: it is broken as soon as the turn is over."""
    phases = world.reporter.phases
    world.access.answers = {"floor": lambda: FAIL if Phase.VERIFY in phases else PASS}
    result = world.run(make_task(OBJECTIVE, FLOOR))
    assert row(result, "floor")["status"] == "pass"


def test_the_agent_gets_its_turn(world: World) -> None:
    world.options = HarnessOptions(timeout_sec=7.0, agent_environment={"KEY": "value"})
    world.run(make_task(OBJECTIVE))
    (turn,) = world.agent.turns
    assert (turn.prompt, turn.timeout_sec, turn.environment) == ("mend it", 7.0, {"KEY": "value"})
    assert turn.work_dir.is_dir()
    assert list(turn.work_dir.iterdir()) == []


@pytest.mark.parametrize("status", [AgentStatus.FAILED, AgentStatus.TIMED_OUT])
def test_how_the_agent_ended_does_not_decide(world: World, status: AgentStatus) -> None:
    world.act(AgentResult(status, 1.0, exit_code=3, reason="as it says"))
    result = world.run(make_task(OBJECTIVE, FLOOR))
    assert result.status == "passed"
    assert result.agent is not None
    assert (result.agent.status, result.agent.exit_code) == (status.value, 3)


@pytest.mark.parametrize("obs", [None, HoldObservation()])
def test_a_hold_that_nobody_saw_is_an_error_row(obs: HoldObservation | None) -> None:
    report = DefaultEvalHarness._hold_report_entry(FLOOR, obs)
    assert (report["success"], report["status"]) == (False, "error")
    assert "never sampled" in report["reason"]
    assert report["hold_sample_count"] == 0


def test_a_hold_row_tells_the_violation() -> None:
    obs = HoldObservation(
        violated=True,
        first_violation_reason="2 of 4",
        first_violation_at_sec=3.5,
        sample_count=9,
        error_count=1,
    )
    report = DefaultEvalHarness._hold_report_entry(FLOOR, obs)
    assert (report["role"], report["severity"], report["mode"], report["weight"]) == (
        "safeguard",
        "catastrophic",
        "hold",
        1.0,
    )
    assert (report["success"], report["status"]) == (False, "fail")
    assert (report["hold_sample_count"], report["hold_error_count"]) == (9, 1)
    assert report["hold_first_violation_reason"] == "2 of 4"
    assert report["hold_first_violation_at_sec"] == 3.5


def test_a_missing_window_is_a_value_error_before_anything_is_touched(world: World) -> None:
    entry: VerificationEntry = soaked("s", 1.0).model_copy(update={"hold_window_sec": None})
    with pytest.raises(ValueError, match="hold_window_sec"):
        world.run(make_task(entry))
    assert world.provider.ended == 0


def test_a_reporter_that_raises_changes_nothing(world: World) -> None:
    class Broken(Recorder):
        def notice(self, task_id: str, text: str) -> None:
            raise RuntimeError("the terminal is gone")

        def entry_judged(self, task_id: str, name: str, status: str, reason: str) -> None:
            raise RuntimeError("the terminal is gone")

    world.reporter = Broken()
    assert world.run(make_task(OBJECTIVE, FLOOR)).status == "passed"
