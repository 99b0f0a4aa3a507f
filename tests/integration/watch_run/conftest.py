from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.watch.control_plane import ControlPlane
from tests.integration.watch.observing import bench
from tests.integration.watch_run.arena import Arena


@pytest.fixture(scope="module")
def own_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that the tests of one file may do anything to."""
    plane = ControlPlane(tmp_path_factory.mktemp("plane"))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def arena(own_plane: ControlPlane, tmp_path: Path) -> Iterator[Arena]:
    """A namespace, and whole tasks that reach the server through a proxy."""
    with bench(own_plane, tmp_path) as made:
        yield Arena(made, tmp_path)
