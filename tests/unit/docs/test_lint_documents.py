"""``docs/lint.md`` says what the code does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema

from devops_bench.cli.main import COMMANDS, load_command
from devops_bench.lint.explain import rule_table
from devops_bench.lint.settings import read_settings
from devops_bench.tasks.schema import task_json_schema
from devops_bench.tasks.yaml import parse

REPOSITORY = Path(__file__).resolve().parents[3]
DOCUMENT = REPOSITORY / "docs" / "lint.md"


def test_the_table_of_rules_is_generated() -> None:
    match = re.search(r"<!-- rules: .*? -->\n(.*?)<!-- end", DOCUMENT.read_text(), re.DOTALL)
    assert match is not None
    assert match[1] == rule_table()


def test_every_option_is_in_the_table() -> None:
    command = load_command("lint", COMMANDS["lint"])
    options = {name for one in command.params for name in one.opts if name.startswith("--")}
    assert options - {"--help"} <= set(re.findall(r"`(--[a-z-]+)", DOCUMENT.read_text()))


def test_the_settings_are_read(tmp_path: Path) -> None:
    match = re.search(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert match is not None
    file = tmp_path / "devops-bench.toml"
    file.write_text(match[1])
    found = read_settings(file)
    assert found is not None
    assert found.crds == (tmp_path / "crds/widgets.yaml",)


def test_the_finding_that_is_shown_is_what_is_printed(tmp_path: Path) -> None:
    match = re.search(r"```text\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert match is not None
    file = tmp_path / "specs" / "web" / "task.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "id: web\nverification_spec:\n  - name: web\n    role: objective\n    check:\n"
        "      type: resource_property\n      kind: Deployment\n      resource_name: web\n"
        "      path: status.readyReplica\n      op: eq\n      value: 4\n"
    )
    command = [sys.executable, "-m", "devops_bench", "lint", "specs"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{match[1]}1 spec: 1 error\n"


def test_the_schema_for_editors_accepts_every_spec() -> None:
    validator = jsonschema.Draft202012Validator(task_json_schema())
    specs = sorted((REPOSITORY / "specs").glob("*/task.yaml"))
    assert specs
    for file in specs:
        document, _ = parse(file.read_text(), file)
        assert document is not None
        assert [error.message for error in validator.iter_errors(document.value)] == [], file
