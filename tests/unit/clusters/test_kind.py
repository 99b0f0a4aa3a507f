"""kind's command lines, with stand-ins for kind and docker, and the daemon that is not there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from devops_bench.clusters import kind
from devops_bench.clusters.kind import KindProvider
from devops_bench.core.errors import ClusterError
from devops_bench.core.runtime import runtime_dir
from tests.unit.clusters.api import ApiStandIn
from tests.unit.clusters.standins import Machine, says, stand_in

REAL_DOCKER = shutil.which("docker")


def docker_answers(machine: Machine) -> None:
    stand_in(machine.path / "docker", says("28.0.0"))


def stand_in_kind(machine: Machine, kubeconfig: str = "", *, create: str = "") -> Path:
    """Put a ``kind`` on the PATH that records how it is called and writes a kubeconfig."""
    calls = machine.root / "calls"
    source = machine.root / "kind-kubeconfig"
    source.write_text(kubeconfig)
    stand_in(
        machine.path / "kind",
        f"""
PATH=/usr/bin:/bin
echo "$@" >> {calls}
[ "$1" = create ] || exit 0
{create}
for word in "$@"; do case $word in --kubeconfig=*) cp {source} "${{word#*=}}" ;; esac; done""",
    )
    return calls


def provide(machine: Machine, *, keep: bool = False) -> list[str]:
    """Run a whole provider; returns the description and what it said."""
    run_dir = machine.root / "run"
    run_dir.mkdir(exist_ok=True)
    said: list[str] = []
    provider = KindProvider(say=said.append, keep=keep)
    with provider.provide("Run 1/ä", run_dir) as cluster:
        assert cluster.disposable
        assert cluster.provider == "kind"
        assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600
        assert cluster.kubeconfig.is_relative_to(runtime_dir())
        assert list(run_dir.iterdir()) == [], "results are uploaded: no credentials among them"
        assert os.environ.get("KUBECONFIG") is None
        return [cluster.name, cluster.description, *said]


def test_it_creates_a_cluster_of_its_own_and_deletes_it(machine: Machine) -> None:
    with ApiStandIn(machine.root) as api:
        docker_answers(machine)
        calls = stand_in_kind(machine, api.kubeconfig_text())

        name, description, *_ = provide(machine)

    assert name == "devops-bench-run-1"
    assert description == f"kind cluster {name} v1.36.3 (--provider kind)"
    file = calls.read_text().partition("--kubeconfig=")[2].split()[0]
    assert calls.read_text().splitlines() == [
        f"create cluster --name={name} --kubeconfig={file} --wait=180s",
        f"delete cluster --name={name} --kubeconfig={file}",
    ]


def test_clusters_that_are_kept_do_not_share_a_name(machine: Machine) -> None:
    with ApiStandIn(machine.root) as api:
        docker_answers(machine)
        stand_in_kind(machine, api.kubeconfig_text())
        provider = KindProvider(say=print, keep=True)
        names = []
        for _ in range(3):
            with provider.provide("id", machine.root) as cluster:
                names.append(cluster.name)

    assert names == ["devops-bench-id", "devops-bench-id-2", "devops-bench-id-3"]


def test_what_is_to_be_kept_is_not_deleted(machine: Machine) -> None:
    with ApiStandIn(machine.root) as api:
        docker_answers(machine)
        calls = stand_in_kind(machine, api.kubeconfig_text())

        name, *_ = provide(machine, keep=True)

    assert not any(line.startswith("delete") for line in calls.read_text().splitlines())
    assert name


def test_it_is_deleted_when_the_run_fails(machine: Machine) -> None:
    with ApiStandIn(machine.root) as api:
        docker_answers(machine)
        calls = stand_in_kind(machine, api.kubeconfig_text())
        (machine.root / "run").mkdir()

        with (
            pytest.raises(RuntimeError, match="the run"),
            KindProvider(say=print).provide("r", machine.root / "run"),
        ):
            raise RuntimeError("the run failed")

    assert calls.read_text().splitlines()[-1].startswith("delete cluster")


def test_a_cluster_that_cannot_be_created_is_cleaned_up_and_kind_quoted(machine: Machine) -> None:
    docker_answers(machine)
    calls = stand_in_kind(machine, create="echo 'ERROR: no space left on device' >&2; exit 1")

    with pytest.raises(ClusterError, match=r"`kind create cluster .*failed.*no space left"):
        provide(machine)

    assert calls.read_text().splitlines()[-1].startswith("delete cluster")


@pytest.mark.usefixtures("machine")
def test_without_docker_it_says_so() -> None:
    with pytest.raises(ClusterError, match=r"no `docker` on PATH.*--provider local"):
        kind.require_kind()


def test_a_docker_without_a_daemon_is_no_docker(machine: Machine) -> None:
    stand_in(machine.path / "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    stand_in_kind(machine)

    with pytest.raises(ClusterError, match=r"daemon that answers: .*Cannot connect to the Docker"):
        kind.require_kind()


def test_a_docker_that_exits_well_without_a_server_is_no_docker(machine: Machine) -> None:
    stand_in(machine.path / "docker", "echo; exit 0")
    stand_in_kind(machine)

    with pytest.raises(ClusterError, match="names no server"):
        kind.require_kind()


def test_without_kind_it_says_so(machine: Machine) -> None:
    docker_answers(machine)

    with pytest.raises(ClusterError, match=r"no `kind` on PATH.*https://kind\.sigs\.k8s\.io"):
        kind.require_kind()


@pytest.mark.skipif(
    REAL_DOCKER is None
    or subprocess.run([REAL_DOCKER, "info"], capture_output=True, check=False).returncode == 0,
    reason="needs a real docker whose daemon does not run",
)
def test_the_real_docker_without_its_daemon_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert REAL_DOCKER is not None
    monkeypatch.setenv("PATH", str(Path(REAL_DOCKER).parent))

    with pytest.raises(ClusterError, match="kind needs a Docker daemon that answers"):
        kind.require_kind()
