"""``replay``: offline, and honest about what it cannot read. The rest is tested on real runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.evidence.records import EVIDENCE_VERSION, Header, Marked, Sampled
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.tasks.loader import load_task
from devops_bench.verification.combinators import queries_of
from devops_bench.verification.result import VerificationResult

from .conftest import Run


@pytest.fixture
def run(tmp_path: Path, spec: Path) -> Path:
    """The folder of a run with one task and one objective, asserted once: it found 3 replicas."""
    spec.write_text(
        spec.read_text().replace("role: objective", "role: objective\n    mode: assert")
    )
    task = load_task(spec, variables={"NAMESPACE": "default"}).task
    assert task is not None
    (entry,) = task.entries
    (query,) = queries_of(entry.check)
    folder = tmp_path / "run" / "web"
    folder.mkdir(parents=True)
    sink = open_evidence(folder, task.entries)
    sink.record(Header(EVIDENCE_VERSION, "run", "web", "1", "v1.36.3", "2026-01-01T00:00:00Z", ()))
    found = KubeObject(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 3},
        }
    )
    result = VerificationResult.passed("3 of 3")
    sink.record(Sampled(entry.name, 1.0, 1.1, {query: Matched((found,))}, result))
    sink.record(Marked("task_end", 2.0))
    sink.close()
    return folder.parent


def test_a_run_and_a_task_of_it(devops_bench: Run, run: Path) -> None:
    for folder in (run, run / "web"):
        done = devops_bench("replay", folder)
        assert done.returncode == 0, done.stderr
        assert "web: PASSED" in done.stdout
        assert "the run wrote no result to compare with" in done.stdout


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("{", "Invalid JSON: EOF"),
        ('{"run_id": 1}', "run_id: Input should be a valid string"),
        ('{"run_id": "r", "tasks": [{"id": "web"}]}', "tasks[0].status: Field required"),
    ],
)
def test_a_damaged_result_is_told_in_one_line(
    devops_bench: Run, run: Path, result: str, said: str
) -> None:
    (run / "result.json").write_text(result)
    done = devops_bench("replay", run)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"result.json is damaged, or of another version: {said}" in line
    assert "pydantic" not in line


def test_another_spec_judges_what_was_recorded(devops_bench: Run, run: Path, spec: Path) -> None:
    spec.write_text(spec.read_text().replace("value: 3", "value: 4"))
    done = devops_bench("replay", run, "--spec", spec, "--output", "json")
    assert done.returncode == 1, done.stderr
    (task,) = json.loads(done.stdout)["tasks"]
    (row,) = task["verification_report"]
    assert (row["status"], task["lacks"]) == ("fail", {})
    assert "spec.replicas is 3, not eq 4" in row["reason"]


def test_what_was_not_recorded_is_an_error_that_says_what(
    devops_bench: Run, run: Path, spec: Path
) -> None:
    spec.write_text(spec.read_text().replace("path: spec.replicas", "path: spec.minReadySeconds"))
    done = devops_bench("replay", run, "--spec", spec, "--output", "json")
    assert done.returncode == 3
    (task,) = json.loads(done.stdout)["tasks"]
    assert task["lacks"] == {
        "three replicas": [
            "it needs spec.minReadySeconds of Deployment web in namespace default, "
            "which the run did not record"
        ]
    }


def test_the_last_state_can_be_checked(devops_bench: Run, run: Path, spec: Path) -> None:
    done = devops_bench("check", spec, "--run", run)
    assert done.returncode == 0, done.stderr
    assert "found:   spec.replicas = 3" in done.stdout


def test_a_torn_recording_is_told_and_is_no_pass(devops_bench: Run, run: Path) -> None:
    file = run / "web" / EVIDENCE_NAME
    file.write_bytes(file.read_bytes()[:-30])
    done = devops_bench("replay", run)
    assert done.returncode == 3
    assert "was not finished" in done.stdout


def test_a_recording_that_says_nothing_is_bad_input(devops_bench: Run, run: Path) -> None:
    (run / "web" / EVIDENCE_NAME).write_bytes(b"")
    done = devops_bench("replay", run)
    assert done.returncode == 2
    assert "before its cluster was there" in done.stderr


def test_a_task_of_which_nothing_can_be_read_is_not_evaluated(devops_bench: Run, run: Path) -> None:
    (run / "other").mkdir()
    (run / "other" / EVIDENCE_NAME).write_bytes(b"")
    done = devops_bench("replay", run, "--output", "json")
    assert done.returncode == 3
    assert list(json.loads(done.stdout)["unreadable"]) == ["other"]


@pytest.mark.parametrize("words", [["nowhere"], ["."]])
def test_what_is_no_run_is_bad_input(devops_bench: Run, words: list[str]) -> None:
    done = devops_bench("replay", *words)
    assert done.returncode == 2
    assert "is not the folder of a run" in done.stderr


def test_a_spec_of_another_task_is_bad_input(devops_bench: Run, run: Path, spec: Path) -> None:
    spec.write_text(spec.read_text().replace("id: web", "id: other"))
    done = devops_bench("replay", run, "--spec", spec)
    assert done.returncode == 2
    assert "has the task other, and the run web" in done.stderr


def test_it_imports_no_client_and_connects_to_nothing(run: Path) -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*_): raise AssertionError('it connects')\n"
        "socket.socket.connect = refuse\n"
        "from devops_bench.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print(' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "replay", str(run)], capture_output=True, text=True, check=True
    )
    assert not {"kubernetes", "urllib3", "requests"} & set(done.stderr.split())
