"""What lint hands out for pull requests works: the workflow, its steps, the pre-commit hook.

None of this needs a cluster; it needs the package indexes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.go_tools import go

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLE = REPOSITORY / "docs" / "examples" / "lint-specs.yml"
WORKFLOWS = [*sorted((REPOSITORY / ".github" / "workflows").glob("*.yml")), EXAMPLE]


def test_actionlint_passes() -> None:
    done = go("tool", "actionlint", "-no-color", *map(str, WORKFLOWS))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def steps_of(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what git knows of this checkout, as actions/checkout would make it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    folder = tmp_path / "checkout"
    for name in filter(None, listed.split("\0")):
        source = REPOSITORY / name
        if source.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    return folder


def test_the_steps_of_the_example_run(checkout: Path, tmp_path: Path) -> None:
    """Each ``run:`` as a runner would, in an environment of its own."""
    environment_folder = tmp_path / "venv"
    venv.create(environment_folder, with_pip=True)
    # What is installed here need not be fetched again; the package itself is installed anew.
    site = next(environment_folder.glob("lib/python*/site-packages"))
    (site / "here.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    environment["PATH"] = f"{environment_folder / 'bin'}{os.pathsep}{environment['PATH']}"
    runs = [step["run"] for step in steps_of(EXAMPLE) if "run" in step]
    assert len(runs) == 3
    for text in runs:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
    assert '"version": "2.1.0"' in (checkout / "lint.sarif").read_text()


def test_the_pre_commit_hook_runs(checkout: Path, tmp_path: Path) -> None:
    """``pre-commit try-repo`` installs the hook from a copy of this checkout and runs it."""
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
    subprocess.run(["git", "add", "-A"], cwd=checkout, check=True)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    subprocess.run(
        ["git", *identity, "commit", "-qm", "x", "--no-verify"], cwd=checkout, check=True
    )
    user = tmp_path / "user"
    (user / "specs").mkdir(parents=True)
    shutil.copy2(REPOSITORY / "specs" / "scale-out" / "task.yaml", user / "specs" / "good.yaml")
    (user / "values.yaml").write_text("a: 1\n")
    subprocess.run(["git", "init", "-q"], cwd=user, check=True)
    subprocess.run(["git", "add", "-A"], cwd=user, check=True)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
    }
    environment.pop("PYTHONPATH", None)

    command = [sys.executable, "-m", "pre_commit", "try-repo", str(checkout), "devops-bench-lint"]

    def try_repo() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "--all-files", "--color=never", "--verbose"],
            cwd=user,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )

    done = try_repo()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 spec: nothing found (1 other YAML file skipped)" in done.stdout

    text = (user / "specs" / "good.yaml").read_text()
    (user / "specs" / "good.yaml").write_text(
        text.replace("path: spec.replicas", "path: spec.copies")
    )
    # So many files that they would be shared out; two have one id, which needs one process.
    shutil.copy2(user / "specs" / "good.yaml", user / "specs" / "again.yaml")
    for number in range(20):
        (user / f"values-{number}.yaml").write_text("a: 1\n")
    subprocess.run(["git", "add", "-A"], cwd=user, check=True)
    done = try_repo()
    assert done.returncode == 1
    assert "DB101" in done.stdout
    assert "DB007" in done.stdout
    assert "21 other YAML files skipped" in done.stdout
