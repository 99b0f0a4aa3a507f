"""What an agent that is a program finds, and what is left of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents import process
from devops_bench.agents.base import AgentStatus, AgentTurn
from devops_bench.agents.process import agent_environment, agent_home, run_agent_program
from devops_bench.core.errors import AgentError
from devops_bench.core.process import ProcessResult, Program, run_program
from devops_bench.core.runtime import runtime_dir

MakeTurn = Callable[..., AgentTurn]


def run(turn: AgentTurn, script: str, **options: object) -> str:
    """Run a bash script as the agent and return its standard output."""
    with agent_home(turn) as home:
        run_agent_program(["bash", "-c", script], turn, home, **options)  # type: ignore[arg-type]
    return (turn.output_dir / "agent.stdout").read_text()


class TestHome:
    def test_the_working_folder_is_empty_and_is_not_the_home(self, make_turn: MakeTurn) -> None:
        turn = make_turn()
        out = run(turn, 'ls -A | wc -l; pwd -P; [ "$HOME" = "$PWD" ] || echo apart')
        assert out.split() == ["0", str(turn.work_dir.resolve()), "apart"]

    def test_the_kubeconfig_is_a_private_copy_that_kubectl_finds_by_itself(
        self, make_turn: MakeTurn
    ) -> None:
        turn = make_turn()
        out = run(
            turn,
            'stat -c %a "$KUBECONFIG"; [ "$KUBECONFIG" -ef ~/.kube/config ] && echo same; '
            'cat "$KUBECONFIG"; echo broken > "$KUBECONFIG"',
        )
        assert turn.kubeconfig is not None
        original = turn.kubeconfig.read_text()
        assert "broken" not in original
        assert out == f"600\nsame\n{original}"

    def test_nothing_of_the_home_stays(self, make_turn: MakeTurn) -> None:
        home = run(make_turn(), "echo ~; mkdir ~/x; touch ~/x/y; chmod 0 ~/x; chmod 500 ~").strip()
        assert not Path(home).parent.exists()

    def test_the_home_is_not_among_the_results(self, make_turn: MakeTurn, tmp_path: Path) -> None:
        turn = make_turn()
        home = Path(run(turn, "echo ~").strip())
        assert home.is_relative_to(runtime_dir())
        assert not home.is_relative_to(tmp_path)

    def test_the_kubeconfig_does_not_stay_when_the_agent_fails_to_start(
        self, make_turn: MakeTurn
    ) -> None:
        turn = make_turn()
        wanted = "'nope' could not be started: No such file"
        with pytest.raises(AgentError, match=wanted), agent_home(turn) as home:
            run_agent_program(["nope"], turn, home)
        assert not home.exists()

    def test_without_a_cluster_there_is_no_kubeconfig(self, make_turn: MakeTurn) -> None:
        out = run(make_turn(kubeconfig=None), 'echo "[${KUBECONFIG-unset}]"; ls -A ~')
        assert out.split() == ["[unset]", "tmp"]

    def test_temporary_files_go_to_its_home(self, make_turn: MakeTurn) -> None:
        assert run(make_turn(), 'case "$(mktemp)" in "$HOME"/*) echo in;; esac') == "in\n"


class TestEnvironment:
    def test_secrets_of_ours_stay_with_us(self, make_turn: MakeTurn, tmp_path: Path) -> None:
        ours = {
            "PATH": "/bin",
            "OPENAI_API_KEY": "s",
            "LC_ALL": "C.UTF-8",
            "KUBECONFIG": "/mine",
            "HTTPS_PROXY": "http://proxy",
            "LD_PRELOAD": "x",
            "TZ": "UTC",
        }
        turn = make_turn()
        env = agent_environment(turn, tmp_path / "home", ours)
        assert set(env) == {"PATH", "LC_ALL", "TZ", "HOME", "TMPDIR", "KUBECONFIG"}
        assert env["KUBECONFIG"] == str(tmp_path / "home" / ".kube" / "config")

    def test_what_the_turn_passes_is_there(self, make_turn: MakeTurn, tmp_path: Path) -> None:
        turn = make_turn(environment={"MODEL_KEY": "k"})
        assert agent_environment(turn, tmp_path, {})["MODEL_KEY"] == "k"

    def test_the_planes_kubectl_is_found_first(self, make_turn: MakeTurn, tmp_path: Path) -> None:
        bin_dir = tmp_path / "bin"
        bin_dir.mkdir()
        (bin_dir / "kubectl").write_text("#!/bin/sh\necho of the plane\n")
        (bin_dir / "kubectl").chmod(0o755)
        assert run(make_turn(path_prefix=(bin_dir,)), "kubectl") == "of the plane\n"

    def test_without_a_path_of_ours_programs_are_still_found(
        self, make_turn: MakeTurn, tmp_path: Path
    ) -> None:
        assert agent_environment(make_turn(), tmp_path, {})["PATH"] == os.defpath

    def test_the_turn_wins_over_the_variables_of_a_control(self, make_turn: MakeTurn) -> None:
        out = run(
            make_turn(environment={"A": "turn"}),
            'echo "$A $B ${HOME#/nowhere}"',
            extra_env={"A": "task", "B": "task", "HOME": "/nowhere"},
        )
        assert out.startswith("turn task /")

    @given(st.dictionaries(st.text("ABCLX_", min_size=1), st.text(max_size=5)))
    def test_only_names_of_the_list_pass(self, ours: dict[str, str]) -> None:
        turn = AgentTurn("", None, Path("/w"), Path("/o"), 1.0, threading.Event())
        added = {"HOME", "TMPDIR", "PATH"}
        passed = set(agent_environment(turn, Path("/h"), ours)) - added
        assert passed == {name for name in ours if name.startswith("LC_")}


class TestResult:
    @pytest.mark.parametrize(
        ("script", "status", "exit_code", "words"),
        [
            ("exit 0", AgentStatus.COMPLETED, 0, "exited with code 0"),
            ("exit 9", AgentStatus.FAILED, 9, "exited with code 9"),
            ("kill -KILL $$", AgentStatus.FAILED, -9, "ended by signal 9"),
            ("sleep 99 & exit 0", AgentStatus.COMPLETED, 0, "1 process(es) that it left behind"),
        ],
    )
    def test_how_it_ended_is_told(
        self, make_turn: MakeTurn, script: str, status: AgentStatus, exit_code: int, words: str
    ) -> None:
        turn = make_turn()
        with agent_home(turn) as home:
            result = run_agent_program(["bash", "-c", script], turn, home)
        assert (result.status, result.exit_code) == (status, exit_code)
        assert words in result.reason
        assert result.elapsed_sec >= 0

    def test_leftovers_that_nobody_could_look_for_are_not_none(
        self, make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def elsewhere(program: Program, **options: object) -> ProcessResult:
            return replace(run_program(program, **options), leftovers=None)  # type: ignore[arg-type]

        monkeypatch.setattr(process, "run_program", elsewhere)
        turn = make_turn()
        with agent_home(turn) as home:
            result = run_agent_program(["true"], turn, home)
        assert result.leftover_processes is None
        assert "what it left behind was not checked" in result.reason

    def test_a_turn_whose_supervisor_was_killed_is_lost(self, make_turn: MakeTurn) -> None:
        turn = make_turn()
        with agent_home(turn) as home:
            result = run_agent_program(["bash", "-c", "kill -9 $PPID; sleep 99"], turn, home)
        assert (result.status, result.exit_code) == (AgentStatus.LOST, None)
        assert "its supervisor was killed: processes may have escaped" in result.reason

    def test_a_full_disk_is_told_as_what_it_is(self, make_turn: MakeTurn) -> None:
        turn = make_turn()
        (turn.output_dir / "agent.stdout").symlink_to("/dev/full")
        with agent_home(turn) as home:
            result = run_agent_program(["bash", "-c", "echo hello"], turn, home)
        assert result.status is AgentStatus.COMPLETED
        assert "6 bytes of its output were not kept (No space left on device)" in result.reason

    def test_output_that_has_no_place_is_told_with_the_file(
        self, make_turn: MakeTurn, tmp_path: Path
    ) -> None:
        turn = make_turn(output_dir=tmp_path / "missing")
        with (
            pytest.raises(AgentError, match=r"missing/agent\.stdout: No such file"),
            agent_home(turn) as home,
        ):
            run_agent_program(["true"], turn, home)

    def test_the_end_of_its_time_is_told(self, make_turn: MakeTurn) -> None:
        turn = make_turn(timeout_sec=0.5)
        with agent_home(turn) as home:
            result = run_agent_program(["sleep", "99"], turn, home)
        assert result.status is AgentStatus.TIMED_OUT
        assert "0.5 s were over" in result.reason

    def test_an_interruption_is_told(self, make_turn: MakeTurn) -> None:
        turn = make_turn()
        turn.cancel.set()
        with agent_home(turn) as home:
            result = run_agent_program(["sleep", "99"], turn, home)
        assert result.status is AgentStatus.CANCELLED
