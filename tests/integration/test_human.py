"""A person at a terminal: ``--agent human`` on a real API server, through a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from devops_bench.agents.sandbox.availability import bwrap_availability
from devops_bench.core.files import read_log
from devops_bench.results.model import TaskResult
from devops_bench.results.writer import read_result
from tests.integration.harness import (
    PROGRAM,
    Cli,
    Plane,
    namespace_object,
    processes_that_mention,
    property_check,
    wait_until,
    write_task,
)

TASK = "by-hand"
READY = "kubectl is set up"

# A session whose controlling terminal is standard input, as a login has it (ioctl_tty(2)).
LOGIN = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass
class Terminal:
    """A terminal, the program that was started on it, and what was shown since the last look."""

    keyboard: int
    device: int
    process: subprocess.Popen[bytes]
    shown: bytes = b""

    def type_after(self, wanted: str, line: str) -> None:
        """Wait until something is shown, then type a line."""
        wait_until(lambda: self._look() and wanted.encode() in self.shown, f"{wanted!r} is shown")
        self.shown = self.shown.partition(wanted.encode())[2]
        os.write(self.keyboard, f"{line}\n".encode())

    def exit_code(self) -> int:
        """Wait for the program's end."""
        wait_until(lambda: self._look() and self.process.poll() is not None, "it has ended", 120)
        return self.process.wait()

    def _look(self) -> bool:
        while select.select([self.keyboard], [], [], 0)[0]:
            self.shown += os.read(self.keyboard, 65536)
        return True


@contextmanager
def terminal(cli: Cli, *words: str | Path) -> Iterator[Terminal]:
    """Start ``devops-bench run`` on a terminal of its own; kill it at the end, should it run."""
    cli.folder.mkdir(parents=True, exist_ok=True)
    keyboard, device = pty.openpty()
    command = [str(PROGRAM), "run", "--results-dir", str(cli.results), *map(str, words)]
    try:
        with subprocess.Popen(
            [sys.executable, "-c", LOGIN, *command],
            cwd=cli.folder,
            env={
                **os.environ,
                "DEVOPS_BENCH_STATE": str(cli.state),
                "TERM": "xterm",
                **cli.environment,
            },
            stdin=device,
            stdout=device,
            stderr=device,
        ) as process:
            try:
                yield Terminal(keyboard, device, process)
            finally:
                if process.poll() is None:
                    process.kill()
    finally:
        os.close(keyboard)
        os.close(device)


@pytest.fixture
def words(plane: Plane, namespace_name: str, tmp_path: Path) -> list[str | Path]:
    """What runs a task in which a ConfigMap is to be made, by somebody who may not read Secrets."""
    spec = write_task(
        tmp_path / TASK,
        objects=[namespace_object(namespace_name)],
        entries=[
            {
                "name": "made",
                "role": "objective",
                "mode": "assert",
                "check": property_check("configmap", "made", namespace_name, op="exists"),
            }
        ],
        access={"preset": "edit", "namespaces": [namespace_name]},
    )
    return ["--spec", spec, "--kubeconfig", plane.kubeconfig, "--agent", "human"]


def result_of(cli: Cli) -> TaskResult:
    (run_dir,) = cli.results.iterdir()
    (result,) = read_result(run_dir).tasks
    return result


def said(cli: Cli) -> str:
    """What the transcript has of the shell's words."""
    (run_dir,) = cli.results.iterdir()
    records = read_log(run_dir / TASK / "transcript.jsonl")
    return "".join(str(record["text"]) for record in records if record["type"] == "output")


@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
def test_the_shell_has_the_agents_access_and_its_exit_ends_the_turn(
    sandbox: str, cli: Cli, plane: Plane, namespace_name: str, words: list[str | Path]
) -> None:
    if sandbox == "bwrap":
        found = bwrap_availability()
        if not found.available:
            pytest.fail(f"this test needs bubblewrap: {found.detail}")
        words += ["--sandbox", "bwrap"]
    cli.environment["PATH"] = f"{plane.kubectl.parent}:{os.environ['PATH']}"

    with terminal(cli, *words) as at:
        before = termios.tcgetattr(at.device)
        at.type_after(READY, "kubectl auth whoami -o jsonpath='{.status.userInfo.username}'; echo")
        at.type_after("system:serviceaccount:devops-bench-", 'echo "config=$KUBECONFIG"')
        at.type_after("config=/", f"kubectl -n {namespace_name} get secrets")
        at.type_after("Forbidden", f"kubectl -n {namespace_name} create configmap made")
        at.type_after("configmap/made created", "exit 0")
        code = at.exit_code()
        after = termios.tcgetattr(at.device)

    result = result_of(cli)
    assert result.status == "passed", result.reason
    assert code == 0
    assert after == before
    agent = result.agent
    assert agent is not None
    assert (agent.name, agent.status, agent.exit_code) == ("human", "completed", 0)
    assert agent.sandbox is not None
    assert agent.sandbox.state == ("bwrap" if sandbox == "bwrap" else "unsandboxed")
    assert result.access is not None
    words_said = said(cli)
    assert result.access.account in words_said
    config = words_said.partition("config=/")[2].split()[0]
    place = "agent/home" if sandbox == "bwrap" else str(cli.state / "runtime")[1:]
    assert config.startswith(place)
    # The credentials are gone with the turn.
    assert [path for path in (cli.state / "runtime").iterdir() if path.is_dir()] == []
    wait_until(lambda: not processes_that_mention(str(cli.state)), "everything has ended")


def test_a_shell_that_is_not_left_ends_with_the_turn(cli: Cli, words: list[str | Path]) -> None:
    with terminal(cli, *words, "--timeout", "3") as at:
        at.type_after(READY, "echo still here; sleep 99")
        code = at.exit_code()

    result = result_of(cli)
    assert result.agent is not None
    assert result.agent.status == "timed_out"
    assert (result.status, code) == ("failed", 1)
    wait_until(lambda: not processes_that_mention(str(cli.state)), "everything has ended")
