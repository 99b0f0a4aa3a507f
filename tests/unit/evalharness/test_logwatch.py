"""On Linux as root it runs on the real fanotify; elsewhere it must say that it saw nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.evalharness.logwatch import LogWatch

SERVER = """
import sys
with open(sys.argv[1], "a") as log:
    while sys.stdin.readline():
        print("a line", file=log, flush=True)
        print(flush=True)
"""


class Server:
    """A process that has a log open and appends to it."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.write()

    def write(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "audit.log")
    with made.process:
        yield made
        made.process.communicate()


def elsewhere(code: str, log: Path) -> None:
    # In a session of its own: it need be no process of the agent, nor one of ours.
    command = [sys.executable, "-c", f"import os; log = {str(log)!r}; {code}"]
    subprocess.run(command, check=True, start_new_session=True)


@pytest.mark.parametrize(
    "code",
    [
        "os.truncate(log, 7)",
        "open(log, 'a').write('forged')",
        "os.pwrite(os.open(log, os.O_WRONLY), b'x', 0)",
    ],
)
def test_whoever_changes_it_is_seen(code: str, server: Server) -> None:
    watch = LogWatch(server.log, [server.process.pid])
    watch.start()
    server.write()
    elsewhere(code, server.log)
    server.write()
    changed = watch.stop()
    if watch.why_not is not None:
        assert changed == []
        assert os.geteuid() != 0 or "fanotify" in watch.why_not
        return
    (text,) = changed
    assert text.endswith(f" changed {server.log}")


def test_its_writer_and_readers_are_not(server: Server) -> None:
    watch = LogWatch(server.log, [server.process.pid])
    watch.start()
    server.write()
    elsewhere("open(log).read()", server.log)
    assert watch.stop() == []
    assert watch.stop() == []


def test_what_cannot_be_watched_is_no_silence(tmp_path: Path) -> None:
    watch = LogWatch(tmp_path / "missing", [])
    assert watch.why_not
    watch.start()
    assert watch.why_not
    assert watch.stop() == []
