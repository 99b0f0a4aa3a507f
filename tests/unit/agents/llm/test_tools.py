"""The tools that a model has of its own: what they do, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus
from devops_bench.agents.llm.excerpt import MAX_ANSWER
from devops_bench.agents.llm.tools import KEPT_BYTES
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.core.json import JsonObject
from devops_bench.core.redaction import REDACTED

from .conftest import records
from .server import DONE, Step, calling, serving


class TestTools:
    def test_bash_runs_in_the_working_folder_and_its_answer_goes_back(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        with serving(calling("bash", command="pwd; exit 3"), DONE) as server:
            result = talk(server)
        assert result.status is AgentStatus.COMPLETED
        assert result.final_text.strip() == "I mended it."
        answer = server.requests[1]["messages"][-1]  # type: ignore[index]
        assert answer["content"] == f"exit code 3\n{tmp_path / 'work'}\n"  # type: ignore[index,call-overload]
        (call,), (came,) = records(tmp_path, "tool_call"), records(tmp_path, "tool_result")
        assert (call["tool"], call["arguments"]) == ("bash", {"command": "pwd; exit 3"})
        assert (came["id"], came["exit_code"], came["is_error"]) == (call["id"], 3, True)
        assert came["elapsed_sec"] is not None

    def test_the_model_is_told_what_was_printed_and_the_results_are_not(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        command = 'echo "$A_KEY"; printf %s "$A_KEY" | base64 >&2'
        with serving(calling("bash", command=command), DONE) as server:
            talk(server, secrets=["a-key-0123"], environment={"A_KEY": "a-key-0123"})
        answer = server.requests[1]["messages"][-1]  # type: ignore[index]
        assert "a-key-0123\nYS1rZXktMDEyMw==" in str(answer["content"])  # type: ignore[index,call-overload]
        (came,) = records(tmp_path, "tool_result")
        assert str(came["text"]).endswith(f"\n{REDACTED}\n{REDACTED}w==\n")
        tools = tmp_path / "output" / "tools"
        assert (tools / "1.stdout").read_text() == f"{REDACTED}\n"
        assert (tools / "1.stderr").read_text() == f"{REDACTED}w==\n"

    def test_kubectl_gets_its_words_without_a_shell_and_its_input(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        (tmp_path / "bin").mkdir()
        kubectl = tmp_path / "bin" / "kubectl"
        kubectl.write_text('#!/bin/sh\nprintf "[%s]" "$@"; cat; echo "$KUBECONFIG"\n')
        kubectl.chmod(0o755)
        step = calling("kubectl", arguments="apply -f - '$x y'", stdin="kind: Pod")
        with serving(step, DONE) as server:
            talk(server, path_prefix=(tmp_path / "bin",))
        (came,) = records(tmp_path, "tool_result")
        assert str(came["text"]).startswith("exit code 0\n[apply][-f][-][$x y]kind: Pod/")

    def test_of_much_output_the_model_sees_the_true_end_and_how_much_is_missing(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        # More than is kept in the results.
        command = "echo begin; head -c 6000000 /dev/zero | tr '\\0' x; echo end; echo err >&2"
        with serving(calling("bash", command=command), DONE) as server:
            talk(server)
        (came,) = records(tmp_path, "tool_result")
        text = str(came["text"])
        assert text.startswith("exit code 0\nbegin\nxxx")
        assert text.endswith("xxxend\nerr\n")
        total = len("begin\n") + 6_000_000 + len("end\nerr\n")
        assert f"\n[{total - MAX_ANSWER} bytes left out]\n" in text
        assert (tmp_path / "output" / "tools" / "1.stdout").stat().st_size == KEPT_BYTES

    def test_of_a_long_file_too(self, talk: Callable[..., AgentResult], tmp_path: Path) -> None:
        command = "(echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo end) > long"
        with serving(
            calling("bash", command=command), calling("read_file", path="long"), DONE
        ) as server:
            talk(server)
        text = str(records(tmp_path, "tool_result")[1]["text"])
        assert text.startswith("begin\nxxx")
        assert text.endswith("xxxend\n")
        assert f"\n[{3_000_010 - MAX_ANSWER} bytes left out]\n" in text

    def test_in_a_sandbox_a_refusal_names_no_folder_of_ours(
        self, talk: Callable[..., AgentResult], tmp_path: Path, bwrap: None
    ) -> None:
        steps = (
            calling("bash", command="ln -s loop loop"),
            calling("read_file", path="../secret"),
            calling("write_file", path="../x", content="x"),
            calling("read_file", path="loop"),
            calling("read_file", path="gone"),
            DONE,
        )
        with serving(*steps) as server:
            talk(server, sandbox=SandboxOptions("bwrap"))
        texts = [str(r["text"]) for r in records(tmp_path, "tool_result")][1:]
        assert str(tmp_path) not in "".join(texts)
        assert texts[0].endswith("'../secret' leaves the folder /agent/workspace")

    def test_files_are_those_of_the_working_folder_alone(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        (tmp_path / "secret").write_text("not yours")
        steps = (
            calling("write_file", path="a/b.yaml", content="x: 1"),
            calling("read_file", path="a/b.yaml"),
            calling("read_file", path="../secret"),
            calling("read_file", path=str(tmp_path / "secret")),
            calling("bash", command=f"ln -s {tmp_path} out; ln -s {tmp_path}/new new"),
            calling("read_file", path="out/secret"),
            calling("write_file", path="new", content="x"),
            DONE,
        )
        with serving(*steps) as server:
            talk(server)
        texts = [str(r["text"]) for r in records(tmp_path, "tool_result")]
        errors = [r["is_error"] for r in records(tmp_path, "tool_result")]
        assert texts[:2] == ["wrote 4 bytes", "x: 1"]
        assert errors == [False, False, True, True, False, True, True]
        assert "not yours" not in "".join(texts)
        assert not (tmp_path / "new").exists()

    def test_the_tools_of_one_step_run_in_their_order(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        calls: tuple[tuple[str, JsonObject], ...] = (
            ("bash", {"command": "sleep 0.3; mkdir a"}),
            ("write_file", {"path": "a/b", "content": "hello"}),
            ("read_file", {"path": "a/b"}),
            ("bash", {"command": "rm a/b"}),
        )
        with serving(Step(calls=calls), DONE) as server:
            talk(server)
        results = records(tmp_path, "tool_result")
        assert [r["text"] for r in results][1:3] == ["wrote 5 bytes", "hello"]
        assert [r["is_error"] for r in results] == [False] * 4

    def test_a_tool_that_takes_too_long_is_ended_and_the_turn_goes_on(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        with serving(calling("bash", command="echo begun; sleep 99"), DONE) as server:
            result = talk(server, "--tool-timeout", "0.5")
        (came,) = records(tmp_path, "tool_result")
        assert result.status is AgentStatus.COMPLETED
        assert "begun" in str(came["text"])
        assert "its time was over" in str(came["text"])

    def test_what_a_tool_leaves_running_is_ended_and_counted(
        self, talk: Callable[..., AgentResult]
    ) -> None:
        with serving(calling("bash", command="setsid sleep 99 & echo"), DONE) as server:
            assert talk(server).leftover_processes == 1

    def test_the_key_and_our_environment_are_not_the_tools(
        self, talk: Callable[..., AgentResult], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("MY_KEY", "key-of-the-model")
        with serving(calling("bash", command="env"), DONE) as server:
            talk(server, "--api-key-env", "MY_KEY")
        assert server.authorizations[0] == "Bearer key-of-the-model"
        assert "key-of-the-model" not in (tmp_path / "transcript.jsonl").read_text()
