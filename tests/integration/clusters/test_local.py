"""A run's plane ends with its run, however it ends; `cluster up`'s lives until `cluster down`."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.clusters import local, state
from devops_bench.clusters.dirs import STATE_VARIABLE
from devops_bench.clusters.local import LocalProvider
from devops_bench.core.identity import ProcessIdentity
from tests.integration.clusters.conftest import LOCAL_ONLY
from tests.integration.harness import PROGRAM

pytestmark = LOCAL_ONLY

RUN = """
import sys
from pathlib import Path
from devops_bench.clusters.local import LocalProvider
with LocalProvider().provide("killed", Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


def gone(identity: ProcessIdentity) -> bool:
    """Wait on the kernel's word that a process ended; returns whether it did."""
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return not identity.alive or bool(poll.poll(20_000))
    finally:
        os.close(handle)


def processes(known: state.PlaneState) -> list[ProcessIdentity]:
    assert known.supervisor is not None
    return [known.supervisor, *known.components.values()]


def test_it_provides_a_cluster_and_removes_it(tmp_path: Path) -> None:
    said: list[str] = []
    with LocalProvider("because", say=said.append).provide("Run 7/é", tmp_path) as cluster:
        (known,) = state.planes()
        assert known.ready
        assert cluster.name == known.name
        assert cluster.name == "devops-bench-run-7"
        assert cluster.description == f"local control plane {known.version} (because)"
        assert cluster.disposable
        assert cluster.bin_dir is not None
        version = subprocess.run(
            [cluster.bin_dir / "kubectl", f"--kubeconfig={cluster.kubeconfig}", "version"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"Server Version: {cluster.server_version}" in version.stdout

    assert state.names() == []
    assert not any(process.alive for process in processes(known))
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_logs_are_kept_when_the_run_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="the run"),
        LocalProvider(say=print).provide("run", tmp_path),
    ):
        raise RuntimeError("the run failed")

    logs = tmp_path / local.LOGS_FOLDER
    assert {"kube-apiserver.log", "etcd.log", "audit.log"} <= {p.name for p in logs.iterdir()}
    assert state.names() == []


def test_logs_are_kept_when_a_component_died(tmp_path: Path) -> None:
    with LocalProvider(say=print).provide("run", tmp_path):
        (known,) = state.planes()
        assert known.components["kube-scheduler"].end(signal.SIGKILL, 20.0)

    assert (tmp_path / local.LOGS_FOLDER / "kube-scheduler.log").is_file()


def test_a_plane_that_is_kept_becomes_one_of_cluster_up(tmp_path: Path) -> None:
    said: list[str] = []
    with LocalProvider(say=said.append, keep=True).provide("run", tmp_path) as cluster:
        pass

    (known,) = state.planes()
    try:
        assert known.kind is state.Kind.UP
        assert all(process.alive for process in processes(known))
        assert f"cluster down {cluster.name}" in said[-1]
    finally:
        state.remove(known)
    assert not any(process.alive for process in processes(known))


@pytest.mark.parametrize("target", ["run", "supervisor", "both"])
def test_killed_runs_leave_no_process_and_the_next_command_clears_the_rest(
    tmp_path: Path, target: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        (known,) = state.planes()
        everything = processes(known)
        assert len(everything) == 6
        assert all(process.alive for process in everything)

        if target in {"supervisor", "both"}:
            everything[0].end(signal.SIGKILL, 20.0)
        if target in {"run", "both"}:
            run.kill()

        assert all(gone(process) for process in everything[1:])
        run.kill()
        run.wait()
        assert gone(everything[0])

    status = cluster("status")
    assert f"cluster {known.name!r} of a run that was killed was left over" in status.stderr
    assert not known.folder.exists()
    assert cluster("status").stderr == ""


def cluster(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [PROGRAM, "cluster", *arguments], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == code, done.stderr
    return done


def test_up_status_kubeconfig_down() -> None:
    path = cluster("up", "shop").stdout.strip()
    known = state.read("shop")
    assert known is not None
    try:
        assert path == str(known.kubeconfig) == cluster("kubeconfig", "shop").stdout.strip()
        assert all(process.alive for process in processes(known))

        again = cluster("up", "--name", "shop")
        assert again.stdout.strip() == path
        assert "is up already" in again.stderr

        assert "current-context" in cluster("kubeconfig", "shop", "--content").stdout
        assert "cluster shop: running" in cluster("status").stdout
        told = json.loads(cluster("status", "--output", "json").stdout)
        assert [(item["name"], item["health"]) for item in told["clusters"]] == [
            ("shop", "running")
        ]
        assert told["binaries"]["versions"]["kube-apiserver"] == known.version

        assert known.components["kwok"].end(signal.SIGKILL, 20.0)
        assert "broken (kwok died" in cluster("status").stdout
        assert "cluster down shop" in cluster("up", "shop", code=3).stderr
    finally:
        ended = cluster("down", "shop")
    assert "ended the cluster shop" in ended.stderr
    assert not any(process.alive for process in processes(known))
    assert not known.folder.exists()
    assert "there is no cluster shop" in cluster("down", "shop").stderr
    assert "there is no cluster 'shop'" in cluster("kubeconfig", "shop", code=2).stderr


def test_a_plane_of_up_whose_supervisor_was_killed_is_a_leftover() -> None:
    cluster("up", "shop")
    known = state.read("shop")
    assert known is not None
    assert known.supervisor is not None
    assert known.supervisor.end(signal.SIGKILL, 20.0)
    assert all(gone(process) for process in known.components.values())

    assert "'shop' of `cluster up` was left over" in cluster("status").stderr
    assert not known.folder.exists()


def test_a_run_in_progress_cannot_be_taken_down(tmp_path: Path) -> None:
    with LocalProvider(say=print).provide("run", tmp_path) as provided:
        refused = cluster("down", provided.name, code=2)
        assert "belongs to a run" in refused.stderr
        cluster("down", "--all")
        (known,) = state.planes()
        assert known.running
