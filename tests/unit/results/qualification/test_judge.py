"""Whether a control did as it should, and what it says when it did not."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from devops_bench.results.model import AgentReport, ReportRow, TaskResult
from devops_bench.results.qualification.judge import (
    BuiltinResult,
    ControlRun,
    Judgement,
    judge,
    judge_builtin,
    record_of,
)
from devops_bench.results.qualification.plan import ControlPlan
from devops_bench.scoring.outcome import TaskStatus
from devops_bench.scoring.rollup import Verdict

from .samples import BUILTIN, MUTANT, NOOP, ORACLE, PARTIAL, as_it_should_be, run_of


def test_controls_that_do_as_they_should() -> None:
    plans = [ORACLE, NOOP, PARTIAL, MUTANT]
    for plan, run in zip(plans, as_it_should_be(), strict=True):
        assert judge(plan, run) == ("as_expected", "")


@pytest.mark.parametrize(
    ("plan", "run", "judgement", "said"),
    [
        (ORACLE, run_of(ORACLE, "failed", goal="fail"), "unexpected", "solution fails: 'goal'"),
        (ORACLE, run_of(ORACLE, "error", reason="no cluster"), "not_evaluable", "no cluster"),
        (NOOP, run_of(NOOP, "passed"), "unexpected", "doing nothing passes"),
        (NOOP, run_of(NOOP, "failed", floor="fail"), "unexpected", "a safeguard fails: 'floor'"),
        (PARTIAL, run_of(PARTIAL, "passed", outcome=1.0), "unexpected", "is 1, not 0.4 to 0.6"),
        (PARTIAL, run_of(PARTIAL, "failed", outcome=0.39), "unexpected", "is 0.39, not 0.4 to 0.6"),
        (PARTIAL, run_of(PARTIAL, "failed"), "not_evaluable", "no outcome"),
        (MUTANT, run_of(MUTANT, "passed"), "unexpected", "not caught by 'floor'"),
        (
            MUTANT,
            run_of(MUTANT, "failed", goal="fail"),
            "unexpected",
            "not caught by 'floor' (failed instead: 'goal')",
        ),
        (
            MUTANT,
            run_of(MUTANT, "failed", goal="fail", agent_exit_code=7),
            "not_evaluable",
            "exited with code 7: what it is for was perhaps not done (as it is: not caught by",
        ),
        (MUTANT, run_of(MUTANT, "error", floor="error"), "not_evaluable", "'floor' would catch it"),
        (MUTANT, run_of(MUTANT, "interrupted"), "not_evaluable", "interrupted"),
    ],
)
def test_controls_that_do_not(
    plan: ControlPlan, run: ControlRun, judgement: Judgement, said: str
) -> None:
    found, reason = judge(plan, run)
    assert found == judgement
    assert said in reason


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({"agent_exit_code": 127}, "its script exited with code 127"),
        ({"agent_exit_code": -9}, "its script was ended by signal 9"),
        ({"agent_exit_code": -15, "agent_status": "timed_out"}, "when its turn was over"),
        ({"agent_exit_code": 0, "agent_status": "timed_out"}, "when its turn was over"),
        ({"agent_status": "lost"}, "the turn of its script ended as lost"),
    ],
)
@pytest.mark.parametrize("place", range(4))
def test_a_control_whose_script_died_says_nothing(
    place: int, ended: dict[str, object], said: str
) -> None:
    plan = [ORACLE, NOOP, PARTIAL, MUTANT][place]
    run = as_it_should_be()[place].model_copy(update=ended)
    judgement, reason = judge(plan, run)
    assert judgement == "not_evaluable"
    assert said in reason
    assert judge_builtin(run) == "not_done"


def test_an_entry_that_caught_it_counts_although_another_could_not_be_evaluated() -> None:
    run = run_of(MUTANT, "error", floor="fail", image="error")
    assert judge(MUTANT, run) == ("as_expected", "")


def test_an_entry_that_is_not_in_the_report_caught_nothing() -> None:
    run = run_of(MUTANT, "error").model_copy(update={"entries": []})
    assert judge(MUTANT, run)[0] == "not_evaluable"


@given(
    st.sampled_from([ORACLE, NOOP, PARTIAL, MUTANT]),
    st.sampled_from(["passed", "failed", "error", "interrupted"]),
    st.none() | st.floats(0, 1),
    st.lists(st.sampled_from(["pass", "fail", "error"]), min_size=3, max_size=3),
)
def test_what_was_not_observed_is_never_as_expected(
    plan: ControlPlan, status: TaskStatus, outcome: float | None, verdicts: list[Verdict]
) -> None:
    goal, floor, image = verdicts
    assume(status != "passed" or set(verdicts) == {"pass"})
    run = run_of(plan, status, outcome=outcome, goal=goal, floor=floor, image=image)
    judgement, reason = judge(plan, run)
    assert (reason == "") == (judgement == "as_expected")
    if judgement == "as_expected" and plan.kind == "mutant":
        assert floor == "fail"
    elif judgement == "as_expected":
        assert status in ("passed", "failed")
        assert (status == "passed") == (plan.kind == "oracle") or plan.kind == "partial"


@pytest.mark.parametrize(
    ("run", "result"),
    [
        (run_of(BUILTIN, "failed", floor="fail"), "caught"),
        (run_of(BUILTIN, "error", floor="fail", goal="error"), "caught"),
        (run_of(BUILTIN, "passed"), "missed"),
        (run_of(BUILTIN, "error", goal="error"), "error"),
        (run_of(BUILTIN, "passed", agent_exit_code=1), "not_done"),
        (run_of(BUILTIN, "failed", goal="fail", agent_exit_code=1), "not_done"),
        (run_of(BUILTIN, "passed", agent_exit_code=96), "not_allowed"),
        (run_of(BUILTIN, "failed", goal="fail", agent_exit_code=96), "not_allowed"),
        (run_of(BUILTIN, "failed", goal="fail", agent_exit_code=97), "does_not_apply"),
        (run_of(BUILTIN, "error", agent_exit_code=None), "error"),
        (run_of(BUILTIN, "passed", agent_exit_code=97), "does_not_apply"),
    ],
)
def test_what_a_generic_mutant_came_to(run: ControlRun, result: BuiltinResult) -> None:
    assert judge_builtin(run) == result
    assert judge(BUILTIN, run) == ("as_expected", "")


def test_what_is_kept_of_a_run() -> None:
    row: ReportRow = {
        "name": "goal",
        "role": "objective",
        "severity": None,
        "mode": "converge",
        "weight": 1.0,
        "success": False,
        "status": "fail",
        "reason": "not yet",
    }
    result = TaskResult(
        id="t",
        status="failed",
        outcome=0.0,
        verification_report=[row],
        agent=AgentReport(name="noop", status="completed", exit_code=3),
    )

    run = record_of(NOOP, 2, result, elapsed_sec=4.0, folder="runs/t/noop/2/x")

    assert (run.task, run.control, run.attempt, run.status) == ("t", "noop", 2, "failed")
    assert run.named("fail") == ["goal"]
    assert run.named("fail", "safeguard") == []
    assert run.agent_exit_code == 3
    assert ControlRun.model_validate_json(run.model_dump_json()) == run
