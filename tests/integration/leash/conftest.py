from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.harness import Plane
from tests.integration.leash.yard import Yard


@pytest.fixture
def audit_log(plane: Plane) -> Path | None:
    """The audit log of the shared cluster, where we started it ourselves."""
    if plane.provider != "local":
        return None
    found = plane.kubeconfig.resolve().parent / "logs" / "audit.log"
    assert found.is_file()
    return found


@pytest.fixture
def yard(plane: Plane, namespace_name: str, tmp_path: Path, audit_log: Path | None) -> Yard:
    """Tasks with a namespace of their own."""
    return Yard(plane, namespace_name, tmp_path, audit_log)
