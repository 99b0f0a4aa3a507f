"""``verify_script`` in an ordinary run, on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject
from tests.integration.harness import Cli, Plane, write_task

SCRIPT = """\
import os, subprocess, sys
done = subprocess.run([{kubectl!r}, "get", "namespace", {name!r}, "-o", "name"])
tag = "PASS" if done.returncode == 0 else "FAIL"
print(f"[{{tag}}] (2pt) the namespace is there", file=sys.stderr)
sys.exit(done.returncode)
"""


@pytest.mark.parametrize(("name", "status", "code"), [("default", "pass", 0), ("none", "fail", 1)])
@pytest.mark.parametrize("mode", ["assert", "converge"])
def test_a_script_judges_the_cluster(
    cli: Cli, plane: Plane, tmp_path: Path, name: str, status: str, code: int, mode: str
) -> None:
    folder = tmp_path / "spec"
    (folder / "board").mkdir(parents=True)
    script = SCRIPT.format(kubectl=str(plane.kubectl), name=name)
    (folder / "board" / "verify.py").write_text(script)
    entry: JsonObject = {
        "name": "the script passes",
        "role": "objective",
        "mode": mode,
        "check": {"type": "verify_script", "task_dir": "board", "timeout_sec": 10},
    }
    task = write_task(folder, objects=[], entries=[entry])
    done = cli.run(
        "run", "--spec", task, "--kubeconfig", plane.kubeconfig,
        "--agent", "command", "--", "true",
        env={"VERIFICATION_TIMEOUT_SEC": "10"},
    )  # fmt: skip
    row = done.row("the script passes")
    assert (row["status"], done.code) == (status, code), str(done)
    assert "points" in row["reason"] or code == 0
