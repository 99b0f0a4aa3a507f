"""MCP servers: their tools are the model's, their secrets nobody's."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus
from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.transcript import Transcript
from devops_bench.core.redaction import REDACTED
from devops_bench.tasks.model import McpServer

from .conftest import MakeTask, MakeTurn, records
from .server import DONE, calling, serving

MCP_SERVER = Path(__file__).with_name("mcp_server.py")


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
