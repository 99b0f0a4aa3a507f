"""Which tool call of the agent was at work at a moment, as its transcript tells it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.core.files import read_log
from devops_bench.core.json import JsonObject, JsonValue

TRANSCRIPT_NAME: Final = "transcript.jsonl"
"""JSON lines, each with ``type`` and ``at`` (ISO 8601, UTC); ``tool_call`` has ``id`` and ``tool``,
``tool_result`` the ``id``."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        id: Its id in the transcript.
        tool: The tool.
        began_at: When it was called (UTC).
        ended_at: When it had answered; ``None`` when the transcript does not say.
    """

    id: str
    tool: str
    began_at: dt.datetime
    ended_at: dt.datetime | None


class ToolCalls:
    """The calls of one turn.

    Args:
        calls: All of them.
    """

    def __init__(self, calls: Iterable[ToolCall] = ()) -> None:
        self._calls = tuple(calls)

    @classmethod
    def read(cls, path: Path) -> ToolCalls:
        """Return the calls of a transcript, none when it cannot be read."""
        try:
            return cls(tool_calls(read_log(path)))
        except OSError:
            return cls()

    def at(self, moment: dt.datetime) -> str | None:
        """Return the one call that was at work, ``TOOL (ID)``; ``None`` for none, or several."""
        found = [
            call
            for call in self._calls
            if call.ended_at is not None and call.began_at <= moment <= call.ended_at
        ]
        return f"{found[0].tool} ({found[0].id})" if len(found) == 1 else None


def tool_calls(records: Iterable[JsonObject]) -> list[ToolCall]:
    """Return the calls of a transcript's records; a record that says less is passed over."""
    calls: dict[str, ToolCall] = {}
    for record in records:
        kind, call_id, at = record.get("type"), record.get("id"), _time(record.get("at"))
        if not isinstance(call_id, str) or at is None:
            continue
        if kind == "tool_call":
            calls[call_id] = ToolCall(call_id, str(record.get("tool", "")), at, None)
        elif kind == "tool_result" and call_id in calls:
            began = calls[call_id]
            calls[call_id] = ToolCall(began.id, began.tool, began.began_at, at)
    return list(calls.values())


def _time(raw: JsonValue) -> dt.datetime | None:
    try:
        found = dt.datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=dt.UTC)
