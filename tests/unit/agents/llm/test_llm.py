"""The turn of a model, against a local server that streams, errors, rate-limits and stalls."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.transcript import Transcript
from devops_bench.agents.usage import Prices, Usage
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.files import read_log
from devops_bench.core.json import JsonObject
from devops_bench.core.redaction import REDACTED
from devops_bench.tasks.model import McpServer, Task

from .server import Server, Step, serving

MakeTurn = Callable[..., AgentTurn]
MakeTask = Callable[..., Task]

DONE = Step(text="I mended it.")
MCP_SERVER = Path(__file__).with_name("mcp_server.py")


@pytest.fixture
def talk(make_turn: MakeTurn, make_task: MakeTask, tmp_path: Path) -> Callable[..., AgentResult]:
    """Let the model of a server take a turn; its transcript is ``transcript.jsonl``."""

    def run(
        server: Server,
        *words: str,
        prices: Prices | None = None,
        secrets: Sequence[str] = (),
        **fields: object,
    ) -> AgentResult:
        options = AgentOptions(
            ("--model", "local", "--base-url", server.url, "--retries", "0", *words),
            base_dir=tmp_path,
            prices=prices,
        )
        transcript = Transcript(tmp_path / "transcript.jsonl", secrets=secrets)
        turn = make_turn(transcript=transcript, **fields)
        return make_agent("llm", options)(make_task()).run(turn)

    return run


def records(tmp_path: Path, kind: str) -> list[JsonObject]:
    return [r for r in read_log(tmp_path / "transcript.jsonl") if r["type"] == kind]


def calling(tool: str, **arguments: str) -> Step:
    return Step(calls=((tool, {**arguments}),))


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


class TestEnds:
    def test_usage_and_cost_are_told(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        with serving(calling("bash", command="true"), DONE) as server:
            result = talk(server, prices=Prices(1.0, 10.0))
        assert result.usage == Usage(200, 20, 0, 2, cost_usd=pytest.approx(0.0004))  # type: ignore[arg-type]
        assert records(tmp_path, "usage")[-1]["input_tokens"] == 200

    @pytest.mark.parametrize(
        ("step", "status"),
        [
            (Step(status=429), AgentStatus.RATE_LIMITED),
            (Step(status=500), AgentStatus.FAILED),
            (Step(status=401), AgentStatus.FAILED),
            (Step(text="  "), AgentStatus.EMPTY),
            (Step(), AgentStatus.EMPTY),
            (Step(refusal="I will not do that."), AgentStatus.REFUSED),
            (Step(finish="content_filter"), AgentStatus.REFUSED),
            (Step(text="some", finish="content_filter"), AgentStatus.REFUSED),
            (Step(status=400, code="content_filter"), AgentStatus.REFUSED),
            (Step(status=400, code="other"), AgentStatus.FAILED),
            (Step(text="cut he", finish="length"), AgentStatus.LIMIT_REACHED),
            (Step(text="cut he", cut=True), AgentStatus.FAILED),
            (Step(cut=True), AgentStatus.FAILED),
            (Step(text="cut he", finish="abort"), AgentStatus.FAILED),
            (Step(body='{"id": "x", "choices": [ {'), AgentStatus.FAILED),
            (Step(body="<html>log in</html>"), AgentStatus.FAILED),
        ],
    )
    def test_each_end_has_its_status_and_none_is_a_success(
        self, talk: Callable[..., AgentResult], step: Step, status: AgentStatus
    ) -> None:
        with serving(step) as server:
            result = talk(server)
        assert (result.status, bool(result.reason)) == (status, True)

    @pytest.mark.parametrize(
        "step",
        [
            Step(calls=(("bash", {"command": "touch done"}),), cut=True),
            Step(calls=(("bash", {"command": "touch done"}),), finish="length"),
            Step(calls=(("bash", {"command": "touch done"}),), finish="content_filter"),
        ],
    )
    def test_the_tools_of_an_answer_that_is_not_whole_are_not_called(
        self, talk: Callable[..., AgentResult], step: Step, tmp_path: Path
    ) -> None:
        with serving(step, DONE) as server:
            talk(server)
            assert len(server.requests) == 1
        assert not (tmp_path / "work" / "done").exists()

    def test_a_server_with_another_word_for_the_end_is_understood(
        self, talk: Callable[..., AgentResult]
    ) -> None:
        with serving(Step(text="I mended it.", finish="eos_token")) as server:
            assert talk(server).status is AgentStatus.COMPLETED

    @pytest.mark.parametrize(
        ("steps", "requests"),
        [
            ((Step(text="x", stated=False),), 1),
            ((Step(text="x", cut=True),), 1),
            ((Step(status=401),), 1),
            ((Step(calls=(("bash", {"command": "true"}),)), Step(text="x", stated=False)), 2),
        ],
    )
    def test_usage_that_nobody_stated_is_not_known(
        self, talk: Callable[..., AgentResult], steps: tuple[Step, ...], requests: int
    ) -> None:
        with serving(*steps) as server:
            result = talk(server, prices=Prices(1.0, 10.0))
        assert result.usage == Usage(requests=requests)

    def test_a_stalled_stream_ends_at_the_deadline_and_what_came_is_kept(
        self, talk: Callable[..., AgentResult]
    ) -> None:
        with serving(Step(text="one two three", stall_after=2)) as server:
            result = talk(server, timeout_sec=1.0)
            assert server.stalled.is_set()
        assert result.status is AgentStatus.TIMED_OUT
        assert "1 s were over" in result.reason

    def test_an_interruption_ends_a_tool_too(self, talk: Callable[..., AgentResult]) -> None:
        cancel = threading.Event()
        with serving(calling("bash", command="sleep 99"), DONE) as server:
            timer = threading.Timer(1.0, cancel.set)
            timer.start()
            result = talk(server, cancel=cancel)
            timer.join()
        assert result.status is AgentStatus.CANCELLED

    def test_the_limit_of_steps_ends_it(self, talk: Callable[..., AgentResult]) -> None:
        with serving(calling("bash", command="true")) as server:
            result = talk(server, "--max-steps", "2")
        assert (result.status, len(server.requests)) == (AgentStatus.LIMIT_REACHED, 2)

    def test_the_limit_of_tokens_ends_it(self, talk: Callable[..., AgentResult]) -> None:
        with serving(calling("bash", command="true")) as server:
            result = talk(server, "--max-tokens", "150")
        assert (result.status, len(server.requests)) == (AgentStatus.LIMIT_REACHED, 2)


class TestWords:
    def refused(self, make_task: MakeTask, *words: str) -> str:
        with pytest.raises(InvalidInputError) as caught:
            make_agent("llm", AgentOptions(words))(make_task())
        return str(caught.value)

    def test_what_is_wrong_is_refused_before_anything_is_touched(
        self, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        assert "--model" in self.refused(make_task)
        assert "--max-steps" in self.refused(make_task, "--model", "x", "--max-steps", "0")
        assert "'nope'" in self.refused(make_task, "--model", "nope")
        assert "OPENAI_API_KEY" in self.refused(make_task, "--model", "openai:gpt-5")
        assert "no file of MCP servers" in self.refused(make_task, "--model", "x", "--mcp", "gone")

    @pytest.mark.parametrize(
        "url", ["notaurl", "ftp://x/v1", "http://", "http:/x", "http://x:port/v1", "http://[::1"]
    )
    def test_an_address_that_is_none_is_refused(self, make_task: MakeTask, url: str) -> None:
        assert "is not http://HOST" in self.refused(make_task, "--model", "x", "--base-url", url)

    def test_a_variable_for_the_key_that_holds_none_is_refused(
        self, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("NO_KEY", raising=False)
        words = ("--model", "x", "--base-url", "http://127.0.0.1:1/v1", "--api-key-env", "NO_KEY")
        assert "NO_KEY: that variable is not set" in self.refused(make_task, *words)
        assert "is for --base-url" in self.refused(
            make_task, "--model", "openai:gpt-5", "--api-key-env", "NO_KEY"
        )

    @pytest.mark.parametrize(
        ("server", "why"),
        [
            ({"command": "no-such-program"}, "is not on the PATH"),
            ({"command": "/no/such/program"}, "does not exist"),
            ({"command": "./server"}, "give its full path"),
            ({"url": "notaurl"}, "is not http://HOST"),
        ],
    )
    def test_a_server_that_cannot_be_started_is_refused(
        self, make_task: MakeTask, tmp_path: Path, server: JsonObject, why: str
    ) -> None:
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"it": server}}))
        words = ("--model", "x", "--base-url", "http://127.0.0.1:1/v1")
        refused = self.refused(make_task, *words, "--mcp", str(tmp_path / "mcp.json"))
        assert "the MCP server 'it'" in refused
        assert why in refused


class TestMcp:
    def file(self, tmp_path: Path, command: str, name: str = "MINE") -> str:
        shutil.copy(MCP_SERVER, tmp_path / "mcp_server.py")
        server = {
            "command": command,
            "args": [str(tmp_path / "mcp_server.py")],
            "env": {name: "$MY_VALUE"},
        }
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"it": server}}))
        return "mcp.json"

    def test_the_tools_of_a_server_are_the_models_and_run_as_the_agent(
        self, talk: Callable[..., AgentResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_VALUE", "ours")
        words = ("--mcp", self.file(tmp_path, sys.executable))
        with serving(calling("it_where", word="hello"), DONE) as server:
            result = talk(server, *words)
        assert result.status is AgentStatus.COMPLETED, result.reason
        (came,) = records(tmp_path, "tool_result")
        assert str(came["text"]).startswith(f"hello {tmp_path / 'work'} ours /")
        assert str(came["text"]).endswith("/.kube/config")

    def test_what_a_server_says_of_its_secrets_is_not_kept(
        self, talk: Callable[..., AgentResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_VALUE", "ours-and-secret")
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-model")
        words = ("--mcp", self.file(tmp_path, sys.executable, name="MINE_TOKEN"))
        say = "import os, sys; print(os.environ['MINE_TOKEN'], file=sys.stderr)\n"
        server_file = tmp_path / "mcp_server.py"
        code = server_file.read_text()
        server_file.write_text(code.replace("import json\n", f"import json\n{say}", 1))
        with serving(calling("bash", command="echo key-of-the-model"), DONE) as server:
            result = talk(server, *words)
        assert result.status is AgentStatus.COMPLETED, result.reason
        output = tmp_path / "output"
        assert (output / "mcp-it.stderr").read_text() == f"{REDACTED}\n"
        assert (output / "tools" / "1.stdout").read_text() == f"{REDACTED}\n"

    def test_a_server_of_the_spec_is_there_too(
        self, make_turn: MakeTurn, make_task: MakeTask, tmp_path: Path
    ) -> None:
        own = McpServer(sys.executable, (str(MCP_SERVER),), {"MINE": "of the spec"})
        transcript = Transcript(tmp_path / "transcript.jsonl")
        with serving(calling("spec_where", word="hi"), DONE) as server:
            words = ("--model", "local", "--base-url", server.url)
            agent = make_agent("llm", AgentOptions(words))(make_task(mcp_servers={"spec": own}))
            agent.run(make_turn(transcript=transcript))
        (came,) = records(tmp_path, "tool_result")
        assert f"hi {tmp_path / 'work'} of the spec" in str(came["text"])

    def test_a_server_that_does_not_start_fails_the_turn(
        self, talk: Callable[..., AgentResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_VALUE", "ours")
        with serving(DONE) as server:
            result = talk(server, "--mcp", self.file(tmp_path, "/bin/false"))
        assert result.status is AgentStatus.FAILED
        assert "an MCP server could not be started" in result.reason

    def test_a_value_from_our_environment_is_not_in_the_transcript(
        self, talk: Callable[..., AgentResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_VALUE", "of-our-environment")
        words = ("--mcp", self.file(tmp_path, sys.executable))
        with serving(calling("it_where"), DONE) as server:
            talk(server, *words)
            answer = server.requests[1]["messages"][-1]  # type: ignore[index]
        assert "of-our-environment" in answer["content"]  # type: ignore[index,call-overload,operator]
        assert "of-our-environment" not in (tmp_path / "transcript.jsonl").read_text()

    @pytest.mark.usefixtures("bwrap")
    def test_in_a_sandbox_its_programs_see_what_the_agent_sees(
        self, talk: Callable[..., AgentResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_VALUE", "ours")
        words = ("--mcp", self.file(tmp_path, "/usr/bin/python3"))
        (tmp_path / "secret").write_text("not yours")
        look = f"pwd; cat {tmp_path}/secret; echo $KUBECONFIG"
        steps = (
            calling("bash", command=look),
            calling("it_where"),
            calling("read_file", path="/agent/workspace/../secret"),
            calling("write_file", path="/agent/workspace/mine", content="x"),
            DONE,
        )
        sandbox = SandboxOptions("bwrap", readable=(tmp_path / "mcp_server.py",))
        with serving(*steps) as server:
            result = talk(server, *words, sandbox=sandbox)
        assert result.sandbox is not None
        assert result.sandbox.state == "bwrap"
        looked, asked, read, wrote = [str(r["text"]) for r in records(tmp_path, "tool_result")]
        assert "/agent/workspace\n/agent/home/.kube/config" in looked
        assert asked.strip() == "/agent/workspace ours /agent/home/.kube/config"
        assert "not yours" not in looked + read
        assert wrote == "wrote 1 bytes"
        assert (tmp_path / "work" / "mine").read_text() == "x"
