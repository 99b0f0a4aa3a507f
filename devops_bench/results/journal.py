"""What happened in a task, line by line, on the disk as it happens.

A run that was killed says by its journal how far it came.
"""

from __future__ import annotations

from pathlib import Path

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.files import AppendOnlyLog, read_log
from devops_bench.core.json import JsonObject, JsonValue

JOURNAL_NAME = "journal.jsonl"


class Journal:
    """The journal of one task; thread-safe.

    Each line is an object with ``at`` (wall time, UTC), ``t`` (seconds after the journal was
    opened, from a clock that never goes back), ``event``, and what the event carries.

    Args:
        folder: The task's folder; it must exist.
        clock: Where time comes from.

    Raises:
        OSError: The file could not be opened.
    """

    def __init__(self, folder: Path, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._log = AppendOnlyLog(folder / JOURNAL_NAME)
        self._clock = clock
        self._start = clock.monotonic()

    def write(self, event: str, **fields: JsonValue) -> None:
        """Add one line.

        Args:
            event: A stable name in snake_case.
            fields: What the event carries; never a secret.

        Raises:
            OSError: It could not be written.
        """
        record: JsonObject = {
            "at": self._clock.now().isoformat(timespec="milliseconds"),
            "t": round(self._clock.monotonic() - self._start, 4),
            "event": event,
            **fields,
        }
        self._log.append(record)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._log.close()


def read_journal(folder: Path) -> list[JsonObject]:
    """Return the lines of the journal in a task's folder, as far as they are whole.

    Raises:
        OSError: There is no journal, or it could not be read.
    """
    return read_log(folder / JOURNAL_NAME)
