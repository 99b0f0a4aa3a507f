from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.clusters.local import LocalProvider
from tests.integration.harness import Plane
from tests.integration.leash.yard import Yard


@pytest.fixture(scope="module")
def plane(plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane that nobody else uses: others with its credentials are a finding here."""
    if plane.provider != "local":
        yield plane
        return
    folder = tmp_path_factory.mktemp("plane")
    with LocalProvider().provide("leash", folder) as cluster:
        yield replace(plane, kubeconfig=cluster.kubeconfig)


@pytest.fixture
def audit_log(plane: Plane) -> Path | None:
    """The audit log of the cluster, where we started it ourselves."""
    if plane.provider != "local":
        return None
    found = plane.kubeconfig.resolve().parent / "logs" / "audit.log"
    assert found.is_file()
    return found


@pytest.fixture
def yard(plane: Plane, namespace_name: str, tmp_path: Path, audit_log: Path | None) -> Yard:
    """Tasks with a namespace of their own."""
    return Yard(plane, namespace_name, tmp_path, audit_log)
