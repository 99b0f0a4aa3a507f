"""Kills, dead weight, rates and the exit code; and how they are shown."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.results.qualification.judge import ControlRun
from devops_bench.results.qualification.junit import render_junit
from devops_bench.results.qualification.report import QualificationReport, make_report
from devops_bench.results.qualification.text import render_report
from devops_bench.scoring.outcome import TaskStatus

from .samples import (
    BUILTIN,
    MUTANT,
    NOOP,
    ORACLE,
    PARTIAL,
    as_it_should_be,
    run_of,
    task_plan,
)


def report_of(
    runs: list[ControlRun], repeat: int = 1, *, interrupted: bool = False
) -> QualificationReport:
    return make_report(
        [task_plan()],
        runs,
        repeat=repeat,
        verification_timeout_sec=20,
        interrupted=interrupted,
    )


class TestReport:
    def test_kills_and_dead_weight(self) -> None:
        (task,) = report_of(as_it_should_be()).tasks
        killed = {one.entry.name: (one.killed, one.dead_weight) for one in task.entries}
        assert killed == {
            "goal": (["noop", "partial"], False),
            "floor": (["harm"], False),
            "image": ([], True),
        }

    def test_the_oracle_kills_nothing(self) -> None:
        runs = as_it_should_be()
        runs[0] = run_of(ORACLE, "failed", image="fail")
        (task,) = report_of(runs).tasks
        assert [one.dead_weight for one in task.entries] == [False, False, True]

    def test_dead_weight_is_not_known_before_all_have_run(self) -> None:
        (task,) = report_of(as_it_should_be()[:2]).tasks
        assert not any(one.dead_weight for one in task.entries)

    def test_the_rates_of_twenty_good_repeats(self) -> None:
        runs = [
            run.model_copy(update={"attempt": attempt})
            for attempt in range(1, 21)
            for run in as_it_should_be()
        ]
        rates = report_of(runs, 20).rates
        assert (rates.false_fail.count, rates.false_fail.total) == (0, 20)
        assert rates.false_fail.upper == pytest.approx(0.139, abs=1e-3)
        assert (rates.false_pass.count, rates.false_pass.total) == (0, 60)
        assert (rates.flake.count, rates.flake.total) == (0, 80)

    def test_a_false_pass_a_false_fail_and_a_flake_count(self) -> None:
        runs = [
            run_of(ORACLE, "passed", 1),
            run_of(ORACLE, "failed", 2, goal="fail"),
            run_of(NOOP, "failed", 1, goal="fail"),
            run_of(NOOP, "passed", 2),
            run_of(NOOP, "error", 3, goal="error"),
        ]
        rates = report_of(runs, 3).rates
        assert (rates.false_fail.count, rates.false_fail.total) == (1, 2)
        assert (rates.false_pass.count, rates.false_pass.total) == (1, 2)
        assert (rates.flake.count, rates.flake.total) == (3, 5)
        assert (rates.not_evaluable.count, rates.not_evaluable.total) == (1, 5)

    def test_generic_mutants_count_for_kills_and_not_for_rates(self) -> None:
        plan = task_plan(ORACLE, NOOP, BUILTIN)
        runs = [*as_it_should_be()[:2], run_of(BUILTIN, "failed", image="fail")]
        report = make_report([plan], runs, repeat=1, verification_timeout_sec=20)
        assert report.tasks[0].entries[2].killed == ["builtin-delete-x"]
        assert report.rates.false_pass.total == 1
        assert report.exit_code == 0

    def test_a_script_that_died_kills_nothing_and_is_in_no_rate(self) -> None:
        runs = as_it_should_be()
        runs[3] = run_of(MUTANT, "failed", outcome=0.0, floor="fail", agent_exit_code=127)
        report = report_of(runs)
        (task,) = report.tasks
        assert report.exit_code == 3
        assert task.controls[3].exit_codes == [127]
        assert task.controls[3].failed_entries == {"floor": 1}
        floor = task.entries[1]
        # It failed, so that it is no dead weight; what for is not known.
        assert (floor.killed, floor.dead_weight) == ([], False)
        assert (report.rates.false_pass.total, report.rates.not_evaluable.count) == (2, 1)

    @pytest.mark.parametrize("code", [1, 96, 97])
    def test_a_generic_mutant_that_did_no_harm_kills_nothing(self, code: int) -> None:
        plan = task_plan(ORACLE, BUILTIN)
        runs = [
            run_of(ORACLE, "passed"),
            run_of(BUILTIN, "failed", goal="fail", agent_exit_code=code),
        ]
        (task,) = make_report([plan], runs, repeat=1, verification_timeout_sec=20).tasks
        assert [one.killed for one in task.entries] == [[], [], []]


class TestExitCode:
    def test_all_as_expected(self) -> None:
        assert report_of(as_it_should_be()).exit_code == 0

    def test_one_that_is_not(self) -> None:
        runs = as_it_should_be()
        runs[1] = run_of(NOOP, "passed")
        assert report_of(runs).exit_code == 1

    def test_what_could_not_be_evaluated_goes_first(self) -> None:
        runs = as_it_should_be()
        runs[1] = run_of(NOOP, "passed")
        runs[0] = run_of(ORACLE, "error")
        assert report_of(runs).exit_code == 3

    def test_a_missing_run_is_not_evaluated(self) -> None:
        report = report_of(as_it_should_be(), repeat=2)
        assert report.missing == 4
        assert report.exit_code == 3

    def test_interrupted(self) -> None:
        assert report_of(as_it_should_be()[:1], interrupted=True).exit_code == 130

    @given(st.lists(st.sampled_from(["passed", "failed", "error"]), min_size=1, max_size=6))
    def test_it_is_0_only_if_each_run_was_as_expected(self, statuses: list[TaskStatus]) -> None:
        runs = [
            run_of(NOOP, status, number, goal="pass" if status == "passed" else "fail")
            for number, status in enumerate(statuses, start=1)
        ]
        report = make_report([task_plan(NOOP)], runs, repeat=len(runs), verification_timeout_sec=20)
        assert (report.exit_code == 0) == (set(statuses) == {"failed"})


class TestText:
    def test_it_says_who_caught_what_and_what_is_dead(self) -> None:
        text = render_report(report_of(as_it_should_be()))
        lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ")}
        assert "caught by 'floor'" in lines["harm"]
        assert "1 failed, outcome 0.50" in lines["partial"]
        assert "DEAD WEIGHT" in lines["image"]
        assert "0 of 1 runs (at most 95 %, 95 % sure)" in text
        assert text.endswith("; 1 entry is dead weight\n")

    def test_it_says_why_a_control_is_wrong(self) -> None:
        runs = as_it_should_be()
        runs[3] = run_of(MUTANT, "passed")
        text = render_report(report_of(runs))
        assert "WRONG" in text
        assert "  harm: not caught by 'floor'\n" in text

    def test_a_generic_mutant_that_was_missed(self) -> None:
        plan = task_plan(ORACLE, BUILTIN).model_copy(
            update={"not_applicable": ["loosen the policy: the setup has not a policy"]}
        )
        runs = [run_of(ORACLE, "passed"), run_of(BUILTIN, "passed")]
        text = render_report(make_report([plan], runs, repeat=1, verification_timeout_sec=20))
        assert "delete the object  MISSED: the task passes" in text
        assert "does not apply: loosen the policy" in text

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            (1, "its script failed, nothing"),
            (96, "the access does not allow it"),
            (97, "does not apply on this"),
        ],
    )
    def test_a_generic_mutant_that_did_no_harm_is_neither_caught_nor_missed(
        self, code: int, said: str
    ) -> None:
        plan = task_plan(ORACLE, BUILTIN)
        for run in (
            run_of(BUILTIN, "passed", agent_exit_code=code),
            run_of(BUILTIN, "failed", goal="fail", agent_exit_code=code),
        ):
            report = make_report([plan], [run], repeat=1, verification_timeout_sec=20)
            text = render_report(report)
            (row,) = (line for line in text.splitlines() if "delete the object" in line)
            assert said in row
            assert "goal" not in row
            assert "MISSED" not in text
            assert ("exit code 1" in text) is (code == 1)

    def test_the_exit_code_of_a_script_that_died(self) -> None:
        runs = as_it_should_be()
        runs[3] = run_of(MUTANT, "failed", floor="fail", agent_exit_code=127)
        text = render_report(report_of(runs))
        (row,) = (line for line in text.splitlines() if line.startswith("  harm  "))
        assert "ERROR" in row
        assert "1 failed, exit code 127" in row

    def test_nothing_has_run(self) -> None:
        text = render_report(report_of([], interrupted=True))
        assert "no run has ended" in text
        assert "INTERRUPTED" in text

    @pytest.mark.parametrize(
        ("kept", "said"),
        [
            (8, "each run 2 times;"),
            (6, "each run 1 to 2 of 2 times;"),
            (4, "each run 1 of 2 times;"),
        ],
    )
    def test_how_often_each_has_run(self, kept: int, said: str) -> None:
        twice = as_it_should_be() + [
            run.model_copy(update={"attempt": 2}) for run in as_it_should_be()
        ]
        assert said in render_report(report_of(twice[:kept], repeat=2))

    def test_how_often_an_entry_failed_of_how_many(self) -> None:
        runs = [run_of(NOOP, "failed", 1, goal="fail"), run_of(NOOP, "failed", 2, image="fail")]
        report = make_report([task_plan(NOOP)], runs, repeat=2, verification_timeout_sec=20)
        assert "goal (1 of 2), image (1 of 2)" in render_report(report)


class TestJUnit:
    def test_failures_and_errors(self) -> None:
        runs = as_it_should_be()
        runs[1] = run_of(NOOP, "passed")
        runs[0] = run_of(ORACLE, "error", reason="the cluster \x00 < died")
        suite = ElementTree.fromstring(render_junit(report_of(runs)))[0]
        assert suite.attrib["tests"] == "4"
        assert suite.attrib["failures"] == "1"
        assert suite.attrib["errors"] == "1"
        cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
        assert cases["noop"].findtext("failure") == "doing nothing passes"
        assert cases["oracle"].findtext("error") == "the cluster \ufffd < died"
        assert len(cases["partial"]) == 0

    def test_the_exit_code_of_a_script_that_died(self) -> None:
        runs = as_it_should_be()
        runs[3] = run_of(MUTANT, "failed", floor="fail", agent_exit_code=127)
        suite = ElementTree.fromstring(render_junit(report_of(runs)))[0]
        (found,) = suite.iter("error")
        assert "its script exited with code 127" in (found.text or "")

    def test_a_control_without_a_run_is_an_error(self) -> None:
        suite = ElementTree.fromstring(render_junit(report_of(as_it_should_be()[:1])))[0]
        assert suite.attrib["errors"] == "3"

    def test_generic_mutants_are_left_out(self) -> None:
        report = make_report(
            [task_plan(ORACLE, PARTIAL, BUILTIN)], [], repeat=1, verification_timeout_sec=20
        )
        suite = ElementTree.fromstring(render_junit(report))[0]
        assert [case.attrib["name"] for case in suite.iter("testcase")] == ["oracle", "partial"]
