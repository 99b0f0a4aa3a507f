"""Nothing that is supervised outlives its owner, however the owner goes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.clusters.supervision import Program, Supervised
from devops_bench.core.errors import ClusterError
from devops_bench.core.identity import ProcessIdentity
from tests.unit.clusters.conftest import wait_until_gone

OWNER = """
import json, sys
from pathlib import Path
from devops_bench.clusters.supervision import Program, Supervised
folder = Path(sys.argv[1])
owned = Supervised(folder / "supervisor.log")
started = [
    owned.start(Program(name, ["sleep", "600"], folder / "log", folder, {"PATH": "/usr/bin:/bin"}))
    for name in ("one", "two")
]
if sys.argv[2] == "detach":
    owned.detach()
identities = [owned.identity, *started]
print(json.dumps([[item.pid, item.started] for item in identities]), flush=True)
sys.stdin.readline()
"""


def sleeper(folder: Path, name: str = "sleeper", *command: str) -> Program:
    environment = {"PATH": "/usr/bin:/bin"}
    return Program(name, command or ("sleep", "600"), folder / f"{name}.log", folder, environment)


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    owned = Supervised(tmp_path / "supervisor.log")
    yield owned
    owned.stop()


def started(supervised: Supervised, program: Program) -> ProcessIdentity:
    identity = supervised.start(program)
    assert identity is not None
    return identity


class Owner:
    """A process that owns a supervisor with two processes below it."""

    def __init__(self, folder: Path, how: str = "own") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(folder), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        items = json.loads(self.process.stdout.readline())
        self.supervisor, *self.children = [ProcessIdentity(pid, start) for pid, start in items]

    def wait(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def test_stopping_ends_everything(tmp_path: Path) -> None:
    owned = Supervised(tmp_path / "supervisor.log")
    children = [started(owned, sleeper(tmp_path, name)) for name in ("one", "two")]
    assert all(child.alive for child in children)

    assert owned.stop()

    assert not owned.identity.alive
    assert not any(child.alive for child in children)
    assert owned.stop()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_end_of_the_owner_ends_everything(tmp_path: Path, sent: signal.Signals) -> None:
    owner = Owner(tmp_path)
    assert all(child.alive for child in owner.children)

    owner.process.send_signal(sent)

    assert all(wait_until_gone(child) for child in owner.children)
    assert wait_until_gone(owner.supervisor)
    owner.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="parent death signals are Linux's")
def test_the_kill_of_the_supervisor_ends_everything_below_it(tmp_path: Path) -> None:
    owner = Owner(tmp_path)

    assert owner.supervisor.end(signal.SIGKILL, 20.0)

    assert all(wait_until_gone(child) for child in owner.children)
    owner.wait()


def test_what_is_detached_outlives_the_owner_until_it_is_ended(tmp_path: Path) -> None:
    owner = Owner(tmp_path, "detach")

    owner.process.kill()
    owner.wait()

    assert owner.supervisor.alive
    assert all(child.alive for child in owner.children)
    assert owner.supervisor.end(signal.SIGTERM, 20.0)
    assert not any(child.alive for child in owner.children)


def test_an_owner_does_not_lend_the_pipe_to_its_other_children(tmp_path: Path) -> None:
    """An agent that outlived the run would otherwise keep the whole plane alive."""
    owned = Supervised(tmp_path / "supervisor.log")
    child = started(owned, sleeper(tmp_path))
    with subprocess.Popen(["sleep", "600"], close_fds=False) as bystander:
        assert owned.stop()
        assert not child.alive
        bystander.kill()


def test_a_process_that_ends_by_itself_is_told(tmp_path: Path, supervised: Supervised) -> None:
    other = started(supervised, sleeper(tmp_path))
    ended = supervised.start(sleeper(tmp_path, "short", "sh", "-c", "echo bye; exit 7"))
    if ended is not None:
        assert wait_until_gone(ended)
    # The answer to a later command comes after the news of the earlier end.
    supervised.start(sleeper(tmp_path, "later"))
    supervised.start(sleeper(tmp_path, "last"))

    assert supervised.exited() == {"short": 7}
    assert (tmp_path / "short.log").read_text() == "bye\n"
    assert other.alive


def test_a_process_can_be_started_again(tmp_path: Path, supervised: Supervised) -> None:
    first = started(supervised, sleeper(tmp_path))
    assert first.end(signal.SIGKILL, 20.0)

    second = started(supervised, sleeper(tmp_path))

    assert second.alive
    assert supervised.exited() == {}


def test_a_process_that_runs_is_not_started_twice(tmp_path: Path, supervised: Supervised) -> None:
    first = started(supervised, sleeper(tmp_path))

    with pytest.raises(ClusterError, match="it runs already"):
        supervised.start(sleeper(tmp_path))

    assert first.alive


def test_a_program_that_is_not_there_is_named(tmp_path: Path, supervised: Supervised) -> None:
    with pytest.raises(ClusterError, match=r"nothing could not be started: .*No such file"):
        supervised.start(sleeper(tmp_path, "nothing", "/nonexistent/program"))


def test_a_supervisor_that_is_gone_is_an_error(tmp_path: Path, supervised: Supervised) -> None:
    assert supervised.identity.end(signal.SIGKILL, 20.0)

    with pytest.raises(ClusterError, match="supervisor"):
        supervised.start(sleeper(tmp_path))


def test_children_get_their_own_environment_only(
    tmp_path: Path, supervised: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    printed = supervised.start(sleeper(tmp_path, "printer", "/usr/bin/env"))
    if printed is not None:
        assert wait_until_gone(printed)

    assert (tmp_path / "printer.log").read_text().splitlines() == ["PATH=/usr/bin:/bin"]
    assert (tmp_path / "printer.log").stat().st_mode & 0o777 == 0o600
