"""A turn and a task for the agents."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentTurn
from devops_bench.agents.sandbox.availability import bwrap_availability, docker_availability
from devops_bench.core.containers import DockerClient
from devops_bench.tasks.model import Controls, Oracle, Task
from tests.unit.agents.sandbox import engine

PROMPT = "Mend the réplica count, please.\n"


@pytest.fixture
def make_turn(tmp_path: Path) -> Callable[..., AgentTurn]:
    def make(**fields: object) -> AgentTurn:
        kubeconfig = tmp_path / "cluster.kubeconfig"
        kubeconfig.write_text("apiVersion: v1\nkind: Config\n")
        for name in ("work", "output"):
            (tmp_path / name).mkdir(exist_ok=True)
        values: dict[str, object] = {
            "prompt": PROMPT,
            "kubeconfig": kubeconfig,
            "work_dir": tmp_path / "work",
            "output_dir": tmp_path / "output",
            "timeout_sec": 60.0,
            "cancel": threading.Event(),
            **fields,
        }
        return AgentTurn(**values)  # type: ignore[arg-type]

    return make


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[..., Task]:
    def make(oracle: Oracle | None = None, **fields: object) -> Task:
        values: dict[str, object] = {
            "id": "t1",
            "prompt": PROMPT,
            "source": tmp_path / "task.yaml",
            "controls": Controls(oracle=oracle),
            **fields,
        }
        return Task(**values)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def bwrap() -> None:
    """A sandbox for real: where it cannot be had the test fails, and says why."""
    found = bwrap_availability()
    if not found.available:
        pytest.fail(f"this test needs bubblewrap: {found.detail}")


@pytest.fixture(scope="session")
def docker_image() -> str:
    """An image of a real engine: where none answers the test fails, and says why."""
    found = docker_availability()
    if not found.available:
        pytest.fail(f"this test needs a Docker daemon: {found.detail}")
    return engine.make_image(DockerClient.find())
