"""A report that cannot be written is an error, and who reads it decides nothing."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = """id: web
prompt: Have four replicas.
verification_spec:
  - name: four
    role: objective
    check: {type: resource_property, kind: Deployment, path: spec.replicas, op: eq, value: 4}
"""
OBJECTS = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec: {replicas: 4}
"""
COMMANDS = [
    "lint task.yaml",
    "lint missing.yaml",
    "lint task.yaml --output json",
    "lint --explain DB101",
    "check task.yaml --objects objects.yaml",
    "check task.yaml --objects objects.yaml --output json",
    "schema",
    "version",
    "doctor",
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.yaml").write_text(SPEC)
    (tmp_path / "objects.yaml").write_text(OBJECTS)
    return tmp_path


def bash(words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("to", "why"), [("> /dev/full", "No space left"), (">&-", "the stream is closed")]
)
def test_a_report_that_cannot_be_written_is_two_and_one_line(
    command: str, to: str, why: str
) -> None:
    done = bash(f"{sys.executable} -m devops_bench {command} {to}")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the report could not be written to standard output: ")
    assert why in line


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", ["lint task.yaml", "lint missing.yaml"])
@pytest.mark.parametrize("to", ["2>/dev/full", "2>&-"])
def test_where_nothing_can_be_said_the_report_and_the_exit_code_stay(command: str, to: str) -> None:
    plain = bash(f"{sys.executable} -m devops_bench {command}")
    done = bash(f"{sys.executable} -m devops_bench {command} {to}")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)


def test_a_file_that_is_opened_never_takes_the_place_of_a_closed_stream() -> None:
    code = (
        "from devops_bench.cli.output import replace_closed_streams as r\n"
        "import os\n"
        "r()\n"
        "os._exit(os.open('/dev/null', os.O_RDONLY))\n"
    )
    assert bash(f"{sys.executable} -c {shlex.quote(code)} >&- 2>&-").returncode > 2


def test_a_reader_that_went_away_does_not_change_the_exit_code() -> None:
    code = (
        "import sys\n"
        "from devops_bench.cli.output import write_quietly, write_report\n"
        "for _ in range(9): write_quietly('x' * 99999, sys.stdout)\n"
        "write_report('x' * 99999)\n"
        "sys.exit(7)\n"
    )
    done = bash(f"{sys.executable} -c {shlex.quote(code)} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_a_terminal_that_hung_up_does_not_change_the_exit_code() -> None:
    code = (
        "import sys\n"
        "from devops_bench.cli.output import write_report\n"
        "sys.stdin.read()\n"
        "write_report('x')\n"
        "sys.exit(7)\n"
    )
    primary, secondary = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=secondary,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(secondary)
    os.close(primary)
    _, said = program.communicate()
    assert (program.returncode, said) == (7, b"")


def test_what_was_lost_on_the_way_is_told_with_the_report() -> None:
    code = (
        "import sys\n"
        "from devops_bench.cli.output import write_quietly, write_report\n"
        "from devops_bench.core.errors import OutputError\n"
        "write_quietly('progress', sys.stdout)\n"
        "try:\n    write_report('x')\n"
        "except OutputError as e:\n    sys.exit(e.exit_code + 5)\n"
    )
    done = bash(f"{sys.executable} -c {shlex.quote(code)} > /dev/full")
    assert (done.returncode, done.stderr) == (7, "")
