"""Planes of these tests' own: what is tested here is the providing itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.clusters import binaries, plane
from devops_bench.clusters.components import PlaneOptions
from devops_bench.clusters.dirs import STATE_VARIABLE
from devops_bench.clusters.plane import Plane
from devops_bench.clusters.state import Kind

LOCAL_ONLY = pytest.mark.skipif(
    (os.environ.get("PROVIDER") or "local") != "local",
    reason="the local provider is tested with PROVIDER=local only",
)

LEASE_SEC = 4
GRACE_SEC = 8  # enough for a busy machine, where a renewal may come seconds late
SHORT_GRACE = PlaneOptions(
    node_lease_sec=LEASE_SEC,
    node_grace_sec=GRACE_SEC,
    extra_args={"kube-controller-manager": ("--node-monitor-period=500ms",)},
)
"""A node that is not ready after 8 s without a lease, which is renewed about once a second."""


class Kubectl:
    """The plane's own kubectl, with nothing of this machine's configuration."""

    def __init__(self, running: Plane) -> None:
        self._command = [str(running.bin_dir / "kubectl"), f"--kubeconfig={running.kubeconfig}"]
        self._env = {"PATH": "/usr/bin:/bin", "HOME": str(running.folder)}

    def __call__(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        done = subprocess.run(
            [*self._command, *arguments],
            env=self._env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if done.returncode == 0 else done.stderr

    def watch(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a ``kubectl get --watch``; its lines come as the server sends them."""
        return subprocess.Popen(
            [*self._command, "get", "--watch", *arguments],
            env=self._env,
            stdout=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state of this module's planes, apart from the user's own."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_VARIABLE, str(folder))
        yield folder


@pytest.fixture(scope="module")
def own_plane(state_folder: Path) -> Iterator[Plane]:
    """A plane of this module, with a short patience for its node."""
    running = plane.start("own", Kind.RUN, binaries.find_or_build(print), SHORT_GRACE)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def kubectl(own_plane: Plane) -> Kubectl:
    return Kubectl(own_plane)
