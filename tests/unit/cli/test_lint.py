from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from devops_bench.cli.lint import lint
from devops_bench.cli.schema import schema

CLEAN = """id: web
verification_spec:
  - name: ready
    role: objective
    check: {type: pod_healthy, selector: app=web}
"""

app = typer.Typer()
app.command("lint")(lint)
app.command("schema")(schema)


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["lint", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def spec(folder: Path, text: str = CLEAN, name: str = "task.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_nothing_found_is_zero(tmp_path: Path) -> None:
    assert run(spec(tmp_path)) == (0, "1 spec: nothing found\n", "")


def test_a_notice_alone_is_zero(tmp_path: Path) -> None:
    code, out, _ = run(spec(tmp_path, f"{CLEAN}tags: [a]\n"))
    assert code == 0
    assert out.endswith("1 spec: 1 notice\n")


def test_a_finding_has_its_place_its_line_a_caret_and_what_is_right(tmp_path: Path) -> None:
    file = spec(tmp_path, CLEAN.replace("objective", "on"))
    code, out, err = run(file)
    assert (code, err) == (1, "")
    assert out == (
        f"{file}:4:11: error: verification_spec[0].role: "
        "on is the boolean true in YAML 1.1 and text in YAML 1.2 [DB003]\n"
        "    4 |     role: on\n"
        "      |           ^\n"
        "    hint: write 'on' in quotes for the text, or true for the boolean\n"
        "1 spec: 1 error\n"
    )


def test_a_warning_is_a_finding(tmp_path: Path) -> None:
    code, out, _ = run(spec(tmp_path, CLEAN.replace("pod_healthy", "pod_exec")))
    assert code == 1
    assert "warning: verification_spec[0].check.type" in out


def test_the_findings_of_every_file_come_at_once(tmp_path: Path) -> None:
    for index in range(3):
        spec(tmp_path, f"{CLEAN.replace('web', f'web{index}', 1)}x{index}: 1\n", f"{index}.yaml")
    spec(tmp_path, "values: 1\n", "other.yaml")
    code, out, _ = run(tmp_path)
    assert code == 1
    assert [f"unknown key 'x{index}'" in out for index in range(3)] == [True] * 3
    assert out.endswith("3 specs: 3 errors (1 other YAML file skipped)\n")


def test_a_path_that_cannot_be_read_is_two_and_the_others_are_still_looked_at(
    tmp_path: Path,
) -> None:
    file = spec(tmp_path, f"{CLEAN}x: 1\n")
    code, out, err = run(tmp_path / "missing", file)
    assert code == 2
    assert "unknown key 'x'" in out
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "missing cannot be read" in err


def test_a_folder_without_a_task_is_two(tmp_path: Path) -> None:
    code, _, err = run(tmp_path)
    assert code == 2
    assert "there is no task" in err


def test_json(tmp_path: Path) -> None:
    file = spec(tmp_path, f"{CLEAN}promt: 1\n")
    code, out, _ = run(file, "--output", "json")
    assert code == 1
    assert json.loads(out) == {
        "specs": [str(file)],
        "skipped": 0,
        "unreadable": [],
        "diagnostics": [
            {
                "file": str(file),
                "line": 6,
                "column": 1,
                "level": "error",
                "path": "promt",
                "message": "unknown key 'promt'",
                "hint": "did you mean 'prompt'?",
                "rule": "DB004",
            }
        ],
    }


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    file = spec(tmp_path, f'{CLEAN}"\\e[31mred": 1\n')
    assert "\x1b" not in run(file)[1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=60), st.sampled_from(["text", "json"]))
def test_no_file_makes_it_fall_over(tmp_path: Path, data: bytes, output: str) -> None:
    file = tmp_path / "task.yaml"
    file.write_bytes(data)
    code, out, _ = run(file, "--output", output)
    assert code == 1
    assert out


def test_the_schema_is_json() -> None:
    result = CliRunner().invoke(app, ["schema"])
    assert result.exit_code == 0
    assert "verification_spec" in json.loads(result.stdout)["properties"]


@pytest.mark.parametrize(
    "heavy", ["kubernetes", "rich", "requests", "cryptography", "structlog", "urllib3"]
)
def test_lint_imports_nothing_heavy(tmp_path: Path, heavy: str) -> None:
    (tmp_path / "m.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    file = spec(tmp_path, f"{CLEAN}setup: {{manifests: [m.yaml]}}\n")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from devops_bench.cli.lint import load_tasks, LoadOptions\n"
        f"loaded = load_tasks([Path({str(file)!r})], LoadOptions(mode='lint'))\n"
        "assert len(loaded.tasks) == 1\n"
        f"sys.exit({heavy!r} in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0
