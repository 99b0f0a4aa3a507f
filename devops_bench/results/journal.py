"""What happened in a task, line by line, on the disk as it happens.

A run that was killed says by its journal how far it came.
"""

from __future__ import annotations

from pathlib import Path

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.files import AppendOnlyLog, read_log
from devops_bench.core.json import JsonObject, JsonValue

JOURNAL_NAME = "journal.jsonl"

log = structlog.get_logger(__name__)


class Journal:
    """The journal of one task; thread-safe.

    Each line is an object with ``at`` (wall time, UTC), ``t`` (seconds after the journal was
    opened, from a clock that never goes back), ``event``, and what the event carries.

    Args:
        folder: The task's folder; it must exist.
        clock: Where time comes from.

    Attributes:
        problem: Why the journal is not whole, ``None`` while it is.

    Raises:
        OSError: The file could not be opened.
    """

    def __init__(self, folder: Path, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._log = AppendOnlyLog(folder / JOURNAL_NAME)
        self.problem: str | None = None
        self._clock = clock
        self._start = clock.monotonic()

    def write(self, event: str, **fields: JsonValue) -> None:
        """Add one line.

        A line that cannot be written (a full disk, a folder that was taken away) is noted in
        :attr:`problem` and changes nothing else: what was seen still counts, and what was made
        still has to be taken down.

        Args:
            event: A stable name in snake_case.
            fields: What the event carries; never a secret.
        """
        record: JsonObject = {
            "at": self._clock.now().isoformat(timespec="milliseconds"),
            "t": round(self._clock.monotonic() - self._start, 4),
            "event": event,
            **fields,
        }
        try:
            self._log.append(record)
        except OSError as exc:
            if self.problem is None:
                self.problem = f"the journal is not whole: {exc.strerror or exc}"
                path, reason = str(self._log.path), str(exc)
                log.warning("journal.cut", path=path, lost_event=event, reason=reason)

    def difference(self) -> str:
        """Return what others did to the file; empty for nothing."""
        return self._log.difference()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._log.close()


def read_journal(folder: Path) -> list[JsonObject]:
    """Return the lines of the journal in a task's folder, as far as they are whole.

    Raises:
        OSError: There is no journal, or it could not be read.
    """
    return read_log(folder / JOURNAL_NAME)
