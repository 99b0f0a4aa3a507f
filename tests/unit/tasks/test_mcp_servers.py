"""MCP servers that a spec brings."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from devops_bench.core.json import JsonValue
from devops_bench.tasks.loader import LoadResult, load_task
from devops_bench.tasks.model import McpServer


def load(folder: Path, servers: JsonValue) -> LoadResult:
    task: JsonValue = {
        "id": "t",
        "prompt": "Do it.",
        "mcp_servers": servers,
        "verification_spec": [
            {
                "name": "x",
                "role": "objective",
                "check": {
                    "type": "resource_property",
                    "kind": "ConfigMap",
                    "resource_name": "x",
                    "namespace": "default",
                    "op": "exists",
                },
            }
        ],
    }
    (folder / "task.yaml").write_text(yaml.safe_dump(task))
    return load_task(folder / "task.yaml", variables={}, mode="lint")


def test_they_are_read(tmp_path: Path) -> None:
    servers: JsonValue = {
        "files": {"command": "serve", "args": ["--fast"], "env": {"A": "b"}},
        "remote": {"url": "https://mcp.example/"},
    }
    result = load(tmp_path, servers)
    assert result.task is not None, result.diagnostics
    assert result.task.mcp_servers == {
        "files": McpServer("serve", ("--fast",), {"A": "b"}),
        "remote": McpServer(url="https://mcp.example/"),
    }


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"x": {}}, "exactly one of command and url"),
        ({"x": {"command": "a", "url": "b"}}, "exactly one of command and url"),
        ({"x": {"comand": "a"}}, "unknown key"),
        (["x"], "a mapping is needed"),
    ],
)
def test_what_is_wrong_with_one_is_said(tmp_path: Path, servers: JsonValue, words: str) -> None:
    result = load(tmp_path, servers)
    assert any(words in one.message for one in result.diagnostics), result.diagnostics
