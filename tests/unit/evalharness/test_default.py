"""The phases of a task, what ends them early, and what is left of the task then."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.core.errors import (
    AgentError,
    ClusterError,
    InvalidInputError,
    RunInterruptedError,
    SetupError,
)
from devops_bench.evalharness.default import DefaultEvalHarness, HarnessOptions
from devops_bench.evalharness.events import Phase
from devops_bench.evalharness.hold import HoldObservation
from devops_bench.results.summary import render_task
from devops_bench.tasks.model import EntryError, Setup
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry
from tests.unit.evalharness.fakes import FakeAgent, FakeProvider, Recorder, make_task
from tests.unit.evalharness.helpers import (
    ERROR,
    FAIL,
    PASS,
    Script,
    make_entry,
    soaked,
    watched,
)
from tests.unit.evalharness.world import OBJECTIVE, World, no_monitor_is_left, row

FLOOR = watched("floor")
ALL_PHASES = [*Phase]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tasks that never become ready; no test that has to pass is held to it."""
    monkeypatch.setenv("BENCH_SETUP_TIMEOUT_SEC", "0.3")


OBJECTS = Setup(objects=({"kind": "ConfigMap"}, {"kind": "ConfigMap"}), ready=())


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


# --- broken tasks -------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", [FAIL, ERROR])
def test_a_safeguard_that_does_not_hold_before_the_turn_is_a_broken_task(
    world: World, answer: VerificationResult
) -> None:
    world.access.answers = {"floor": Script(answer)}
    result = world.run(make_task(OBJECTIVE, FLOOR, setup=OBJECTS))
    assert (result.status, result.outcome) == ("error", None)
    assert "floor" in result.reason
    assert world.agent.turns == []
    assert world.access.deleted == ["o0", "o1"]
    assert no_monitor_is_left()


def test_the_baseline_is_retried_and_is_nobodys_violation(world: World) -> None:
    world.access.answers = {"floor": Script(ERROR, FAIL, PASS)}
    assert world.run(make_task(OBJECTIVE, FLOOR)).status == "passed"
    assert "sample_changed" in world.events()
    assert "hold_violation" not in world.events()


@pytest.mark.parametrize("mode", ["assert", "hold"])
def test_a_safeguard_without_ground_is_a_broken_task(world: World, mode: str) -> None:
    world.access.missing = {"safe": "the server has no kind Widget"}
    result = world.run(make_task(OBJECTIVE, make_entry("safe", "safeguard", mode)))
    assert result.status == "error"
    assert "safe: the server has no kind Widget" in result.reason
    assert world.agent.turns == []


def test_a_safeguard_that_may_appear_needs_no_ground(world: World) -> None:
    world.access.missing = {"safe": "the server has no kind Widget"}
    entry = make_entry("safe", "safeguard", "assert", may_appear=True)
    assert world.run(make_task(OBJECTIVE, entry)).status == "passed"


def test_an_objective_needs_no_ground(world: World) -> None:
    """Making it may be the task."""
    world.access.missing = {"fixed": "there is no namespace 'shop'"}
    assert world.run(make_task(OBJECTIVE)).status == "passed"


def test_a_setup_that_fails_half_way_is_taken_down(world: World) -> None:
    world.access.create_fails = SetupError("ConfigMap default/o2 is there already")
    result = world.run(make_task(OBJECTIVE, setup=OBJECTS))
    assert (result.status, result.reason) == ("error", "ConfigMap default/o2 is there already")
    assert world.access.deleted == ["o0", "o1"]


@pytest.mark.usefixtures("impatient")
def test_a_setup_that_does_not_roll_out_is_a_broken_task(world: World) -> None:
    world.access.waiting = [["Deployment web: 0 of 3 replicas are updated"]] * 1000
    result = world.run(make_task(OBJECTIVE, setup=Setup()))
    assert result.status == "error"
    assert "Deployment web" in result.reason


def test_the_rollout_is_waited_for(world: World) -> None:
    world.access.waiting = [["Deployment web: not yet"], []]
    assert world.run(make_task(OBJECTIVE, setup=Setup())).status == "passed"


@pytest.mark.usefixtures("impatient")
def test_a_ready_check_that_does_not_pass_is_a_broken_task(world: World) -> None:
    world.access.answers = {"up": lambda: FAIL}
    ready = (make_entry("up", "objective", "converge"),)
    result = world.run(make_task(OBJECTIVE, setup=Setup(ready=ready)))
    assert result.status == "error"
    assert "up" in result.reason


def test_a_cluster_that_cannot_be_provided_is_an_error(world: World) -> None:
    world.provider.fails = ClusterError("nobody answers at 127.0.0.1:1")
    result = world.run(make_task(OBJECTIVE))
    assert (result.status, result.reason) == ("error", "nobody answers at 127.0.0.1:1")
    assert row(result, "fixed")["status"] == "error"


def test_bad_input_is_raised_while_nothing_was_touched(world: World) -> None:
    world.provider.fails = InvalidInputError("there is no context 'prod'")
    with pytest.raises(InvalidInputError, match="prod"):
        world.run(make_task(OBJECTIVE))


def test_entries_that_did_not_parse_are_errors_and_withhold_correctness(world: World) -> None:
    errors = (EntryError("bad", "check.op: there is no op 'equals'"),)
    result = world.run(make_task(OBJECTIVE, FLOOR, entry_errors=errors))
    assert (result.status, result.outcome, result.scores.correctness) == ("error", None, None)
    assert row(result, "bad")["status"] == "error"
    assert row(result, "bad")["role"] is None


# --- agents and phases that break ---------------------------------------------------------


@pytest.mark.parametrize(
    "error", [AgentError("no such program: agent"), RuntimeError("boom"), ClusterError("gone")]
)
def test_an_agent_that_cannot_work_is_an_error(world: World, error: Exception) -> None:
    world.act(error)
    result = world.run(make_task(OBJECTIVE, FLOOR, setup=OBJECTS))
    assert result.status == "error"
    assert str(error) in result.reason
    assert Phase.VERIFY not in world.reporter.phases
    assert row(result, "fixed")["status"] == "error"
    assert world.access.deleted == ["o0", "o1"]
    assert no_monitor_is_left()


@pytest.mark.parametrize("kind", [RuntimeError, AgentError])
def test_no_secret_that_the_agent_says_when_it_breaks_down_gets_into_anything(
    world: World, kind: type[Exception]
) -> None:
    world.options = HarnessOptions(agent_environment={"KEY": "of-the-user"})
    world.act(kind("kaboom token=abcdefgh12345 sk-abcdefgh1234567890 of-the-user"))
    result = world.run(make_task(OBJECTIVE, FLOOR))
    assert result.status == "error"
    said = result.model_dump_json() + render_task(result)
    said += "".join(
        file.read_text(errors="replace") for file in world.run_dir.rglob("*") if file.is_file()
    )
    assert "kaboom" in said
    for secret in ("abcdefgh", "of-the-user"):
        assert secret not in said


def test_a_turn_that_broke_down_does_not_say_that_it_was_outside_of_the_sandbox(
    world: World,
) -> None:
    world.options = HarnessOptions(sandbox=SandboxOptions("bwrap"))
    world.act(AgentError("the program is not in the sandbox"))
    result = world.run(make_task(OBJECTIVE))
    assert result.agent is not None
    assert result.agent.sandbox is not None
    assert (result.agent.sandbox.state, result.agent.sandbox.readable) == ("not known", [])


def test_a_catastrophic_violation_counts_even_if_the_agent_broke_down(world: World) -> None:
    state = {"floor": PASS}
    world.access.answers = {"floor": lambda: state["floor"]}

    def break_it(turn: AgentTurn) -> None:
        state["floor"] = FAIL
        raise RuntimeError("boom")

    world.agent = FakeAgent(break_it)
    result = world.run(make_task(OBJECTIVE, FLOOR))
    assert (result.status, result.outcome) == ("failed", 0.0)


@pytest.mark.parametrize("phase", [*Phase])
def test_an_interrupt_in_any_phase_keeps_what_was_seen_and_takes_down(
    world: World, phase: Phase
) -> None:
    world.reporter.interrupt_at = phase
    result = world.run(make_task(OBJECTIVE, FLOOR, setup=OBJECTS))
    assert result.status == "interrupted"
    provided = phase is not Phase.CLUSTER
    assert world.provider.ended == int(provided)
    assert no_monitor_is_left()
    assert world.events()[-1] == "task_ended"
    if phase is Phase.VERIFY:
        assert row(result, "floor")["status"] == "pass"
        assert row(result, "fixed")["status"] == "error"
    if phase is Phase.TEARDOWN:
        assert result.left_behind == ["2 objects: the teardown was interrupted"]
    elif phase not in (Phase.CLUSTER, Phase.SETUP):
        assert world.access.deleted == ["o0", "o1"]


@pytest.mark.parametrize(
    "interrupt",
    [
        KeyboardInterrupt(),
        RunInterruptedError("SIGTERM"),
        AgentResult(AgentStatus.CANCELLED, 1.0, reason="the run was interrupted"),
    ],
    ids=["ctrl-c", "sigterm", "cancelled"],
)
def test_an_interrupted_turn_is_recorded(world: World, interrupt: object) -> None:
    world.act(interrupt)
    result = world.run(make_task(OBJECTIVE, FLOOR, setup=OBJECTS))
    assert result.status == "interrupted"
    assert result.agent is not None
    assert result.agent.status == "cancelled"
    assert row(result, "floor")["hold_sample_count"] >= 1
    assert Phase.VERIFY not in world.reporter.phases
    assert world.access.deleted == ["o0", "o1"]
    assert no_monitor_is_left()


def test_a_turn_whose_end_nobody_saw_is_an_error_however_the_cluster_looks(world: World) -> None:
    world.act(AgentResult(AgentStatus.LOST, 1.0, reason="its supervisor was killed"))
    result = world.run(make_task(OBJECTIVE, FLOOR, setup=OBJECTS))
    assert (result.status, result.outcome) == ("error", None)
    assert "not observed: its supervisor was killed" in result.reason
    assert result.agent is not None
    assert result.agent.status == "lost"
    assert Phase.VERIFY not in world.reporter.phases
    assert world.access.deleted == ["o0", "o1"]


# --- teardown -----------------------------------------------------------------------------


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


# --- rows and misuse ----------------------------------------------------------------------


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
