"""A model that takes its turn, and what was written down of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.transcript import Transcript
from devops_bench.agents.usage import Prices
from devops_bench.core.files import read_log
from devops_bench.core.json import JsonObject
from devops_bench.tasks.model import Task

from .server import Server

MakeTurn = Callable[..., AgentTurn]
MakeTask = Callable[..., Task]


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
