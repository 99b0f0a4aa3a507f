"""A machine of its own for every test: no binaries, no cache, no planes, a PATH with nothing."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from devops_bench.core.identity import ProcessIdentity
from tests.unit.clusters.standins import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Folders of this test alone, and a PATH that only holds what the test puts there."""
    made = Machine(tmp_path)
    monkeypatch.setenv("DEVOPS_BENCH_CACHE", str(made.cache))
    monkeypatch.setenv("DEVOPS_BENCH_STATE", str(made.state))
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("PATH", str(made.path))
    for name in ("KUBEBUILDER_ASSETS", "XDG_DATA_HOME", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    return made


def wait_until_gone(identity: ProcessIdentity, timeout_sec: float = 20.0) -> bool:
    """Wait on the kernel's word that a process ended; returns whether it did."""
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return True
    try:
        if not identity.alive:
            return True
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(timeout_sec * 1000))
    finally:
        os.close(handle)
