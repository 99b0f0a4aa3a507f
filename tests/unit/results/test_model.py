"""What a run exits with."""

from __future__ import annotations

import pytest

from devops_bench.scoring.outcome import TaskStatus
from tests.unit.results.samples import make_result, make_run


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (["passed"], 0),
        (["passed", "passed"], 0),
        (["passed", "failed"], 1),
        (["failed", "error", "passed"], 3),
        (["error", "interrupted"], 130),
        ([], 3),
    ],
)
def test_the_exit_code(statuses: list[TaskStatus], code: int) -> None:
    assert make_run(*[make_result(status) for status in statuses]).exit_code == code


def test_a_planned_task_without_a_result_was_not_evaluated() -> None:
    assert make_run(make_result("passed"), planned=["t1", "t2"]).exit_code == 3
