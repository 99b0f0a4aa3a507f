"""Agents that break down, turns and phases that are interrupted: what is kept, said and ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.core.errors import AgentError, ClusterError, RunInterruptedError
from devops_bench.evalharness.default import HarnessOptions
from devops_bench.evalharness.events import Phase
from devops_bench.results.summary import render_task
from tests.unit.evalharness.fakes import FakeAgent, make_task
from tests.unit.evalharness.helpers import FAIL, PASS
from tests.unit.evalharness.world import FLOOR, OBJECTIVE, OBJECTS, World, no_monitor_is_left, row


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


def test_what_could_be_read_at_any_time_of_the_turn_is_told(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, made = tmp_path / "before", tmp_path / "made"
    before.touch()
    monkeypatch.setenv("KUBECONFIG", f"{before}{os.pathsep}{made}")

    def move(_: AgentTurn) -> None:
        before.rename(made)

    world.agent = FakeAgent(move)
    result = world.run(make_task(OBJECTIVE))
    assert result.agent is not None
    assert result.agent.sandbox is not None
    readable = result.agent.sandbox.readable
    assert readable.count(str(before)) == readable.count(str(made)) == 1
    assert len(set(readable)) == len(readable)


def test_what_was_done_to_the_record_of_created_objects_is_told(world: World) -> None:
    world.access.record_changed = "was changed"
    result = world.run(make_task(OBJECTIVE, setup=OBJECTS))
    assert result.integrity is not None
    records = next(one for one in result.integrity.findings if one.rule == "records")
    assert records.evidence == ["objects.jsonl was changed"]


def test_where_processes_may_have_escaped_nobody_says_what_they_opened(world: World) -> None:
    world.agent = FakeAgent(lambda _: AgentResult(AgentStatus.LOST, 0.1))
    result = world.run(make_task(OBJECTIVE))
    assert result.integrity is not None
    files = next(one for one in result.integrity.findings if one.rule == "files")
    assert files.status == "no data"
    if "fanotify" not in files.why_no_data:
        assert "may have escaped" in files.why_no_data


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
