"""Every command of the README is run, so that none of them is a promise."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.harness import PROGRAM, REPOSITORY, SPECS, Plane
from tests.unit.docs.test_documents import shell_blocks

# What takes minutes on a fresh machine: CI runs it itself, here its recipe is only read.
SLOW = {"make demo": "devops-bench run", "make test": "pytest"}

COMMANDS = [block.splitlines() for block in shell_blocks(REPOSITORY / "README.md") if block.strip()]


def test_slow_commands_are_in_the_readme() -> None:
    assert {command for block in COMMANDS for command in block} >= set(SLOW)


@pytest.mark.parametrize("command", sorted(SLOW))
def test_a_slow_command_has_a_recipe(command: str) -> None:
    target = command.removeprefix("make ")
    done = subprocess.run(
        ["make", "-n", target], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert SLOW[command] in done.stdout


@pytest.mark.parametrize(
    "block",
    [block for block in COMMANDS if not set(block) <= set(SLOW)],
    ids=lambda block: block[0],
)
def test_the_commands_work(block: list[str], plane: Plane, tmp_path: Path) -> None:
    shutil.copytree(SPECS, tmp_path / "specs")
    places = [str(PROGRAM.parent), os.environ["PATH"]]  # no kubectl of one's own is needed
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(places),
        "DEVOPS_BENCH_STATE": str(tmp_path / "state"),
    }
    environment.pop("KUBECONFIG", None)

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(block)],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
    )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
