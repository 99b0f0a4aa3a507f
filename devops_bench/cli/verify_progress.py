"""Live progress of ``verify``: a line per event, and on a terminal one that says what runs."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from devops_bench.cli.errors import printable
from devops_bench.cli.live import LiveStream
from devops_bench.verify_protocol.model import Status, VerifyResult
from devops_bench.verify_protocol.task import VerifyTask

_COLORS = {Status.PASS: "32", Status.FAIL: "1;31", Status.ERROR: "33", Status.SKIP: "33"}
_CLEAR_LINE = "\r\x1b[2K"
_MOST_FAILURES = 5


class VerifyProgress:
    """Implements ``batch.BatchReporter`` on a text stream; a context manager, thread-safe.

    Args:
        stream: Where to write.
        tasks: How many tasks there are.
        monotonic: Seconds that never go back.
    """

    def __init__(
        self, stream: TextIO, *, tasks: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._screen = LiveStream(stream)
        self._tasks = tasks
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._done = 0
        self._running: dict[str, float] = {}

    def __enter__(self) -> VerifyProgress:
        """Start redrawing, on a terminal."""
        self._screen.start(self._redraw)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Stop redrawing and remove the live line."""
        self._screen.stop()
        if self._screen.live:
            self._screen.write(_CLEAR_LINE)

    def waiting(self, slots: Sequence[int]) -> None:
        """Say that another run has every slot."""
        names = ", ".join(map(str, slots))
        self._lines([f"waiting: another run uses slot {names}"])

    def started(self, task: VerifyTask, slot: int) -> None:
        """Say that a script runs."""
        with self._lock:
            self._running[task.id] = self._monotonic()
        self._lines([f"started  {printable(task.id)} on slot {slot}"])

    def finished(self, result: VerifyResult, elapsed_sec: float) -> None:
        """Say what a task came to, which checks failed, and what is wrong with its output."""
        with self._lock:
            self._done += 1
            self._running.pop(result.task_id, None)
            done = self._done
        word = str(result.status)
        if self._screen.color:
            word = f"\x1b[{_COLORS[result.status]}m{word}\x1b[0m"
        score = ""
        if result.status in {Status.PASS, Status.FAIL}:
            score = f" {result.score:.3f}"
        lines = [
            f"[{done}/{self._tasks}] {printable(result.task_id)}: {word}{score}"
            f" ({elapsed_sec:.1f} s)"
        ]
        lines += _some(
            [_failure(check.label, check.detail) for check in result.checks if not check.passed]
        )
        lines += _some([f"line {f.line}: {printable(f.message)}" for f in result.findings or ()])
        self._lines(lines)

    def _lines(self, lines: Sequence[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        self._screen.write(f"{_CLEAR_LINE}{text}{self._status()}" if self._screen.live else text)

    def _status(self) -> str:
        if self._screen.stopped:
            return ""
        now = self._monotonic()
        with self._lock:
            running = [f"{name} ({now - since:.0f} s)" for name, since in self._running.items()]
            text = f"> {self._done} of {self._tasks} done; running: {', '.join(running)}"
        return printable(text)[: shutil.get_terminal_size().columns - 1]

    def _redraw(self) -> None:
        self._screen.write(_CLEAR_LINE + self._status())


def _failure(label: str, detail: str) -> str:
    text = f"FAIL {printable(label[:200])}"
    return f"{text}: {printable(detail[:200])}" if detail else text


def _some(lines: Sequence[str]) -> list[str]:
    shown = [f"    {line}" for line in lines[:_MOST_FAILURES]]
    if len(lines) > _MOST_FAILURES:
        shown.append(f"    and {len(lines) - _MOST_FAILURES} more")
    return shown
