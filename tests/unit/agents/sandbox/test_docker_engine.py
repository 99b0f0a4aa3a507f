"""Programs in containers of a real engine: what they have, how they end, what is left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentStatus, AgentTurn
from devops_bench.agents.process import (
    AgentProgram,
    agent_home,
    run_agent_program,
    run_program_for_turn,
)
from devops_bench.agents.sandbox.availability import require
from devops_bench.agents.sandbox.options import Endpoint, SandboxOptions
from devops_bench.clusters import leftovers
from devops_bench.core.containers import LABEL, DockerClient
from devops_bench.core.errors import AgentError, InvalidInputError
from tests.unit.agents.sandbox.engine import OPENED
from tests.unit.agents.sandbox.test_bwrap import answering, run
from tests.unit.core.programs import wait_for

MakeTurn = Callable[..., AgentTurn]

pytestmark = pytest.mark.docker


@pytest.fixture
def sandboxed(make_turn: MakeTurn, docker_image: str) -> MakeTurn:
    def make(**fields: object) -> AgentTurn:
        options = {k: fields.pop(k) for k in ("allowed", "hidden") if k in fields}
        readable = (*OPENED, *fields.pop("readable", ()))  # type: ignore[misc]
        sandbox = SandboxOptions("docker", readable=readable, image=docker_image, **options)  # type: ignore[arg-type]
        return make_turn(sandbox=sandbox, **{"kubeconfig": None, **fields})

    return make


def containers() -> set[str]:
    return set(DockerClient.find().ask("ps", "-aq", "--filter", f"label={LABEL}").split())


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVOPS_BENCH_STATE", str(tmp_path / "state"))


class TestSight:
    def test_it_has_the_image_its_home_its_folder_and_its_kubectl(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "kubectl").write_text("#!/bin/sh\necho of the plane\n")
        (tmp_path / "bin" / "kubectl").chmod(0o755)
        turn = sandboxed(path_prefix=(tmp_path / "bin",))
        script = "pwd; echo ~; kubectl; id -un; cat /etc/of-the-image; touch ~/x x; echo $PATH"
        result, said = run(turn, script)
        assert said.splitlines() == [
            *("/agent/workspace", "/agent/home", "of the plane", "agent", "here"),
            "/agent/bin/0:/usr/bin:/of/the/image",
        ]
        made = turn.work_dir / "x"
        assert (made.stat().st_uid, made.stat().st_gid) == (os.getuid(), os.getgid())
        assert result.sandbox is not None
        assert result.sandbox.state == "docker"
        assert result.sandbox.image is not None
        assert "sha256:" in result.sandbox.image

    def test_nothing_but_its_folders_can_be_written(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "docs").mkdir()
        turn = sandboxed(readable=(tmp_path / "docs",))
        places = f"/ /etc /agent /agent/bin/own {tmp_path}/docs"
        _, said = run(turn, f"for d in {places}; do touch $d/x && echo wrote $d; done")
        assert "wrote" not in said
        assert not list((tmp_path / "docs").iterdir())

    def test_the_environment_is_its_own_and_the_images(
        self, sandboxed: MakeTurn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HARNESS_SECRET", "ours")
        monkeypatch.setenv("HTTPS_PROXY", "http://ours")
        turn = sandboxed(environment={"KEY": "two\nlines", "DOCKER_API_VERSION": ""})
        _, said = run(turn, "env")
        assert "KEY=two\nlines\n" in said
        assert "FROM_IMAGE=yes\n" in said
        assert "ours" not in said
        assert "DOCKER_HOST" not in said

    def test_what_was_opened_can_be_read_and_what_is_hidden_in_it_cannot(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "docs and more" / "answers").mkdir(parents=True)
        (tmp_path / "docs and more" / "page").write_text("a page")
        (tmp_path / "docs and more" / "answers" / "key").write_text("the answer")
        docs = tmp_path / "docs and more"
        turn = sandboxed(readable=(docs,), hidden=(docs / "answers",))
        _, said = run(turn, f"cat '{docs}/page' '{docs}/answers/key'")
        assert "a page" in said
        assert "the answer" not in said

    def test_a_program_that_the_image_does_not_have_is_refused(self, sandboxed: MakeTurn) -> None:
        turn = sandboxed()
        with agent_home(turn) as home, pytest.raises(AgentError, match="'no-such-program' could"):
            run_agent_program(["no-such-program"], turn, home)

    def test_an_image_that_is_not_there_is_refused_before_anything(self, docker_image: str) -> None:
        require(SandboxOptions("docker", image=docker_image))
        with pytest.raises(InvalidInputError, match="docker pull no-such-image:1"):
            require(SandboxOptions("docker", image="no-such-image:1"))


class TestReach:
    def test_an_allowed_host_is_reached_by_its_name_and_nothing_else_is(
        self, sandboxed: MakeTurn
    ) -> None:
        with answering("127.0.0.1", b"hello") as port, answering("127.0.0.1", b"other") as other:
            turn = sandboxed(allowed=(Endpoint("localhost", port),))
            script = (
                f"cat < /dev/tcp/localhost/{port}; cat < /dev/tcp/127.0.0.1/{other};"
                "cat < /dev/tcp/192.0.2.1/80; getent hosts kubernetes.io && echo resolved"
            )
            result, said = run(turn, script)
        assert said.startswith("hello")
        assert "other" not in said.replace("other side", "")
        assert "resolved" not in said
        assert result.sandbox is not None
        assert result.sandbox.reachable == (f"localhost:{port}",)
        assert result.sandbox.connections == ((f"localhost:{port}", 1),)

    def test_an_address_and_a_low_port_are_doors_too(self, sandboxed: MakeTurn) -> None:
        """Nobody is behind them: what counts is that somebody listens there, and closes."""
        doors = (Endpoint("192.0.2.7", 443), Endpoint("192.0.2.8", 6443))
        script = (
            "exec 3<>/dev/tcp/192.0.2.7/443 && exec 4<>/dev/tcp/192.0.2.8/6443 && echo both;"
            "(exec 5<>/dev/tcp/192.0.2.7/6443) || echo no more"
        )
        result, said = run(sandboxed(allowed=doors), script)
        assert said.startswith("both")
        assert "no more" in said
        assert result.status is AgentStatus.COMPLETED

    def test_the_api_server_is_reached_at_the_address_that_it_has(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        with answering("127.0.0.1", b"api") as port:
            (tmp_path / "k").write_text(
                f"clusters: [{{cluster: {{server: 'https://127.0.0.1:{port}'}}}}]"
            )
            _, said = run(sandboxed(kubeconfig=tmp_path / "k"), f"cat < /dev/tcp/127.0.0.1/{port}")
        assert said == "api"


class TestEnds:
    @pytest.mark.parametrize("code", [9, 125, 127])
    def test_its_exit_code_is_told_also_those_of_the_client(
        self, sandboxed: MakeTurn, code: int
    ) -> None:
        before = containers()
        result, _ = run(sandboxed(), f"exit {code}")
        assert (result.status, result.exit_code) == (AgentStatus.FAILED, code)
        assert containers() == before

    def test_a_shell_gets_the_terminal(self, sandboxed: MakeTurn) -> None:
        ours, theirs = os.openpty()
        turn = sandboxed()
        os.write(ours, b"tty > which; exit 4\n")
        try:
            with agent_home(turn) as home:
                program = AgentProgram(["bash", "-i"], terminal=theirs)
                result = run_program_for_turn(program, turn, home)
        finally:
            os.close(ours)
            os.close(theirs)
        assert result.exit_code == 4
        assert (turn.work_dir / "which").read_text().startswith("/dev/pts/")

    def test_it_ends_at_its_deadline_having_been_asked_to(self, sandboxed: MakeTurn) -> None:
        before = containers()
        script = "trap 'echo asked; exit 3' TERM; sleep 99 & wait"
        result, said = run(sandboxed(timeout_sec=2.0), script)
        assert result.status is AgentStatus.TIMED_OUT
        assert said == "asked\n"
        assert containers() == before

    def test_one_that_ignores_it_is_ended_and_nothing_of_it_runs(self, sandboxed: MakeTurn) -> None:
        before = containers()
        script = "trap '' TERM; setsid sleep 99 & sleep 99 & wait"
        result, _ = run(sandboxed(timeout_sec=2.0), script)
        assert (result.status, result.exit_code) == (AgentStatus.TIMED_OUT, 137)
        assert containers() == before

    def test_it_ends_when_the_run_is_interrupted(self, sandboxed: MakeTurn) -> None:
        before = containers()
        turn = sandboxed()
        turn.cancel.set()
        assert run(turn, "sleep 99")[0].status is AgentStatus.CANCELLED
        assert containers() == before

    def test_what_a_killed_command_left_is_removed_by_the_next_one(
        self, docker_image: str, tmp_path: Path
    ) -> None:
        before = containers()
        (tmp_path / "work").mkdir()
        code = f"""
import threading
from pathlib import Path
from devops_bench.agents.base import AgentTurn
from devops_bench.agents.process import agent_home, run_agent_program
from devops_bench.agents.sandbox.options import SandboxOptions
folder = Path({str(tmp_path)!r})
options = SandboxOptions("docker", readable=tuple(map(Path, {[*map(str, OPENED)]!r})),
                         image={docker_image!r})
turn = AgentTurn("p", None, folder / "work", folder, 90, threading.Event(), sandbox=options)
with agent_home(turn) as home:
    run_agent_program(["bash", "-c", "kill_me=1; touch up; sleep 99"], turn, home)
"""
        killed = subprocess.Popen([sys.executable, "-c", code])
        up = tmp_path / "work" / "up"
        wait_for(lambda: up.exists() or killed.poll() is not None, "the agent's first words")
        killed.kill()
        killed.wait()
        assert len(containers() - before) >= 1
        said = "\n".join(leftovers.sweep())
        assert "container(s) of that run were removed" in said
        assert containers() == before
        assert leftovers.sweep() == []


def test_a_daemon_that_does_not_answer_is_told_and_not_only_a_missing_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(InvalidInputError, match="--sandbox docker is not available"):
        require(SandboxOptions("docker", image="x"))
