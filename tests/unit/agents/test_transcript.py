"""A transcript: readable while it is written, bounded, and without secrets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.base import AgentTurn
from devops_bench.agents.lines import LineReader
from devops_bench.agents.process import agent_home, run_agent_program
from devops_bench.agents.transcript import MAX_RECORDS, MAX_TEXT, Transcript
from devops_bench.agents.usage import Usage
from devops_bench.core.files import read_log
from devops_bench.core.json import JsonObject
from devops_bench.core.secretforms import KnownSecrets

KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBg\n" * 3 + "-----END PRIVATE KEY-----\n"


def test_every_record_can_be_read_while_more_are_written(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "t")
    transcript.turn_started("me", "mend it")
    assert [r["type"] for r in read_log(tmp_path / "t")] == ["turn_started", "message"]
    transcript.tool_call("1", "bash", {"command": "true"})
    transcript.tool_result("1", "", exit_code=0)
    transcript.tool_result("2", "a result without a call")
    transcript.turn_ended("completed", "done", usage=Usage(1, 2))
    records = read_log(tmp_path / "t")
    assert [r["type"] for r in records[2:]] == [
        "tool_call",
        "tool_result",
        "tool_result",
        "turn_ended",
    ]
    assert isinstance(records[3]["elapsed_sec"], float)
    assert records[4]["elapsed_sec"] is None
    assert all(isinstance(r["at"], str) and isinstance(r["sec"], float) for r in records)


def test_secrets_are_not_in_it(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "t", secrets=["known-secret", "short"])
    transcript.message("assistant", "known-secret, token=abcd1234 and short")
    transcript.tool_call(
        "1", "login", {"password": "hunter22", "n": [{"api_key": "x1"}], "u": "me"}
    )
    transcript.tool_result("1", KEY)
    transcript.turn_ended("failed", "known-secret")
    text = (tmp_path / "t").read_text()
    for secret in ("known-secret", "abcd1234", "hunter22", "x1", "MIIEvQ"):
        assert secret not in text
    assert '"u":"me"' in text
    assert "short" in text


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "t")
    transcript.output("stdout", "x" * (MAX_TEXT + 7))
    (record,) = read_log(tmp_path / "t")
    assert (len(str(record["text"])), record["cut_chars"]) == (MAX_TEXT, 7)


def test_a_flood_is_dropped_and_counted_and_the_end_is_written(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "t")
    transcript._written = MAX_RECORDS  # writing so many takes its time
    transcript.message("assistant", "too much")
    transcript.turn_ended("completed", "")
    (record,) = read_log(tmp_path / "t")
    assert (record["type"], record["dropped"]) == ("turn_ended", 1)


def test_what_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "t")
    log = transcript._log
    assert log is not None
    log.close()
    transcript.message("assistant", "x")
    assert transcript.problem is not None
    transcript.close()
    transcript.message("assistant", "x")


def test_without_a_file_nothing_is_written_and_secrets_are_still_known() -> None:
    transcript = Transcript(secrets=["known-secret"])
    transcript.message("user", "x")
    assert "known" not in transcript.clean("a known-secret")


def test_a_programs_words_are_there_while_it_runs(
    make_turn: Callable[..., AgentTurn], tmp_path: Path
) -> None:
    """The program itself waits until its first word is in the transcript."""
    file = tmp_path / "t"
    turn = make_turn(transcript=Transcript(file))
    script = f'echo first; until grep -q first "{file}"; do :; done; echo second >&2'
    with agent_home(turn) as home:
        run_agent_program(["bash", "-c", script], turn, home)
    assert [(r["stream"], r["text"]) for r in read_log(file)] == [
        ("stdout", "first\n"),
        ("stderr", "second\n"),
    ]


def test_a_private_key_is_kept_together_until_it_ends() -> None:
    shown: list[str] = []
    reader = LineReader(shown.append, whole=True)
    for line in f"before\n{KEY}after\n".splitlines(keepends=True):
        reader.feed(line.encode())
    reader.close()
    assert shown == ["before\n", KEY, "after\n"]


def test_a_secret_in_a_line_without_an_end_is_not_cut_in_two() -> None:
    shown: list[str] = []
    reader = LineReader(shown.append, whole=True, secrets=KnownSecrets(["known-secret"]))
    reader.feed(b"x" * (64 * 1024 - 6) + b"known-s")
    reader.feed(b"ecret and more")
    reader.close()
    assert "".join(shown).lstrip("x") == "[redacted] and more"


@given(st.text(max_size=200), st.integers(1, 9), st.booleans())
def test_nothing_is_lost_between_the_pieces(text: str, size: int, whole: bool) -> None:
    shown: list[str] = []
    reader = LineReader(shown.append, whole=whole)
    data = text.encode(errors="replace")
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    reader.close()
    decoded = data.decode()
    assert "".join(shown) == (decoded if whole else decoded.replace("\n", ""))


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers(), max_size=4))
def test_every_line_is_one_json_object(arguments: JsonObject) -> None:
    written: list[str] = []

    class Log:
        def append(self, record: JsonObject) -> None:
            written.append(json.dumps(record, allow_nan=False))

    transcript = Transcript()
    transcript._log = Log()  # type: ignore[assignment]
    transcript.tool_call("1", "t", arguments)
    assert len(written) == 1
    assert transcript.problem is None
