"""Programs in a sandbox of bubblewrap: what they have, how they end, what is refused."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.process import agent_home, run_agent_program
from devops_bench.agents.sandbox.bwrap import (
    SHARED_BYTES,
    TMP_BYTES,
    Layout,
    bwrap_options,
    is_visible,
    visible_folders,
)
from devops_bench.agents.sandbox.options import Endpoint, SandboxOptions
from devops_bench.core.errors import AgentError

MakeTurn = Callable[..., AgentTurn]


def run(turn: AgentTurn, script: str, **options: object) -> tuple[AgentResult, str]:
    """Run a bash script in the turn's sandbox; return the result and what it printed."""
    with agent_home(turn) as home:
        result = run_agent_program(["bash", "-c", script], turn, home, **options)  # type: ignore[arg-type]
    said = (turn.output_dir / "agent.stdout").read_text()
    return result, said + (turn.output_dir / "agent.stderr").read_text()


@pytest.fixture
def sandboxed(make_turn: MakeTurn, bwrap: None) -> Callable[..., AgentTurn]:
    def make(**fields: object) -> AgentTurn:
        options = {k: fields.pop(k) for k in ("allowed", "readable", "hidden") if k in fields}
        return make_turn(sandbox=SandboxOptions("bwrap", **options), **fields)  # type: ignore[arg-type]

    return make


@contextlib.contextmanager
def answering(host: str, text: bytes) -> Iterator[int]:
    """Answer every connection with a text, on a free port."""
    with socket.create_server((host, 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):  # the end: the socket was closed
                while True:
                    one, _ = server.accept()
                    with one:
                        one.sendall(text)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


class TestBounds:
    def test_its_folders_in_memory_are_bounded(self, sandboxed: MakeTurn, tmp_path: Path) -> None:
        (tmp_path / "opened" / "ours").mkdir(parents=True)
        turn = sandboxed(readable=(tmp_path / "opened",), hidden=(tmp_path / "opened" / "ours",))
        folders = ["/tmp", "/run", "/dev/shm", str(tmp_path / "opened" / "ours")]
        _, said = run(turn, f"df --output=size -B1 {' '.join(folders)} | tail -n +2")
        small = 1 << 24
        assert [int(line) for line in said.split()] == [TMP_BYTES, small, SHARED_BYTES, small]
        script = "for x in / /dev; do echo x > $x/x || echo no; done; echo x > /dev/shm/x; echo $?"
        _, said = run(turn, f"({script}) 2>/dev/null; echo gone > /dev/null && echo null")
        assert said.split() == ["no", "no", "0", "null"]

    def test_processes_in_it_are_not_counted_and_it_says_no_number(
        self, sandboxed: MakeTurn
    ) -> None:
        script = "trap '' TERM; setsid sleep 100 & sleep 100"
        result, _ = run(sandboxed(timeout_sec=1.0), script)
        assert result.status is AgentStatus.TIMED_OUT
        assert result.leftover_processes is None
        assert "left behind" not in result.reason


class TestSight:
    def test_it_has_its_home_its_folder_and_its_kubectl(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "kubectl").write_text("#!/bin/sh\necho of the plane\n")
        (tmp_path / "bin" / "kubectl").chmod(0o755)
        turn = sandboxed(path_prefix=(tmp_path / "bin",), kubeconfig=None)
        result, said = run(turn, "pwd; echo ~; kubectl; id -un; touch ~/x x; ls -A /agent; mktemp")
        assert said.split("\n")[:4] == [
            "/agent/workspace",
            "/agent/home",
            "of the plane",
            "agent",
        ]
        assert "/agent/home/tmp/" in said
        assert (turn.work_dir / "x").exists()
        assert result.sandbox is not None
        assert result.sandbox.state == "bwrap"

    def test_a_kubectl_of_the_users_comes_along_and_nothing_beside_it(
        self, sandboxed: MakeTurn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "secret").write_text("x")
        (tmp_path / "mine" / "kubectl").write_text("#!/bin/sh\necho of the user\n")
        (tmp_path / "mine" / "kubectl").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'mine'}:/usr/bin:/bin")
        _, said = run(sandboxed(kubeconfig=None), "kubectl; ls /agent/bin/own")
        assert said == "of the user\nkubectl\n"

    def test_nothing_but_its_folders_can_be_written(self, sandboxed: MakeTurn) -> None:
        turn = sandboxed(kubeconfig=None)
        _, said = run(
            turn, "for d in /usr/bin /etc /agent/bin; do touch $d/x && echo wrote $d; done"
        )
        assert "wrote" not in said

    def test_the_environment_is_its_own(
        self, sandboxed: MakeTurn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("PATH", f"{tmp_path}/mine:{os.environ['PATH']}")
        turn = sandboxed(kubeconfig=None, environment={"KEY": "value"})
        _, said = run(turn, "env")
        assert "KEY=value\n" in said
        assert str(tmp_path) not in said

    def test_what_was_opened_can_be_read_and_what_is_hidden_in_it_cannot(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "docs" / "answers").mkdir(parents=True)
        (tmp_path / "docs" / "page").write_text("a page")
        (tmp_path / "docs" / "answers" / "key").write_text("the answer")
        turn = sandboxed(
            kubeconfig=None,
            readable=(tmp_path / "docs",),
            hidden=(tmp_path / "docs" / "answers",),
        )
        result, said = run(turn, f"cat {tmp_path}/docs/page {tmp_path}/docs/answers/key")
        assert "a page" in said
        assert "the answer" not in said
        assert result.sandbox is not None
        assert result.sandbox.readable == (str(tmp_path / "docs"),)

    def test_what_was_opened_below_a_hidden_folder_is_all_that_is_seen_of_it(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        state = tmp_path / "state"
        for name in ("admin", "mine"):
            (state / name).mkdir(parents=True)
            (state / name / "token").write_text(f"{name}'s")
        turn = sandboxed(kubeconfig=None, readable=(tmp_path, state / "mine"), hidden=(state,))
        _, said = run(turn, f"cat {state}/*/token; ls {state}")
        assert said == "mine'smine\n"

    def test_a_program_that_is_not_in_it_is_refused_with_a_way_out(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "mine").write_text("#!/bin/sh\n")
        (tmp_path / "mine").chmod(0o755)
        turn = sandboxed(kubeconfig=None)
        wanted = f"is not in the sandbox .--sandbox-read {tmp_path} opens it"
        with agent_home(turn) as home, pytest.raises(AgentError, match=wanted):
            run_agent_program([str(tmp_path / "mine")], turn, home)
        with agent_home(turn) as home, pytest.raises(AgentError, match="not on its PATH"):
            run_agent_program(["no-such-program"], turn, home)


class TestReach:
    def test_an_allowed_host_is_reached_by_its_name_and_nothing_else_is(
        self, sandboxed: MakeTurn
    ) -> None:
        with answering("127.0.0.1", b"hello") as port, answering("127.0.0.1", b"other") as other:
            turn = sandboxed(kubeconfig=None, allowed=(Endpoint("localhost", port),))
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

    def test_the_api_server_is_reached_at_the_address_that_it_has(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        with answering("127.0.0.1", b"api") as port:
            (tmp_path / "k").write_text(
                f"clusters: [{{cluster: {{server: 'https://127.0.0.1:{port}'}}}}]"
            )
            turn = sandboxed(kubeconfig=tmp_path / "k")
            _, said = run(turn, f"cat < /dev/tcp/127.0.0.1/{port}")
        assert said == "api"

    def test_a_door_to_nobody_closes_and_disturbs_nothing(self, sandboxed: MakeTurn) -> None:
        turn = sandboxed(kubeconfig=None, allowed=(Endpoint("127.0.0.1", 1),))
        result, said = run(turn, "cat < /dev/tcp/127.0.0.1/1; echo done")
        assert said.startswith("done")
        assert result.status is AgentStatus.COMPLETED


class TestEnds:
    def test_its_exit_code_is_told(self, sandboxed: MakeTurn) -> None:
        result, _ = run(sandboxed(kubeconfig=None), "exit 9")
        assert (result.status, result.exit_code) == (AgentStatus.FAILED, 9)

    def test_a_daemon_that_forked_twice_ends_with_it(
        self, sandboxed: MakeTurn, tmp_path: Path
    ) -> None:
        """The daemon holds a lock on a file of the working folder for as long as it lives."""
        turn = sandboxed(kubeconfig=None)
        script = (
            "touch lock; (setsid bash -c 'exec 9>lock; flock 9; touch held; exec sleep 99' "
            "</dev/null >/dev/null 2>&1 &); until [ -e held ]; do :; done"
        )
        result, _ = run(turn, script)
        assert result.status is AgentStatus.COMPLETED
        with (turn.work_dir / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while somebody holds it

    def test_it_ends_at_its_deadline_and_when_the_run_is_interrupted(
        self, sandboxed: MakeTurn
    ) -> None:
        result, _ = run(
            sandboxed(kubeconfig=None, timeout_sec=0.7), "trap '' TERM; sleep 99 & wait"
        )
        assert result.status is AgentStatus.TIMED_OUT
        turn = sandboxed(kubeconfig=None)
        turn.cancel.set()
        assert run(turn, "sleep 99")[0].status is AgentStatus.CANCELLED


class TestLayout:
    def layout(self, tmp_path: Path) -> Layout:
        return Layout(
            tmp_path / "h", tmp_path / "w", tmp_path / "etc", (tmp_path / "b",), (tmp_path / "r",)
        )

    def test_paths_move_with_their_folders(self, tmp_path: Path) -> None:
        layout = self.layout(tmp_path)
        assert layout.inside(tmp_path / "h" / ".kube" / "config") == Path(
            "/agent/home/.kube/config"
        )
        assert layout.inside_word(str(tmp_path / "w")) == "/agent/workspace"
        assert layout.inside_word("relative") == "relative"
        assert layout.inside(tmp_path / "hh") == tmp_path / "hh"

    def test_only_what_is_named_is_visible(self, tmp_path: Path) -> None:
        layout = self.layout(tmp_path)
        assert is_visible(layout, tmp_path / "r" / "x")
        assert not is_visible(layout, tmp_path)
        path = f"{tmp_path / 'b'}:{tmp_path}:/usr/bin:/root/bin"
        assert visible_folders(layout, path) == [tmp_path / "b", Path("/usr/bin")]

    def test_folders_of_ours_below_the_systems_are_masked(self, tmp_path: Path) -> None:
        layout = Layout(
            tmp_path, tmp_path, tmp_path, hidden=(Path("/usr/src/specs"), Path("/srv/specs"))
        )
        options = bwrap_options(layout)
        assert options[options.index("/usr/src/specs") - 1] == "--tmpfs"
        assert "/srv/specs" not in options
