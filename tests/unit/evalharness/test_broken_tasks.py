"""Tasks that are broken before the agent's turn, which is an error and nobody's failure."""

from __future__ import annotations

import pytest

from devops_bench.core.errors import ClusterError, InvalidInputError, SetupError
from devops_bench.tasks.model import EntryError, Setup
from devops_bench.verification.result import VerificationResult
from tests.unit.evalharness.fakes import make_task
from tests.unit.evalharness.helpers import ERROR, FAIL, PASS, Script, make_entry
from tests.unit.evalharness.world import FLOOR, OBJECTIVE, OBJECTS, World, no_monitor_is_left, row


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tasks that never become ready; no test that has to pass is held to it."""
    monkeypatch.setenv("BENCH_SETUP_TIMEOUT_SEC", "0.3")


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
