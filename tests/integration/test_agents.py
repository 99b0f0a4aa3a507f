"""One spec, every kind of agent, on a real API server; those that can be are in a sandbox.

The coding CLIs are stand-ins that print what each one documents, and the model is a local server.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from devops_bench.agents import factory  # noqa: F401 - registers them
from devops_bench.agents.base import AGENTS
from devops_bench.agents.presets import model
from devops_bench.agents.presets.model import preset_names
from devops_bench.agents.sandbox.availability import bwrap_availability
from devops_bench.core.files import read_log
from devops_bench.core.json import JsonObject
from tests.integration.harness import SPECS, Cli, Finished, Plane
from tests.unit.agents.llm.server import Step, serving
from tests.unit.agents.presets.documented import CLAUDE, CODEX, GEMINI, OPENCODE, Events

STAND_INS: dict[str, tuple[str, Events]] = {
    "claude-code": ("claude", CLAUDE),
    "codex": ("codex", CODEX),
    "gemini-cli": ("gemini", GEMINI),
    "opencode": ("opencode", OPENCODE),
}


IMAGE = ("--image", "registry.k8s.io/pause:3.10")
CONTAINER_NAME = "/spec/template/spec/containers/0/name"


def preset_file(name: str) -> Path:
    """A preset of the user's own: one of ours."""
    return Path(model.__file__).with_name(f"{name}.toml")


def work(namespace: str) -> str:
    """What solves the spec."""
    return (
        f"kubectl -n {namespace} scale deployment/frontend --replicas=8 &&"
        f" kubectl -n {namespace} rollout status deployment/frontend --timeout=60s"
    )


@pytest.fixture(scope="module", autouse=True)
def _bwrap() -> None:
    found = bwrap_availability()
    if not found.available:
        pytest.fail(f"these tests need bubblewrap: {found.detail}")


def run(
    cli: Cli, plane: Plane, namespace: str, *words: str, env: dict[str, str] | None = None
) -> Finished:
    path = f"{plane.kubectl.parent}:{os.environ['PATH']}"
    return cli.run(
        "run",
        *("--spec", SPECS / "scale-out"),
        *("--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace}"),
        *("--sandbox", "bwrap"),
        *words,
        env={"PATH": path, **(env or {})},
    )


def transcript(done: Finished) -> list[JsonObject]:
    return read_log(done.run_dirs[0] / "scale-out" / "transcript.jsonl")


def passed_in_the_sandbox(done: Finished) -> None:
    assert done.code == 0, str(done)
    agent = done.task().agent
    assert agent is not None
    assert agent.status == "completed"
    assert agent.sandbox is not None
    assert agent.sandbox.state == "bwrap"
    assert sum(agent.sandbox.connections.values()) > 0


def test_no_kind_is_left_out() -> None:
    """Each of them takes the turn of this spec, here or, at a terminal, in test_human.py."""
    of_this_file = {"script", "command", "preset", "llm", "oracle", "control", "noop", "none"}
    assert set(AGENTS.names()) == {*of_this_file, *preset_names(), "human"}


def test_a_command(cli: Cli, plane: Plane, namespace_name: str) -> None:
    words = ("--agent", "command", "--", "sh", "-c", work(namespace_name))
    passed_in_the_sandbox(run(cli, plane, namespace_name, *words))


def test_the_oracle(cli: Cli, plane: Plane, namespace_name: str) -> None:
    passed_in_the_sandbox(run(cli, plane, namespace_name, "--agent", "oracle"))


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("control", "--", "partial"), "completed"),
        (("noop",), "completed"),
    ],
)
def test_a_control_that_must_fail(
    cli: Cli, plane: Plane, namespace_name: str, words: tuple[str, ...], status: str
) -> None:
    short = {"VERIFICATION_TIMEOUT_SEC": "2"}
    done = run(cli, plane, namespace_name, "--agent", *words, env=short)
    assert done.code == 1, str(done)
    result = done.task()
    assert result.status == "failed"
    assert result.agent is not None
    assert result.agent.status == status
    assert result.integrity is not None
    assert not result.contaminated


def test_nobody(cli: Cli, plane: Plane, namespace: str) -> None:
    """What is there is judged, so the spec's own setup is left out."""
    plane.run_kubectl("-n", namespace, "create", "deployment", "frontend", *IMAGE, "--replicas=8")
    renamed = {"op": "replace", "path": CONTAINER_NAME, "value": "frontend"}
    patch = ("--type=json", "--patch", json.dumps([renamed]))
    plane.run_kubectl("-n", namespace, "patch", "deployment", "frontend", *patch)
    plane.run_kubectl("-n", namespace, "rollout", "status", "deployment/frontend")
    done = run(cli, plane, namespace, "--agent", "none")
    assert done.code == 0, str(done)
    assert done.task().access is None


def test_a_script(cli: Cli, plane: Plane, namespace_name: str) -> None:
    script = cli.folder / "agent.sh"
    cli.folder.mkdir(parents=True)
    script.write_text(work(namespace_name))
    done = run(cli, plane, namespace_name, "--agent", "script", str(script))
    passed_in_the_sandbox(done)
    assert any(r["type"] == "output" for r in transcript(done))


@pytest.mark.parametrize("name", [*preset_names(), "preset"])
def test_a_coding_cli(
    cli: Cli, plane: Plane, namespace_name: str, name: str, tmp_path: Path
) -> None:
    command, events = STAND_INS["claude-code" if name == "preset" else name]
    folder = tmp_path / "clis"
    folder.mkdir()
    (folder / "events").write_text("".join(json.dumps(event) + "\n" for event in events))
    (folder / command).write_text(
        f"#!/bin/sh\n{{ {work(namespace_name)}; }} >&2 && cat {folder}/events\n"
    )
    (folder / command).chmod(0o755)
    path = f"{folder}:{plane.kubectl.parent}:{os.environ['PATH']}"
    words: tuple[str, ...] = ("--sandbox-read", str(folder), "--agent", name)
    if name == "preset":
        words += ("--", str(preset_file("claude-code")))
    done = run(cli, plane, namespace_name, *words, env={"PATH": path})
    passed_in_the_sandbox(done)
    agent = done.task().agent
    assert agent is not None
    assert agent.final_text == "Done."
    assert agent.usage is not None
    assert agent.usage.output_tokens == 5


def test_a_model(cli: Cli, plane: Plane, namespace_name: str) -> None:
    scale = f"-n {namespace_name} scale deployment/frontend --replicas=8"
    watch = f"-n {namespace_name} rollout status deployment/frontend --timeout=60s"
    with serving(
        Step(calls=(("kubectl", {"arguments": scale}),)),
        Step(calls=(("kubectl", {"arguments": watch}),)),
        Step(text="There are eight."),
    ) as server:
        words = ("--", "--model", "local", "--base-url", server.url)
        done = run(cli, plane, namespace_name, "--agent", "llm", "--prices", "1,10", *words)
    passed_in_the_sandbox(done)
    agent = done.task().agent
    assert agent is not None
    assert agent.usage is not None
    assert agent.usage.cost_usd == pytest.approx(3 * (100 + 10 * 10) / 1e6)
    assert [r["exit_code"] for r in transcript(done) if r["type"] == "tool_result"] == [0, 0]


def test_without_a_sandbox_it_is_said_what_was_readable(
    cli: Cli, plane: Plane, namespace_name: str
) -> None:
    done = cli.run(
        "run",
        *("--spec", SPECS / "scale-out"),
        *("--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace_name}"),
        *("--agent", "command", "--", shutil.which("true") or "true"),
        env={"VERIFICATION_TIMEOUT_SEC": "2"},
    )
    agent = done.task().agent
    assert agent is not None
    assert agent.sandbox is not None
    assert agent.sandbox.state == "unsandboxed"
    assert {str(SPECS / "scale-out"), str(done.run_dirs[0])} <= set(agent.sandbox.readable)
    assert "unsandboxed" in done.stdout
