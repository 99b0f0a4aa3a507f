"""Many tasks at a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from devops_bench.core.errors import DevopsBenchError
from devops_bench.verify_protocol.batch import Batch, run_batch
from devops_bench.verify_protocol.model import Status, VerifyResult
from devops_bench.verify_protocol.results import exit_code
from devops_bench.verify_protocol.runner import RunOptions
from devops_bench.verify_protocol.slots import STATE_VARIABLE
from devops_bench.verify_protocol.task import VerifyTask, load_task


class Notes:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.slots: list[int] = []
        self.finished_ids: list[str] = []
        self.on_finished = threading.Event()

    def waiting(self, slots: Sequence[int]) -> None:
        raise AssertionError(f"nobody else uses {slots}")

    def started(self, task: VerifyTask, slot: int) -> None:
        self.slots.append(slot)

    def finished(self, result: VerifyResult, elapsed_sec: float) -> None:
        self.finished_ids.append(result.task_id)
        self.on_finished.set()


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))


def tasks(parent: Path, *names: str, script: str = "") -> list[VerifyTask]:
    for name in names:
        (parent / name).mkdir()
        (parent / name / "verify.py").write_text(
            script or 'import sys\nprint("[PASS] (1pt) a", file=sys.stderr)\n'
        )
    return [load_task(parent / name) for name in names]


def batch(work: list[VerifyTask], folder: Path, *, jobs: int = 2) -> Batch:
    return Batch(work, folder, slots=(3, 5), jobs=jobs, options=RunOptions(timeout_sec=60))


def test_the_results_come_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    notes = Notes()
    names = [f"t{number}" for number in range(5)]
    results = run_batch(batch(tasks(tmp_path, *names), tmp_path), notes, threading.Event())
    assert [result.task_id for result in results] == names
    assert sorted(notes.finished_ids) == names
    assert set(notes.slots) <= {3, 5}
    assert exit_code(results) == 0


def test_two_jobs_run_side_by_side_on_two_slots(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time\n"
        "here = pathlib.Path(__file__).parent\n"
        "(here / 'here').touch()\n"
        "while len(list(here.parent.glob('*/here'))) < 2: time.sleep(0.01)\n"
        "print('[PASS] (1pt) a', file=sys.stderr)\n"
    )
    notes = Notes()
    work = tasks(tmp_path, "a", "b", script=script)
    results = run_batch(batch(work, tmp_path), notes, threading.Event())
    assert [result.status for result in results] == [Status.PASS] * 2
    assert sorted(notes.slots) == [3, 5]


def test_a_result_that_cannot_be_written_ends_everything(tmp_path: Path) -> None:
    work = tasks(tmp_path, "a", "b")
    notes = Notes()
    with pytest.raises(DevopsBenchError, match=r"the result of a could not be written"):
        run_batch(batch(work, tmp_path / "none", jobs=1), notes, threading.Event())
    assert notes.finished_ids == []
    assert len(notes.slots) == 1


def test_after_a_cancel_no_other_starts(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    assert run_batch(batch(tasks(tmp_path, "a"), tmp_path), Notes(), cancel) == []


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([Status.PASS], 0),
        ([Status.PASS, Status.FAIL], 1),
        ([Status.FAIL, Status.ERROR], 3),
        ([Status.PASS, Status.SKIP], 3),
    ],
)
def test_exit_codes(statuses: list[Status], code: int) -> None:
    assert exit_code([VerifyResult("t", status) for status in statuses]) == code
