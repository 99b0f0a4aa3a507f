from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from devops_bench.cli.lint import lint
from devops_bench.cli.schema import schema
from devops_bench.core.errors import InvalidInputError
from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.model import Rule

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
        "kubernetes_version": "1.36",
        "notes": [],
        "ignored": [],
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
@given(st.binary(max_size=60), st.sampled_from(["text", "json", "github", "sarif", "junit"]))
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
    "heavy",
    [
        "kubernetes",
        "kubernetes_validate",
        "jsonschema",
        "rich",
        "requests",
        "cryptography",
        "structlog",
        "urllib3",
    ],
)
def test_lint_imports_nothing_heavy(tmp_path: Path, heavy: str) -> None:
    (tmp_path / "m.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    file = spec(tmp_path, f"{CLEAN}setup: {{manifests: [m.yaml]}}\n")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from devops_bench.cli.lint import lint_paths, LintOptions\n"
        f"report = lint_paths([Path({str(file)!r})], LintOptions())\n"
        "assert len(report.files) == 1 and not report.unreadable\n"
        f"sys.exit({heavy!r} in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0


WRONG = CLEAN.replace(
    "pod_healthy, selector: app=web",
    "resource_property, kind: Deployment, resource_name: web, path: spec.replica, op: exists",
)


def test_a_rule_that_knows_kubernetes_has_its_id_and_a_caret(tmp_path: Path) -> None:
    file = spec(tmp_path, WRONG)
    code, out, _ = run(file)
    assert code == 1
    first, source, caret, hint, summary = out.splitlines()
    assert first == (
        f"{file}:5:82: error: verification_spec[0].check.path: no Deployment has this: "
        "there is no field 'replica' (below spec) [DB101]"
    )
    assert source.index("spec.replica") == caret.index("^")
    assert hint == "    hint: did you mean 'replicas'?"
    assert summary == "1 spec: 1 error"


def test_colour_only_on_a_terminal(tmp_path: Path) -> None:
    file = spec(tmp_path, WRONG)
    assert "\x1b[" not in run(file)[1]
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "devops_bench", "lint", str(file)]
    done = subprocess.run(command, stdout=secondary, env=environment, check=False)
    os.close(secondary)
    written = b""
    with contextlib.suppress(OSError):  # the end of a terminal whose other side is closed
        while chunk := os.read(primary, 65536):
            written += chunk
    os.close(primary)
    assert done.returncode == 1
    assert b"\x1b[1;31merror\x1b[0m" in written


@pytest.mark.parametrize(
    ("fail_on", "found", "code"),
    [
        ("never", WRONG, 0),
        ("error", WRONG, 1),
        ("error", CLEAN.replace("pod_healthy", "pod_exec"), 0),
        ("warning", CLEAN.replace("pod_healthy", "pod_exec"), 1),
        ("warning", f"{CLEAN}tags: [a]\n", 0),
        ("notice", f"{CLEAN}tags: [a]\n", 1),
    ],
)
def test_fail_on(tmp_path: Path, fail_on: str, found: str, code: int) -> None:
    assert run(spec(tmp_path, found), "--fail-on", fail_on)[0] == code


def test_fail_on_never_does_not_hide_what_cannot_be_read(tmp_path: Path) -> None:
    assert run(tmp_path / "missing", "--fail-on", "never")[0] == 2


def test_settings_count_until_a_flag_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "devops-bench.toml").write_text('[lint]\nignore = ["DB101"]\n')
    file = spec(tmp_path, WRONG)
    assert run(file)[0] == 0
    assert run(file, "--ignore", "DB2")[0] == 1
    other = tmp_path / "other.toml"
    other.write_text('[lint]\nfail-on = "never"\n')
    code, out, _ = run(file, "--config", other)
    assert code == 0
    assert "DB101" in out


@pytest.mark.parametrize("output", ["text", "json", "github", "sarif", "junit"])
def test_settings_that_are_not_read_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "devops-bench.toml").write_text('[lint]\nignore = ["DB102"]\n')
    (tmp_path / "pyproject.toml").write_text('[tool.devops-bench.lint]\nignore = ["DB101"]\n')
    code, out, _ = run(spec(tmp_path, WRONG), "--output", output)
    assert code == 1
    assert "pyproject.toml is not read" in out
    assert (
        "pyproject.toml is not read"
        not in run(spec(tmp_path), "--output", output, "--config", "pyproject.toml")[1]
    )


def test_the_formats_tell_of_the_same_finding(tmp_path: Path) -> None:
    file = spec(tmp_path, WRONG)
    for output in ("text", "json", "github", "sarif", "junit"):
        code, out, _ = run(file, "--format", output)
        assert code == 1
        assert "DB101" in out


@pytest.mark.parametrize("output", ["text", "json", "github", "sarif", "junit"])
def test_without_schemas_every_format_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.setattr("devops_bench.lint.schemas.PACKAGE", "a_package_that_is_not_installed")
    code, out, _ = run(spec(tmp_path), "--output", output)
    assert code == 0
    assert "devops-bench[lint]" in out


def test_explain_shows_both_examples() -> None:
    code, out, _ = run("--explain", "db101")
    assert code == 0
    assert out.startswith("DB101: a path that the kind does not have (error)\n")
    assert "status.readyReplica\n" in out
    assert "metadata.annotations.readyReplica\n" in out


def test_explain_all_lists_the_rules() -> None:
    code, out, _ = run("--explain", "all")
    assert code == 0
    assert [line[:5] for line in out.splitlines()] == [rule.id for rule in all_rules()]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_every_rule_is_explained(rule: Rule) -> None:
    code, out, _ = run("--explain", rule.id)
    assert code == 0
    for example in (rule.fires, rule.near_miss):
        assert textwrap.indent(example.spec, "    ") in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--explain", "DB100"], "did you mean DB10"),
        ([], "say what to lint"),
        ([""], "an empty path names nothing"),
        (["--config", "other.toml", "."], r"other.toml has no table \[lint\]"),
        (["--select", "XY", "."], "no rule that begins with 'XY'"),
        (["--select", "", "."], "an empty id names no rule"),
        (["--ignore", "", "."], "an empty id names no rule"),
        (["--kubernetes-version", "", "."], "no schemas of Kubernetes ''"),
        (["--kubernetes-version", "1.0", "."], "no schemas of Kubernetes '1.0'"),
        (["--crd", "missing.yaml", "."], "missing.yaml cannot be read"),
        (["--var", "1", "."], "is not NAME=VALUE"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text("[lints]\n")
    with pytest.raises(InvalidInputError, match=message) as caught:
        CliRunner().invoke(app, ["lint", *arguments], catch_exceptions=False)
    assert caught.value.exit_code == 2


def test_where_no_spec_is_found_nothing_is_summed_up(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("a: 1\n")
    code, out, err = run(tmp_path)
    assert (code, out) == (2, "")
    assert "there is no task in" in err


def _write_odd_names(folder: Path) -> None:
    for name in (b"bad\xff.yaml", b"\xe4nd\xe9 \x80.yaml", b"sub\xfe/t.yaml"):
        file = folder / os.fsdecode(name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{WRONG}bad: 1\n")


@pytest.mark.parametrize("output", ["text", "json", "github", "sarif", "junit"])
@pytest.mark.parametrize("given", ["relative", "absolute", "outside"])
def test_a_name_that_is_not_utf8_is_readable_in_every_format(
    tmp_path: Path, output: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    _write_odd_names(here)
    monkeypatch.chdir(tmp_path if given == "outside" else here)
    missing = os.fsdecode(b"gone\xfd.yaml")
    folder = "." if given == "relative" else str(here)
    code, out, err = run(folder, missing, "--output", output)
    assert code == 2
    (out + err).encode("utf-8")  # no half of a surrogate pair
    shown = ["bad\\xff.yaml", "\\xe4nd\\xe9 \\x80.yaml", "sub\\xfe/t.yaml"]
    if output == "sarif":
        (log,) = json.loads(out)["runs"]
        shown = ["bad%FF.yaml", "%E4nd%E9%20%80.yaml", "sub%FE/t.yaml"]
        uris = {
            one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for one in log["results"]
        }
        assert sorted(uri.removeprefix(f"file://{here}/") for uri in uris) == sorted(
            shown if given != "outside" else [f"here/{one}" for one in shown]
        )
        out = json.dumps(log, ensure_ascii=False)
    if output == "json":
        out = json.dumps(json.loads(out), ensure_ascii=False).replace("\\\\", "\\")
    if output == "junit":
        ElementTree.fromstring(out)
    out.encode("utf-8")
    assert [name in out for name in shown] == [True] * 3
    assert "gone\\xfd.yaml" in err + out.replace("\\\\", "\\")
