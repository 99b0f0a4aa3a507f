"""Starting bash scripts as programs, and waiting for what they do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from devops_bench.core.process import ProcessResult, Program, run_program


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until ``condition`` holds; fail after 20 s."""
    deadline = time.monotonic() + 20
    tick = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        tick.wait(0.02)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def pids_in(folder: Path) -> list[int]:
    return [int(file.read_text()) for file in sorted(folder.glob("pid.*")) if file.read_text()]


class SetWhen(threading.Event):
    """An event that counts as set once a condition holds."""

    def __init__(self, condition: Callable[[], bool]) -> None:
        super().__init__()
        self._condition = condition

    def is_set(self) -> bool:
        return self._condition()


def program(tmp_path: Path, script: str, **options: object) -> Program:
    fields: dict[str, object] = {
        "argv": ["bash", "-c", script],
        "cwd": tmp_path,
        "env": {"PATH": os.environ["PATH"]},
        "stdout": tmp_path / "stdout",
        "stderr": tmp_path / "stderr",
        "grace_sec": 0.3,
        **options,
    }
    return Program(**fields)  # type: ignore[arg-type]


def run(
    tmp_path: Path, script: str, *, timeout_sec: float = 60, **options: object
) -> ProcessResult:
    return run_program(program(tmp_path, script, **options), timeout_sec=timeout_sec)
