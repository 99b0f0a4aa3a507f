"""What a killed qualification finds again, and what it refuses to continue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.core.errors import InvalidInputError
from devops_bench.results.qualification.plan import plan_controls
from devops_bench.results.qualification.report import make_report
from devops_bench.results.qualification.store import (
    QualificationFolder,
    QualificationRequest,
    fingerprint,
)
from devops_bench.tasks.model import Controls, ControlScript, Mutant, Partial, Task
from devops_bench.verification.spec import parse_entries

from .samples import NOOP, ORACLE, as_it_should_be, run_of, task_plan


@pytest.fixture
def folder(tmp_path: Path) -> QualificationFolder:
    request = QualificationRequest(
        specs=[tmp_path],
        repeat=2,
        verification_timeout_sec=20,
        verification_total_budget_sec=600,
        tasks=[task_plan()],
    )
    return QualificationFolder.create(tmp_path / "q", request)


def test_what_was_asked_for_is_found_again(folder: QualificationFolder, tmp_path: Path) -> None:
    request = QualificationFolder(folder.path).request()
    assert request.repeat == 2
    assert request.tasks == [task_plan()]


def test_the_runs_that_have_ended_are_found_again(folder: QualificationFolder) -> None:
    kept = [run_of(ORACLE, "passed", 2), run_of(NOOP, "failed", 1, goal="fail")]
    for run in kept:
        folder.write_run(run)
    assert sorted(folder.runs([task_plan()], 2), key=lambda run: run.attempt) == kept[::-1]


def test_a_run_beyond_the_plan_is_passed_over(folder: QualificationFolder) -> None:
    folder.write_run(run_of(ORACLE, "passed", 3))
    assert folder.runs([task_plan()], 2) == []


def test_a_damaged_run_is_named_and_not_taken_for_a_missing_one(
    folder: QualificationFolder,
) -> None:
    folder.write_run(run_of(ORACLE, "passed", 1))
    file = folder.path / "runs" / "t" / "oracle" / "1.json"
    file.write_text(file.read_text()[:-20])
    with pytest.raises(InvalidInputError, match=r"oracle/1\.json is damaged; remove it"):
        folder.runs([task_plan()], 2)


def test_a_run_of_another_control_is_damage(folder: QualificationFolder) -> None:
    folder.write_run(run_of(ORACLE, "passed", 1))
    oracle = folder.path / "runs" / "t" / "oracle" / "1.json"
    noop = folder.path / "runs" / "t" / "noop" / "1.json"
    noop.parent.mkdir(parents=True)
    noop.write_bytes(oracle.read_bytes())
    with pytest.raises(InvalidInputError, match=r"noop/1\.json is damaged.*t oracle #1"):
        folder.runs([task_plan()], 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"status":"failed"', '"status":"passed"'), ('"outcome":0.0', '"outcome":NaN')],
)
def test_a_run_that_contradicts_itself_is_damage(
    folder: QualificationFolder, old: str, new: str
) -> None:
    folder.write_run(run_of(NOOP, "failed", 1, outcome=0.0, goal="fail"))
    file = folder.path / "runs" / "t" / "noop" / "1.json"
    text = file.read_text().replace('": ', '":')
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InvalidInputError, match=r"noop/1\.json is damaged"):
        folder.runs([task_plan()], 2)


def test_a_folder_is_never_taken_over(folder: QualificationFolder) -> None:
    with pytest.raises(InvalidInputError, match="exists already"):
        QualificationFolder.create(folder.path, folder.request())


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is no folder of a qualification"):
        QualificationFolder(tmp_path).request()


@pytest.mark.parametrize(
    ("old", "new"),
    [('"schema_version": 2', '"schema_version": 99'), ('"repeat": 2', '"repeat": 2, "x": 1')],
)
def test_another_version_is_refused(folder: QualificationFolder, old: str, new: str) -> None:
    header = folder.path / "qualification.json"
    text = header.read_text()
    assert old in text
    header.write_text(text.replace(old, new))
    with pytest.raises(InvalidInputError, match="version"):
        folder.request()


def test_the_report_is_written(folder: QualificationFolder) -> None:
    report = make_report([task_plan()], as_it_should_be(), repeat=1, verification_timeout_sec=20)
    folder.write_report(report)
    assert "harm" in (folder.path / "report.txt").read_text()
    assert report.model_validate_json((folder.path / "report.json").read_bytes()) == report


def a_task(tmp_path: Path, **controls: object) -> Task:
    source = tmp_path / "task.yaml"
    source.write_text("id: t\n")
    made = Controls(**controls)  # type: ignore[arg-type]
    return Task(id="t", prompt="x", source=source, controls=made)


def test_the_fingerprint_changes_with_each_file(tmp_path: Path) -> None:
    script = tmp_path / "harm.sh"
    script.write_text("true\n")
    does = ControlScript(script=script)
    task = a_task(tmp_path, oracle=ControlScript(run="true"), mutants=(Mutant("m", does, ("g",)),))
    before = fingerprint(task)
    assert fingerprint(task) == before

    script.write_text("false\n")
    changed = fingerprint(task)
    assert changed != before

    task.source.write_text("id: t2\n")
    assert fingerprint(task) not in (before, changed)


def test_the_fingerprint_knows_what_lies_beside_a_script_and_is_named_there(
    tmp_path: Path,
) -> None:
    script, lib, more = (tmp_path / name for name in ("fix.sh", "lib.sh", "more.sh"))
    script.write_text("source ./lib.sh\n")
    lib.write_text("source ./more.sh\n")
    more.write_text("true\n")
    task = a_task(tmp_path, oracle=ControlScript(script=script))
    before = fingerprint(task)
    (tmp_path / "notes.md").write_text("new, and named nowhere\n")
    assert fingerprint(task) == before
    more.write_text("false\n")
    assert fingerprint(task) != before


def test_the_fingerprint_knows_the_scripts_that_judge(tmp_path: Path) -> None:
    board = tmp_path / "board"
    board.mkdir()
    (board / "verify.py").write_text("print('a')\n")
    (board / "expected.json").write_text("{}\n")
    check = {"type": "verify_script", "task_dir": str(board)}
    entries, errors = parse_entries([{"name": "x", "role": "objective", "check": check}])
    assert errors == []
    task = replace(a_task(tmp_path), entries=tuple(entries))
    found = {fingerprint(task)}
    for name in ("verify.py", "expected.json"):
        (board / name).write_text("other\n")
        found.add(fingerprint(task))
    assert len(found) == 3
    (board / "__pycache__").mkdir()
    (board / "__pycache__" / "helper.pyc").write_bytes(b"made by the run")
    assert fingerprint(task) in found


def test_the_controls_of_a_task(tmp_path: Path) -> None:
    does = ControlScript(run="true")
    task = a_task(
        tmp_path,
        oracle=does,
        partial=Partial(does, 0.2, 0.4),
        mutants=(Mutant("harm", does, ("goal", "floor")),),
    )
    plans = plan_controls(task)
    assert [(plan.name, plan.kind) for plan in plans] == [
        ("oracle", "oracle"),
        ("noop", "noop"),
        ("partial", "partial"),
        ("harm", "mutant"),
    ]
    assert plans[2].expected == "outcome 0.2 to 0.4"
    assert plans[3].expected == "caught by 'goal', 'floor'"
    assert [plan.must_not_pass for plan in plans] == [False, True, True, True]


def test_doing_nothing_is_a_control_of_every_task(tmp_path: Path) -> None:
    assert [plan.name for plan in plan_controls(a_task(tmp_path))] == ["noop"]
