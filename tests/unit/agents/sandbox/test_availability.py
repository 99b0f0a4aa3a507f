"""Which sandboxes there are: tried, not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.agents.sandbox.availability import availability, require
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.sandbox.readable import readable_without_sandbox
from devops_bench.agents.sandbox.session import open_session
from devops_bench.core.errors import AgentError, InvalidInputError


def fake(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_without_the_programs_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    details = {one.kind: (one.available, one.detail) for one in availability()}
    assert details["bwrap"][0] is details["docker"][0] is False
    assert "apt install bubblewrap" in details["bwrap"][1]
    with pytest.raises(InvalidInputError, match="--sandbox bwrap is not available"):
        require(SandboxOptions("bwrap"))


def test_a_bubblewrap_that_may_not_make_namespaces_is_not_available(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake(tmp_path, "bwrap", "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InvalidInputError, match="No permissions to create a new namespace"):
        require(SandboxOptions("bwrap"))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'Cannot connect to the daemon' >&2; exit 1", "docker version: Cannot connect"),
        (
            '[ "$1" = version ] && echo 29.0 && exit; echo no disk >&2; exit 1',
            "docker 29.0 answers, but a sandbox cannot be made with it: docker image: no disk",
        ),
    ],
)
def test_a_docker_that_is_of_no_use_is_refused_with_what_it_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, words: str
) -> None:
    """The client is a stand-in that says what Docker's would."""
    fake(tmp_path, "docker", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DEVOPS_BENCH_STATE", str(tmp_path / "state"))
    with pytest.raises(InvalidInputError, match=words):
        require(SandboxOptions("docker", image="some:1"))


def test_docker_needs_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "docker", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    sandbox = open_session(SandboxOptions("docker"), home=tmp_path, work_dir=tmp_path)
    with pytest.raises(AgentError, match="give --sandbox-image IMAGE"), sandbox:
        pass


@pytest.mark.usefixtures("bwrap")
def test_here_it_is_available() -> None:
    require(SandboxOptions("bwrap"))


def test_what_an_agent_could_have_read_is_what_is_readable(tmp_path: Path) -> None:
    home, spec = tmp_path / "home", tmp_path / "spec"
    (home / ".kube").mkdir(parents=True)
    spec.mkdir()
    (home / ".kube" / "config").write_text("")
    (tmp_path / "k").write_text("")
    env = {"HOME": str(home), "KUBECONFIG": f"{tmp_path / 'k'}:{tmp_path / 'gone'}"}
    found = readable_without_sandbox([spec, tmp_path / "nothing"], env)
    assert set(found) >= {str(spec), str(home), str(home / ".kube/config"), str(tmp_path / "k")}
    assert not any("gone" in path or "nothing" in path for path in found)
