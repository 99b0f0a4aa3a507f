"""A process is named so that nobody else is ever ended in its place."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from devops_bench.core.identity import ProcessIdentity


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def identity_of(process: subprocess.Popen[bytes]) -> ProcessIdentity:
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    return identity


def test_a_running_process_is_alive_and_an_ended_one_is_not(
    sleeper: subprocess.Popen[bytes],
) -> None:
    identity = identity_of(sleeper)
    assert identity.alive

    assert identity.end(signal.SIGTERM, 20.0)

    # It is a zombie until its parent looks, and a zombie runs nothing.
    assert not identity.alive
    assert ProcessIdentity.of(sleeper.pid) is None
    sleeper.wait()
    assert not identity.alive
    assert identity.end(signal.SIGKILL, 0.0)


def test_a_recycled_process_id_is_never_ended(sleeper: subprocess.Popen[bytes]) -> None:
    recycled = ProcessIdentity(sleeper.pid, "another boot:1")

    assert not recycled.alive
    assert recycled.end(signal.SIGKILL, 0.0)
    assert sleeper.poll() is None
    assert identity_of(sleeper).alive


def test_without_handles_on_processes_it_ends_them_by_number(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    assert ProcessIdentity(sleeper.pid, "another boot:1").end(signal.SIGKILL, 0.0)
    assert sleeper.poll() is None
    assert identity_of(sleeper).end(signal.SIGKILL, 20.0)
    assert sleeper.wait() == -signal.SIGKILL


def test_a_process_that_ignores_the_signal_is_told() -> None:
    script = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"
    with subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()

        assert not identity_of(stubborn).end(signal.SIGTERM, 0.1)
        assert identity_of(stubborn).end(signal.SIGKILL, 20.0)


def test_two_identities_of_one_process_are_equal() -> None:
    assert ProcessIdentity.of(os.getpid()) == ProcessIdentity.of(os.getpid())


def test_a_command_with_parentheses_is_read() -> None:
    with subprocess.Popen(
        ["sh", "-c", "echo ') Z 1 (' > /proc/$$/comm; echo; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as odd:
        assert odd.stdout is not None
        odd.stdout.readline()

        identity = identity_of(odd)

        assert identity.alive
        assert identity.started.rpartition(":")[2].isdigit()
        odd.kill()
