"""The run's folder."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from devops_bench.core.errors import InvalidInputError
from devops_bench.results.model import Scores, TaskResult
from devops_bench.results.writer import ResultWriter, read_result
from tests.unit.results.samples import HOLD_ROW, ROW, make_result, make_run


def test_a_result_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    run = make_run(
        make_result(
            "passed",
            outcome=1.0,
            scores=Scores(correctness=1.0),
            verification_report=[ROW, HOLD_ROW],
            started_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        )
    )
    writer = ResultWriter(tmp_path, run.run_id)
    writer.write(run)
    assert read_result(writer.run_dir) == run


def test_the_file_has_the_keys_that_readers_rely_on(tmp_path: Path) -> None:
    writer = ResultWriter(tmp_path / "results", "r1")
    writer.write(make_run(make_result("failed", verification_report=[HOLD_ROW])))
    data = json.loads(writer.result_path.read_text())
    assert (data["schema_version"], data["run_id"]) == (1, "r1")
    (task,) = data["tasks"]
    assert {"id", "status", "outcome", "scores", "verification_report"} <= task.keys()
    assert {
        "name",
        "role",
        "severity",
        "mode",
        "weight",
        "success",
        "status",
        "reason",
        "hold_sample_count",
        "hold_error_count",
        "hold_first_violation_reason",
        "hold_first_violation_at_sec",
    } <= task["verification_report"][0].keys()


def test_a_rewrite_keeps_the_earlier_tasks_and_leaves_no_other_file(tmp_path: Path) -> None:
    writer = ResultWriter(tmp_path, "r1")
    first, second = make_result("passed", id="a"), make_result("failed", id="b")
    writer.write(make_run(first))
    writer.write(make_run(first, second))
    assert [task.id for task in read_result(writer.run_dir).tasks] == ["a", "b"]
    assert sorted(p.name for p in writer.run_dir.iterdir()) == ["result.json", "summary.txt"]


def test_a_run_never_writes_into_the_folder_of_another(tmp_path: Path) -> None:
    ResultWriter(tmp_path, "r1")
    with pytest.raises(InvalidInputError, match="exists already"):
        ResultWriter(tmp_path, "r1")


def test_a_results_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot be made"):
        ResultWriter(tmp_path / "file" / "results", "r1")


def test_a_task_result_refuses_a_status_that_is_none() -> None:
    with pytest.raises(ValueError, match="status"):
        TaskResult.model_validate({"id": "a", "status": "great"})
