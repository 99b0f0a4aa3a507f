"""The cluster that the integration tests run on, chosen by ``PROVIDER``; a namespace per test.

``PROVIDER=local`` (the default) starts one control plane for the whole test run, ``kind`` makes one
kind cluster, ``kubeconfig`` uses the cluster of ``$KUBECONFIG``. Workers share it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.conftest import PLANE_NAME, PLANE_STATE, RUN_FOLDER_VARIABLE
from tests.integration.harness import PROGRAM, Cli, Plane, new_namespace

PROVIDER = os.environ.get("PROVIDER") or "local"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def plane() -> Plane:
    """The shared cluster. It ends with the test run (see ``tests/conftest.py``)."""
    folder = Path(os.environ[RUN_FOLDER_VARIABLE])
    with FileLock(folder / "plane.lock"):
        if PROVIDER == "local":
            return _local_plane(folder)
        if PROVIDER == "kind":
            return _kind_plane(folder)
        if PROVIDER == "kubeconfig":
            return _existing_plane()
    raise pytest.UsageError(f"PROVIDER must be local, kind or kubeconfig, not {PROVIDER!r}")


def _local_plane(folder: Path) -> Plane:
    state = folder / PLANE_STATE
    kubeconfig = folder / "kubeconfig"
    if not kubeconfig.exists():
        state.mkdir()
        _devops_bench(state, "cluster", "up", PLANE_NAME)
        path = _devops_bench(state, "cluster", "kubeconfig", PLANE_NAME).strip()
        kubeconfig.symlink_to(path)
    return Plane(kubeconfig, _kubectl(), "local")


def _devops_bench(state: Path, *arguments: str) -> str:
    done = subprocess.run(
        [PROGRAM, *arguments],
        env={**os.environ, "DEVOPS_BENCH_STATE": str(state)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"devops-bench {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def _kubectl() -> Path:
    from devops_bench.clusters.binaries import search

    found = search().found
    assert found is not None, "a plane was started without binaries"
    return found.kubectl


def _kind_plane(folder: Path) -> Plane:
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode
    ):
        pytest.exit("PROVIDER=kind needs a Docker daemon that answers; `docker info` fails", 2)
    if shutil.which("kind") is None:
        pytest.exit("PROVIDER=kind needs the kind binary on PATH", 2)
    kubeconfig = folder / "kubeconfig"
    if not (folder / "kind").exists():
        (folder / "kind").touch()
        subprocess.run(
            ["kind", "create", "cluster", "--name", folder.name.lower(), "--wait", "120s"],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            check=True,
        )
    return Plane(kubeconfig, _kubectl_on_path(), "kind")


def _existing_plane() -> Plane:
    path = os.environ.get("KUBECONFIG", "")
    if not path or os.pathsep in path:
        pytest.exit("PROVIDER=kubeconfig needs KUBECONFIG to name one file", 2)
    return Plane(Path(path), _kubectl_on_path(), "kubeconfig")


def _kubectl_on_path() -> Path:
    found = shutil.which("kubectl")
    if found is None:
        pytest.exit("kubectl is not on PATH", 2)
    return Path(found)


@pytest.fixture
def namespace_name(plane: Plane) -> Iterator[str]:
    """A name for a namespace, deleted after the test if the test (or its run) made it."""
    name = new_namespace()
    yield name
    plane.run_kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")


@pytest.fixture
def namespace(plane: Plane, namespace_name: str) -> str:
    """A new namespace, deleted after the test."""
    plane.run_kubectl("create", "namespace", namespace_name)
    return namespace_name


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line, with its state and results in the test's own folder."""
    return Cli(tmp_path / "cli")
