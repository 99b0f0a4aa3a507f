from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.toolcalls import ToolCalls, tool_calls

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def at(sec: float) -> dt.datetime:
    return START + dt.timedelta(seconds=sec)


def call(name: str, began: float, ended: float | None) -> list[JsonObject]:
    records: list[JsonObject] = [
        {"type": "tool_call", "id": name, "tool": "bash", "at": at(began).isoformat()}
    ]
    if ended is not None:
        records.append({"type": "tool_result", "id": name, "at": at(ended).isoformat()})
    return records


def test_a_moment_belongs_to_the_one_call_at_work() -> None:
    calls = ToolCalls(tool_calls([*call("a", 1, 2), *call("b", 3, 4)]))
    assert [calls.at(at(sec)) for sec in (0, 1.5, 2.5, 3)] == [None, "bash (a)", None, "bash (b)"]


def test_what_cannot_be_told_is_not_told() -> None:
    assert ToolCalls(tool_calls([*call("a", 1, 4), *call("b", 2, 3)])).at(at(2.5)) is None
    assert ToolCalls(tool_calls(call("a", 1, None))).at(at(2)) is None


def test_it_reads_a_transcript_as_far_as_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    lines = [json.dumps(record) for record in ({"type": "message", "text": "x"}, *call("a", 1, 2))]
    path.write_text("\n".join(lines) + '\n{"type": "tool_c')
    assert ToolCalls.read(path).at(at(1.5)) == "bash (a)"
    assert ToolCalls.read(tmp_path / "missing").at(at(1.5)) is None


JSON = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("2026-01-01")


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["type", "id", "at", "tool"]), JSON, max_size=4), max_size=8
    )
)
def test_no_record_breaks_it(records: list[dict[str, JsonValue]]) -> None:
    ToolCalls(tool_calls(records)).at(START)
