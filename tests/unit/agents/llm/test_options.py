"""The words of ``--agent llm``: what is wrong with them is refused before the turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject

from .conftest import MakeTask


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
        for number in ("0", "many"):
            steps = self.refused(make_task, "--model", "x", "--max-steps", number)
            assert steps.endswith(f"--max-steps: {number!r} is not a whole number from 1 on")
        assert self.refused(make_task, "--model", "x", "--retries", "-1").endswith(
            "'-1' is not a whole number from 0 on"
        )
        assert self.refused(make_task, "--model", "x", "--tool-timeout", "0").endswith(
            "'0' is not a number of seconds greater than 0"
        )
        assert "'nope'" in self.refused(make_task, "--model", "nope")
        missing = self.refused(make_task, "--model", "openai:gpt-5")
        assert "set the variable OPENAI_API_KEY" in missing
        # What a user of ours cannot do is no advice.
        assert "Provider(" not in missing
        assert "Agent(" not in missing
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
