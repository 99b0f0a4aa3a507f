"""Presets of coding CLIs; stand-ins print what each CLI's documentation says that it prints."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.presets.model import load_preset, preset_names, read_preset
from devops_bench.agents.presets.reading import OutputReader
from devops_bench.agents.transcript import Transcript
from devops_bench.agents.usage import Prices, Usage
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.files import read_log
from devops_bench.core.json import JsonObject
from devops_bench.tasks.model import Task

from ..conftest import PROMPT
from .documented import CLAUDE, CODEX, GEMINI, OPENCODE, Events

MakeTurn = Callable[..., AgentTurn]
MakeTask = Callable[..., Task]

WHOLE = [
    ("claude-code", "claude", CLAUDE, Usage(100, 5, 70, 2, 0.25)),
    ("codex", "codex", CODEX, Usage(100, 5, 70)),
    ("gemini-cli", "gemini", GEMINI, Usage(100, 5, 70)),
    ("opencode", "opencode", OPENCODE, Usage(100, 5, 70, 2, 0.25)),
]


@pytest.fixture
def stand_in(
    make_turn: MakeTurn, make_task: MakeTask, tmp_path: Path
) -> Callable[..., AgentResult]:
    """Run a preset whose CLI is a script that prints events and keeps what it was given."""

    def run(
        name: str,
        command: str,
        events: Events,
        *,
        exit_code: int = 0,
        words: tuple[str, ...] = (),
        then: str = "",
        prices: Prices | None = None,
        **fields: object,
    ) -> AgentResult:
        folder = tmp_path / "clis"
        folder.mkdir(exist_ok=True)
        printed = folder / "events.jsonl"
        printed.write_text("".join(json.dumps(event) + "\n" for event in events))
        file = folder / command
        file.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > {shlex.quote(str(folder / "arguments"))}\n'
            f"cat > {shlex.quote(str(folder / 'stdin'))}\n"
            f"cat {shlex.quote(str(printed))}\n{then}\nexit {exit_code}\n"
        )
        file.chmod(0o755)
        turn = make_turn(
            transcript=Transcript(tmp_path / "transcript.jsonl"), path_prefix=(folder,), **fields
        )
        options = AgentOptions(words, search_path=str(folder), prices=prices)
        return make_agent(name, options)(make_task()).run(turn)

    return run


Run = Callable[..., AgentResult]


def records(tmp_path: Path, *kinds: str) -> list[JsonObject]:
    return [r for r in read_log(tmp_path / "transcript.jsonl") if r["type"] in kinds]


def test_every_preset_that_comes_along_is_tested_here() -> None:
    assert list(preset_names()) == sorted(name for name, *_ in WHOLE)


@pytest.mark.parametrize(("name", "command", "events", "usage"), WHOLE)
class TestDocumented:
    def test_what_it_says_is_read(
        self, stand_in: Run, tmp_path: Path, name: str, command: str, events: Events, usage: Usage
    ) -> None:
        result = stand_in(name, command, events)
        assert (result.status, result.final_text) == (AgentStatus.COMPLETED, "Done.")
        assert result.usage == usage
        (call,) = records(tmp_path, "tool_call")
        (came,) = records(tmp_path, "tool_result")
        assert "kubectl get pods" in json.dumps(call["arguments"])
        assert (came["id"], came["text"]) == (call["id"], "web-1 Running")
        assert (came["is_error"], came["exit_code"] or 0) == (False, 0)
        assert records(tmp_path, "message")[-1]["text"] == "Done."
        assert records(tmp_path, "usage")[-1]["output_tokens"] == 5

    def test_it_gets_the_prompt_and_the_users_words(
        self, stand_in: Run, tmp_path: Path, name: str, command: str, events: Events, usage: Usage
    ) -> None:
        stand_in(name, command, events, words=("--model", "big one"))
        arguments = (tmp_path / "clis" / "arguments").read_text()
        preset = load_preset(name)
        last = preset.last_arguments if preset.prompt == "stdin" else ["--", PROMPT]
        expected = [*preset.arguments, "--model", "big one", *last]
        assert arguments == "".join(f"{word}\n" for word in expected)
        read = (tmp_path / "clis" / "stdin").read_text()
        assert read == (PROMPT if preset.prompt == "stdin" else "")

    def test_output_that_stops_early_is_no_success(
        self, stand_in: Run, name: str, command: str, events: Events, usage: Usage
    ) -> None:
        for kept in range(1, len(events) - 1):
            assert stand_in(name, command, events[:kept]).status is AgentStatus.FAILED

    def test_a_crash_after_the_last_word_is_no_success(
        self, stand_in: Run, name: str, command: str, events: Events, usage: Usage
    ) -> None:
        result = stand_in(name, command, events, then="kill -SEGV $$")
        assert (result.status, result.exit_code) == (AgentStatus.FAILED, -11)

    def test_no_output_is_an_empty_answer(
        self, stand_in: Run, name: str, command: str, events: Events, usage: Usage
    ) -> None:
        assert stand_in(name, command, []).status is AgentStatus.EMPTY

    def test_another_format_is_no_success(
        self, stand_in: Run, name: str, command: str, events: Events, usage: Usage
    ) -> None:
        result = stand_in(name, command, [{"type": "of tomorrow", "text": "Done."}], then="echo hi")
        assert result.status is AgentStatus.FAILED
        assert "format of its preset" in result.reason

    def test_its_deadline_is_told_whatever_it_said(
        self, stand_in: Run, name: str, command: str, events: Events, usage: Usage
    ) -> None:
        result = stand_in(name, command, events, then="sleep 99", timeout_sec=0.7)
        assert result.status is AgentStatus.TIMED_OUT


def claude(**fields: object) -> JsonObject:
    return {**CLAUDE[-1], **fields}  # type: ignore[dict-item]


def codex_failed(message: str) -> JsonObject:
    return {"type": "turn.failed", "error": {"message": message}}


def gemini_failed(message: str) -> JsonObject:
    error: JsonObject = {"type": "Error", "message": message}
    return {"type": "result", "timestamp": "T", "status": "error", "error": error}


def opencode_failed(status: int | None, message: str) -> JsonObject:
    data: JsonObject = {"message": message, "statusCode": status}
    return {"type": "error", "sessionID": "s", "error": {"name": "APIError", "data": data}}


@pytest.mark.parametrize(
    ("name", "command", "last", "exit_code", "status"),
    [
        ("claude-code", "claude", claude(is_error=True, api_error_status=429), 1, "rate_limited"),
        ("claude-code", "claude", claude(is_error=True, result="usage limit"), 0, "rate_limited"),
        ("claude-code", "claude", claude(is_error=True, result="no such model"), 0, "failed"),
        ("claude-code", "claude", claude(stop_reason="refusal"), 0, "refused"),
        ("claude-code", "claude", claude(subtype="error_max_turns"), 0, "limit_reached"),
        ("claude-code", "claude", claude(result=""), 0, "empty"),
        ("codex", "codex", codex_failed("exceeded rate limit (429)"), 1, "rate_limited"),
        ("codex", "codex", codex_failed("flagged by our usage policy"), 1, "refused"),
        ("codex", "codex", codex_failed("stream disconnected"), 1, "failed"),
        ("gemini-cli", "gemini", gemini_failed("Quota exceeded"), 1, "rate_limited"),
        ("gemini-cli", "gemini", gemini_failed("blocked for SAFETY"), 1, "refused"),
        ("gemini-cli", "gemini", gemini_failed("boom"), 1, "failed"),
        ("gemini-cli", "gemini", {"type": "error", "message": "x"}, 53, "limit_reached"),
        ("opencode", "opencode", opencode_failed(429, "slow down"), 1, "rate_limited"),
        ("opencode", "opencode", opencode_failed(None, "Rate limit hit"), 0, "rate_limited"),
        ("opencode", "opencode", opencode_failed(500, "boom"), 0, "failed"),
    ],
)
def test_each_end_has_its_status_and_none_is_a_success(
    stand_in: Run, name: str, command: str, last: JsonObject, exit_code: int, status: str
) -> None:
    result = stand_in(name, command, [last], exit_code=exit_code)
    assert result.status.value == status
    assert result.reason


def test_cost_is_counted_where_the_cli_says_none(stand_in: Run) -> None:
    result = stand_in("codex", "codex", CODEX, prices=Prices(1.0, 10.0, 0.1))
    assert result.usage is not None
    assert result.usage.cost_usd == pytest.approx((30 * 1.0 + 70 * 0.1 + 5 * 10.0) / 1e6)


def test_a_secret_that_it_prints_is_not_in_the_transcript(stand_in: Run, tmp_path: Path) -> None:
    events: Events = [
        {"type": "item.completed", "item": {"type": "agent_message", "text": "token: abcdef123"}},
        *CODEX[-1:],
    ]
    stand_in("codex", "codex", events)
    assert "abcdef123" not in (tmp_path / "transcript.jsonl").read_text()


class TestOwnPreset:
    def test_a_file_of_the_users_is_run(
        self, make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path
    ) -> None:
        (tmp_path / "mine").write_text('#!/bin/sh\necho "{\\"say\\": \\"$1\\", \\"ok\\": true}"\n')
        (tmp_path / "mine").chmod(0o755)
        (tmp_path / "mine.toml").write_text(
            'title = "Mine"\ndocumentation = "here"\ncommand = "mine"\nprompt = "argument"\n'
            '[[rules]]\nwhen = { ok = true }\nemit = "final"\ntake = { text = "say" }\n'
            '[[rules]]\nwhen = { ok = true }\nemit = "outcome"\nstatus = "completed"\n'
        )
        options = AgentOptions(("mine.toml", "hi"), base_dir=tmp_path, search_path=str(tmp_path))
        agent = make_agent("preset", options)(make_task())
        result = agent.run(make_turn(path_prefix=(tmp_path,)))
        assert (agent.name, result.status, result.final_text) == (
            "mine",
            AgentStatus.COMPLETED,
            "hi",
        )

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("title = ", "is no TOML"),
            ('title = "x"', "is no preset"),
            (
                'title="x"\ndocumentation="x"\ncommand="x"\n[[rules]]\nemit="final"\n'
                'when = { a = { matches = "(" } }\n',
                r"rules\[0\]\.when\.a",
            ),
        ],
    )
    def test_what_is_wrong_with_it_is_said(self, tmp_path: Path, text: str, words: str) -> None:
        (tmp_path / "p.toml").write_text(text)
        with pytest.raises(InvalidInputError, match=words):
            read_preset(tmp_path / "p.toml")

    def test_a_cli_that_is_not_there_is_refused(self, make_task: MakeTask) -> None:
        with pytest.raises(InvalidInputError, match="'claude' is not found"):
            make_agent("claude-code", AgentOptions(search_path="/nowhere"))(make_task())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
keys = ["type", "message", "content", "item", "result", "usage", "part", "error", "status", "stats"]


@given(
    st.sampled_from(preset_names()),
    st.lists(
        st.text(max_size=20) | st.dictionaries(st.sampled_from(keys), json_values).map(json.dumps),
        max_size=4,
    ),
)
def test_no_output_breaks_a_reader(name: str, lines: list[str]) -> None:
    reader = OutputReader(load_preset(name), Transcript())
    for line in lines:
        reader.line(line)
    reader.close()
