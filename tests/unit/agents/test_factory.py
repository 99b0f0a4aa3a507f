"""Each kind of agent: what it does, and what is refused before anything is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import AGENTS, Agent, AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.core.errors import InvalidInputError, UnknownNameError
from devops_bench.tasks.model import Oracle, Task

from .conftest import PROMPT

MakeTurn = Callable[..., AgentTurn]
MakeTask = Callable[..., Task]


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def output(agent: Agent, turn: AgentTurn) -> str:
    agent.run(turn)
    return (turn.output_dir / "agent.stdout").read_text()


class TestChoice:
    def test_the_five_kinds_are_known(self) -> None:
        assert set(AGENTS.names()) >= {"oracle", "noop", "script", "command", "none"}

    def test_another_name_is_refused_with_a_hint(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'oracle'"):
            make_agent("oracel", AgentOptions())

    @pytest.mark.parametrize("name", ["noop", "none", "oracle"])
    def test_words_that_nobody_reads_are_refused(self, name: str, make_task: MakeTask) -> None:
        task = make_task(Oracle(run="true"))
        with pytest.raises(InvalidInputError, match=f"--agent {name} takes no words"):
            make_agent(name, AgentOptions(arguments=("x",)))(task)

    @pytest.mark.parametrize("name", ["noop", "none"])
    def test_doing_nothing_completes(
        self, name: str, make_task: MakeTask, make_turn: MakeTurn
    ) -> None:
        agent = make_agent(name, AgentOptions())(make_task())
        result = agent.run(make_turn())
        assert (agent.name, result.status, result.exit_code) == (name, AgentStatus.COMPLETED, None)

    def test_a_plug_in_without_for_task_is_made_without_arguments(
        self, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Plain:
            name = "plain"

            def run(self, turn: AgentTurn) -> AgentResult:
                return AgentResult(AgentStatus.COMPLETED, 0.0)

        monkeypatch.setattr(AGENTS, "_items", {"plain": Plain})
        assert make_agent("plain", AgentOptions())(make_task()).name == "plain"
        with pytest.raises(InvalidInputError, match="takes no words"):
            make_agent("plain", AgentOptions(arguments=("x",)))(make_task())


class TestScript:
    def test_it_gets_the_prompt_and_its_arguments(
        self, make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "agent.sh").write_text('echo "$1 $2"; cat\n')
        options = AgentOptions(("agent.sh", "a b", "c"), base_dir=tmp_path)
        agent = make_agent("script", options)(make_task())
        assert output(agent, make_turn()) == f"a b c\n{PROMPT}"

    def test_an_executable_runs_by_its_own_first_line(
        self, make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path
    ) -> None:
        file = executable(tmp_path / "agent", "#!/usr/bin/env python3\nprint('python')\n")
        agent = make_agent("script", AgentOptions((str(file),)))(make_task())
        assert output(agent, make_turn()) == "python\n"

    def test_an_executable_text_without_a_first_line_runs_with_bash(
        self, make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path
    ) -> None:
        file = executable(tmp_path / "agent", "[[ 1 == 1 ]] && echo bash\n")
        agent = make_agent("script", AgentOptions((str(file),)))(make_task())
        assert output(agent, make_turn()) == "bash\n"

    def test_a_missing_script_is_refused(self, make_task: MakeTask, tmp_path: Path) -> None:
        options = AgentOptions(("gone.sh",), base_dir=tmp_path)
        with pytest.raises(InvalidInputError, match=r"script gone\.sh does not exist"):
            make_agent("script", options)(make_task())

    def test_a_folder_is_refused(self, make_task: MakeTask, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="is not a file"):
            make_agent("script", AgentOptions((str(tmp_path),)))(make_task())

    def test_no_script_at_all_is_refused(self, make_task: MakeTask) -> None:
        with pytest.raises(InvalidInputError, match="needs the file to run"):
            make_agent("script", AgentOptions())(make_task())


class TestCommand:
    def make(self, task: Task, *words: str, **fields: object) -> Agent:
        return make_agent("command", AgentOptions(words, **fields))(task)  # type: ignore[arg-type]

    def test_the_prompt_comes_on_standard_input(
        self, make_task: MakeTask, make_turn: MakeTurn
    ) -> None:
        assert output(self.make(make_task(), "cat"), make_turn()) == PROMPT

    def test_the_prompt_takes_the_placeholders_place_and_stdin_is_empty(
        self, make_task: MakeTask, make_turn: MakeTurn
    ) -> None:
        agent = self.make(make_task(), "bash", "-c", 'printf %s "$1"; cat', "x", "do: {prompt}!")
        assert output(agent, make_turn()) == f"do: {PROMPT}!"

    def test_no_shell_reads_the_words(self, make_task: MakeTask, make_turn: MakeTurn) -> None:
        agent = self.make(make_task(), "echo", "$HOME; echo x", "*")
        assert output(agent, make_turn()) == "$HOME; echo x *\n"

    def test_a_relative_command_is_found_from_the_agents_folder(
        self, make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path
    ) -> None:
        executable(tmp_path / "mine", "#!/bin/sh\necho mine\n")
        assert output(self.make(make_task(), "./mine", base_dir=tmp_path), make_turn()) == "mine\n"

    def test_a_relative_folder_on_the_path_works_from_the_agents_folder(
        self,
        make_task: MakeTask,
        make_turn: MakeTurn,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        (tmp_path / "rel").mkdir()
        executable(tmp_path / "rel" / "mine", "#!/bin/sh\necho mine\n")
        monkeypatch.chdir(tmp_path)
        agent = self.make(make_task(), "mine", search_path=f"rel{os.pathsep}/bin")
        assert output(agent, make_turn()) == "mine\n"

    def test_an_unknown_command_is_refused(self, make_task: MakeTask) -> None:
        with pytest.raises(InvalidInputError, match=r"'no-such-agent' is not found on the PATH$"):
            self.make(make_task(), "no-such-agent")

    def test_a_file_of_that_name_here_is_offered(self, make_task: MakeTask, tmp_path: Path) -> None:
        executable(tmp_path / "my-own-agent", "#!/bin/sh\n")
        with pytest.raises(InvalidInputError, match=r"did you mean \./my-own-agent\?"):
            self.make(make_task(), "my-own-agent", base_dir=tmp_path)

    def test_a_file_that_is_not_executable_is_refused_with_a_way_out(
        self, make_task: MakeTask, tmp_path: Path
    ) -> None:
        (tmp_path / "a.sh").write_text("")
        with pytest.raises(InvalidInputError, match=r"not executable \(chmod \+x"):
            self.make(make_task(), "./a.sh", base_dir=tmp_path)

    def test_a_missing_file_and_no_words_are_refused(
        self, make_task: MakeTask, tmp_path: Path
    ) -> None:
        with pytest.raises(InvalidInputError, match=r"\./gone does not exist"):
            self.make(make_task(), "./gone", base_dir=tmp_path)
        with pytest.raises(InvalidInputError, match="needs the command to run"):
            self.make(make_task())


class TestSandboxedCommand:
    """A program that the sandbox would not have is refused before anything is touched."""

    def options(self, folder: Path, *opened: Path) -> AgentOptions:
        sandbox = SandboxOptions("bwrap", readable=opened)
        return AgentOptions(("mine",), search_path=f"{folder}:/usr/bin:/bin", sandbox=sandbox)

    def test_outside_of_it(self, make_task: MakeTask, tmp_path: Path) -> None:
        executable(tmp_path / "mine", "#!/bin/sh\n")
        with pytest.raises(InvalidInputError, match=f"--sandbox-read {tmp_path} opens it"):
            make_agent("command", self.options(tmp_path))(make_task())
        make_agent("command", self.options(tmp_path, tmp_path))(make_task())

    def test_a_link_in_it_to_what_is_outside(self, make_task: MakeTask, tmp_path: Path) -> None:
        for name in ("real", "bin"):
            (tmp_path / name).mkdir()
        executable(tmp_path / "real" / "mine", "#!/bin/sh\n")
        (tmp_path / "bin" / "mine").symlink_to(tmp_path / "real" / "mine")
        options = self.options(tmp_path / "bin", tmp_path / "bin")
        with pytest.raises(InvalidInputError, match=f"is a link to {tmp_path}/real/mine"):
            make_agent("command", options)(make_task())

    def test_a_path_is_opened_by_itself(self, make_task: MakeTask, tmp_path: Path) -> None:
        executable(tmp_path / "mine", "#!/bin/sh\n")
        options = AgentOptions((str(tmp_path / "mine"),), sandbox=SandboxOptions("bwrap"))
        make_agent("command", options)(make_task())


class TestOracle:
    def test_the_inline_one_stops_at_the_first_failure(
        self, make_task: MakeTask, make_turn: MakeTurn
    ) -> None:
        agent = make_agent("oracle", AgentOptions())(
            make_task(Oracle(run="echo one\nfalse | true\necho two\n"))
        )
        turn = make_turn()
        result = agent.run(turn)
        assert (result.status, result.exit_code) == (AgentStatus.FAILED, 1)
        assert (turn.output_dir / "agent.stdout").read_text() == "one\n"

    def test_it_reads_nothing_and_knows_the_tasks_variables(
        self, make_task: MakeTask, make_turn: MakeTurn
    ) -> None:
        task = make_task(Oracle(run='cat; echo "$NAMESPACE"'), variables={"NAMESPACE": "shop"})
        assert output(make_agent("oracle", AgentOptions())(task), make_turn()) == "shop\n"

    def test_the_working_folder_is_empty_for_it_too(
        self, make_task: MakeTask, make_turn: MakeTurn
    ) -> None:
        agent = make_agent("oracle", AgentOptions())(make_task(Oracle(run="ls -A")))
        assert output(agent, make_turn()) == ""

    def test_a_script_runs(self, make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path) -> None:
        file = executable(tmp_path / "oracle.sh", "#!/bin/bash\necho oracle\n")
        agent = make_agent("oracle", AgentOptions())(make_task(Oracle(script=file)))
        assert output(agent, make_turn()) == "oracle\n"

    def test_a_task_without_one_is_refused(self, make_task: MakeTask) -> None:
        with pytest.raises(InvalidInputError, match=r"task t1 has no oracle: controls\.oracle"):
            make_agent("oracle", AgentOptions())(make_task())

    def test_a_script_that_is_gone_is_refused(self, make_task: MakeTask, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="is not a file"):
            make_agent("oracle", AgentOptions())(make_task(Oracle(script=tmp_path / "gone")))
