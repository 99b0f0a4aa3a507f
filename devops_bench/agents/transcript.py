"""What an agent said and did, in one schema for all agents, readable while it is written.

A transcript is a file of JSON lines. Every record has ``type``, ``at`` (UTC, ISO 8601) and ``sec``
(seconds after the turn's start). The types are

* ``turn_started``: ``schema_version``, ``agent``;
* ``message``: ``role`` (``user`` or ``assistant``) and ``text``;
* ``reasoning``: ``text``, where an agent shows it;
* ``tool_call``: ``id``, ``tool``, ``arguments``;
* ``tool_result``: ``id``, ``text``, ``exit_code`` (null where there is none), ``is_error``, and
  ``elapsed_sec`` (null when the call was not seen);
* ``output``: ``stream`` (``stdout`` or ``stderr``) and ``text``, of a program whose words have no
  structure;
* ``usage``: the turn's usage so far, see :class:`devops_bench.agents.usage.Usage`;
* ``error``: ``text``;
* ``turn_ended``: ``status``, ``reason``, ``exit_code`` and the usage.

Credentials are taken out before a record is written, and a text past :data:`MAX_TEXT` is cut,
which ``cut_chars`` then says.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from devops_bench.agents.usage import Usage
from devops_bench.core.files import AppendOnlyLog
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.redaction import REDACTED, SECRET_NAMES, redact
from devops_bench.core.secretforms import KnownSecrets

SCHEMA_VERSION: Final = 1
TRANSCRIPT_NAME: Final = "transcript.jsonl"

MAX_TEXT: Final = 64 * 1024
"""Characters of one text that are kept."""

MAX_RECORDS: Final = 100_000
"""Records of one transcript; what comes after is counted by ``turn_ended`` as ``dropped``."""

Role = Literal["user", "assistant"]


class Transcript:
    """Writes one transcript; thread-safe.

    What cannot be written (a full disk) never disturbs the turn: it is kept in :attr:`problem`.

    Args:
        path: The file, made when it is missing, mode 0600; ``None`` writes nothing.
        secrets: Values that must not appear, besides what looks like a credential.

    Attributes:
        secrets: These values; whatever else is written of the turn is to be without them, too.
    """

    def __init__(
        self, path: Path | None = None, *, secrets: Iterable[str] | KnownSecrets = ()
    ) -> None:
        self.path = path
        self.problem: str | None = None
        self.secrets = secrets if isinstance(secrets, KnownSecrets) else KnownSecrets(secrets)
        self._file = None if path is None else AppendOnlyLog(path, mode=0o600)
        self._log = self._file
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._calls: dict[str, float] = {}
        self._written = 0
        self._dropped = 0

    def clean(self, text: str) -> str:
        """Return the text without credentials."""
        return redact(self.secrets.clean(text))

    def turn_started(self, agent: str, prompt: str) -> None:
        """Write that the turn begins, and the prompt as the user's message."""
        self._write("turn_started", {"schema_version": SCHEMA_VERSION, "agent": agent})
        self.message("user", prompt)

    def message(self, role: Role, text: str) -> None:
        """Write a message."""
        self._write("message", {"role": role, **self._text(text)})

    def reasoning(self, text: str) -> None:
        """Write what the agent showed of its reasoning."""
        self._write("reasoning", self._text(text))

    def tool_call(self, call_id: str, tool: str, arguments: JsonValue) -> None:
        """Write that a tool is called.

        Args:
            call_id: By which its result finds it.
            tool: The tool's name.
            arguments: What it was given.
        """
        with self._lock:
            self._calls[call_id] = time.monotonic()
        cleaned = self._cleaned("", arguments)
        self._write("tool_call", {"id": call_id, "tool": tool, "arguments": cleaned})

    def tool_result(
        self, call_id: str, text: str, *, exit_code: int | None = None, is_error: bool = False
    ) -> None:
        """Write what a call came to.

        Args:
            call_id: That of the call.
            text: What the tool answered.
            exit_code: Of the program that it ran, ``None`` without one.
            is_error: Whether the agent was told that it failed.
        """
        with self._lock:
            called = self._calls.pop(call_id, None)
        self._write(
            "tool_result",
            {
                "id": call_id,
                **self._text(text),
                "exit_code": exit_code,
                "is_error": is_error,
                "elapsed_sec": None if called is None else round(time.monotonic() - called, 6),
            },
        )

    def output(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Write words of a program that have no structure."""
        self._write("output", {"stream": stream, **self._text(text)})

    def usage(self, usage: Usage) -> None:
        """Write the turn's usage so far."""
        self._write("usage", usage.as_json())

    def error(self, text: str) -> None:
        """Write what went wrong."""
        self._write("error", self._text(text))

    def turn_ended(
        self, status: str, reason: str, *, exit_code: int | None = None, usage: Usage | None = None
    ) -> None:
        """Write how the turn ended, also when the transcript is full."""
        record: JsonObject = {
            "status": status,
            "reason": self.clean(reason),
            "exit_code": exit_code,
            "usage": None if usage is None else usage.as_json(),
            "dropped": self._dropped,
        }
        self._write("turn_ended", record, always=True)

    def difference(self) -> str:
        """Return what others did to the file; empty for nothing. Also when it is closed."""
        return "" if self._file is None else self._file.difference()

    def close(self) -> None:
        """Close the file; what is written later is dropped. Safe to call twice."""
        with self._lock:
            log, self._log = self._log, None
        if log is not None:
            log.close()

    def _text(self, text: str) -> JsonObject:
        cleaned = self.clean(text)
        if len(cleaned) <= MAX_TEXT:
            return {"text": cleaned}
        return {"text": cleaned[:MAX_TEXT], "cut_chars": len(cleaned) - MAX_TEXT}

    def _cleaned(self, name: str, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            if name and SECRET_NAMES.search(name):
                return REDACTED
            return self.clean(value)[:MAX_TEXT]
        if isinstance(value, dict):
            return {key: self._cleaned(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._cleaned(name, item) for item in value]
        return value

    def _write(self, kind: str, fields: JsonObject, *, always: bool = False) -> None:
        record: JsonObject = {
            "type": kind,
            "at": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
            "sec": round(time.monotonic() - self._start, 6),
            **fields,
        }
        with self._lock:
            if self._log is None:
                return
            if self._written >= MAX_RECORDS and not always:
                self._dropped += 1
                return
            self._written += 1
            try:
                self._log.append(record)
            except (OSError, ValueError) as exc:
                self.problem = str(exc)
