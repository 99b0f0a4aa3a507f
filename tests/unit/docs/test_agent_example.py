"""The agent of docs/agents.md is run as it stands there, by the name of its entry point."""

from __future__ import annotations

import re
import threading
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

from devops_bench.agents.base import AGENTS, AgentStatus, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.transcript import Transcript
from devops_bench.core.files import read_log
from devops_bench.core.registry import Registry
from devops_bench.tasks.model import Task

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "agents.md"


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)
    return str(found)


def test_the_documented_agent_takes_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_package")
    exec(compile(block("python"), str(DOCUMENT), "exec"), module.__dict__)
    monkeypatch.setitem(__import__("sys").modules, "my_package", module)
    points = tomllib.loads(block("toml"))["project"]["entry-points"]["devops_bench.agents"]
    installed = [
        metadata.EntryPoint(name, value, "devops_bench.agents") for name, value in points.items()
    ]
    monkeypatch.setattr(
        metadata, "entry_points", lambda *, group: installed if group == AGENTS._group else []
    )
    fresh: Registry[type] = Registry("agent", entry_point_group=AGENTS._group)
    monkeypatch.setattr("devops_bench.agents.factory.AGENTS", fresh)
    for folder in ("work", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin" / "kubectl").write_text("#!/bin/sh\necho NAME; echo web-1\n")
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    turn = AgentTurn(
        prompt="Look.",
        kubeconfig=None,
        work_dir=tmp_path / "work",
        output_dir=tmp_path,
        timeout_sec=60.0,
        cancel=threading.Event(),
        path_prefix=(tmp_path / "bin",),
        transcript=Transcript(tmp_path / "t"),
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    agent = make_agent("listing", AgentOptions())(Task(id="t", prompt="", source=tmp_path / "x"))
    result = agent.run(turn)
    assert (result.status, result.final_text) == (
        AgentStatus.COMPLETED,
        "There are 2 lines of pods.",
    )
    assert [r["type"] for r in read_log(tmp_path / "t")] == ["tool_call", "tool_result", "message"]
