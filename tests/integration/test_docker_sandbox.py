"""A spec on a real API server, its agent in containers of a real engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.agents.sandbox.availability import docker_availability
from devops_bench.core.containers import DockerClient
from tests.integration.harness import SPECS, Cli, Finished, Plane
from tests.unit.agents.llm.server import Step, serving
from tests.unit.agents.sandbox import engine

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def image() -> str:
    found = docker_availability()
    if not found.available:
        pytest.fail(f"these tests need a Docker daemon: {found.detail}")
    return engine.make_image(DockerClient.find())


def run(cli: Cli, plane: Plane, namespace: str, image: str, *words: str) -> Finished:
    opened = [word for path in engine.OPENED for word in ("--sandbox-read", str(path))]
    return cli.run(
        "run",
        *("--spec", SPECS / "scale-out"),
        *("--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace}"),
        *("--sandbox", "docker", "--sandbox-image", image, *opened),
        *words,
        env={"PATH": f"{plane.kubectl.parent}:{os.environ['PATH']}"},
    )


def passed_in_the_sandbox(done: Finished) -> None:
    assert done.code == 0, str(done)
    agent = done.task().agent
    assert agent is not None
    assert agent.status == "completed"
    assert agent.sandbox is not None
    assert agent.sandbox.state == "docker"
    shown = agent.sandbox.image or ""
    assert "sha256:" in shown
    assert shown in done.stdout
    assert sum(agent.sandbox.connections.values()) > 0


def work(namespace: str) -> str:
    return (
        f"kubectl -n {namespace} scale deployment/frontend --replicas=8 &&"
        f" kubectl -n {namespace} rollout status deployment/frontend --timeout=60s"
    )


def test_the_specs_own_oracle(cli: Cli, plane: Plane, namespace_name: str, image: str) -> None:
    passed_in_the_sandbox(run(cli, plane, namespace_name, image, "--agent", "oracle"))


def test_a_script_of_this_machine(
    cli: Cli, plane: Plane, namespace_name: str, image: str, tmp_path: Path
) -> None:
    script = tmp_path / "agent.sh"
    script.write_text(work(namespace_name))
    done = run(cli, plane, namespace_name, image, "--agent", "script", str(script))
    passed_in_the_sandbox(done)


def test_a_command_of_the_image(cli: Cli, plane: Plane, namespace_name: str, image: str) -> None:
    words = ("--agent", "command", "--", "bash", "-c", work(namespace_name))
    passed_in_the_sandbox(run(cli, plane, namespace_name, image, *words))


def test_a_model_whose_tools_are_in_containers(
    cli: Cli, plane: Plane, namespace_name: str, image: str
) -> None:
    scale = f"-n {namespace_name} scale deployment/frontend --replicas=8"
    watch = f"kubectl -n {namespace_name} rollout status deployment/frontend --timeout=60s"
    with serving(
        Step(calls=(("kubectl", {"arguments": scale}),)),
        Step(calls=(("bash", {"command": watch}),)),
        Step(text="There are eight."),
    ) as server:
        words = ("--agent", "llm", "--", "--model", "local", "--base-url", server.url)
        passed_in_the_sandbox(run(cli, plane, namespace_name, image, *words))


def test_an_agent_that_is_not_in_the_image_is_an_error_and_no_failure(
    cli: Cli, plane: Plane, namespace_name: str, image: str
) -> None:
    words = ("--agent", "command", "--", "no-such-cli")
    done = run(cli, plane, namespace_name, image, *words)
    assert done.code == 3, str(done)
    assert "'no-such-cli' could not be started: it is not in" in done.stdout
