"""The journal of a task."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path

from devops_bench.results.journal import JOURNAL_NAME, Journal, read_journal


class StepClock:
    """Moves one second with every look at it."""

    def __init__(self) -> None:
        self.time = 50.0

    def monotonic(self) -> float:
        self.time += 1
        return self.time

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        return event.is_set()


def test_each_line_says_when_it_was(tmp_path: Path) -> None:
    journal = Journal(tmp_path, clock=StepClock())
    journal.write("task_started", task="t1")
    journal.write("task_ended", status="passed")
    assert read_journal(tmp_path) == [
        {"at": "2026-01-02T03:04:05.000+00:00", "t": 1.0, "event": "task_started", "task": "t1"},
        {
            "at": "2026-01-02T03:04:05.000+00:00",
            "t": 2.0,
            "event": "task_ended",
            "status": "passed",
        },
    ]
    journal.close()


def test_a_line_is_there_before_the_journal_is_closed(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write("phase_started", phase="turn")
    with (tmp_path / JOURNAL_NAME).open("ab") as file:
        file.write(b'{"event": "to')  # what a kill in the middle of a write leaves
    assert [record["event"] for record in read_journal(tmp_path)] == ["phase_started"]
    journal.close()
    journal.close()


def test_a_full_disk_stops_the_journal_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / JOURNAL_NAME).symlink_to("/dev/full")
    journal = Journal(tmp_path)
    journal.write("task_started")
    journal.write("phase_started")
    journal.close()
    journal.write("task_ended")
    assert journal.problem is not None
    assert "No space left" in journal.problem
