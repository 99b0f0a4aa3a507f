"""Sees which other processes than its writer change a file: fanotify, on Linux, as root.

A group of its own beside that of ``filewatch``: truncate(2) by a path opens nothing, and is told
only to groups that want no descriptors, which cannot let a process wait.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

from devops_bench.evalharness import fanotify

log = structlog.get_logger(__name__)

MAX_CHANGERS: Final = 20
"""So many different ones are kept."""

_POLL_MS: Final = 200


class LogWatch:
    """Notes who changes a file. Reading it is no change.

    Args:
        file: The file.
        writers: The ids of the processes that may.

    Attributes:
        why_not: Why not everything can be seen; ``None`` while it is.
    """

    def __init__(self, file: Path, writers: Iterable[int]) -> None:
        self.why_not: str | None = "nobody watched it"
        self._file = file
        self._writers = frozenset(writers)
        self._changes: dict[str, None] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch; never raises, :attr:`why_not` says what is in the way."""
        try:
            group = fanotify.Group(fanotify.REPORT_FID)
        except OSError as exc:
            self.why_not = f"fanotify cannot be used: {exc.strerror or exc}"
            return
        try:
            group.mark([self._file], fanotify.MODIFY)
        except OSError as exc:
            self.why_not = f"fanotify cannot be used for its file system: {exc.strerror or exc}"
            group.close()
            return
        self.why_not = None
        self._thread = threading.Thread(
            target=self._run, args=(group,), name="log-watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> list[str]:
        """End it; safe to call twice.

        Returns:
            ``PROGRAM changed FILE`` for each other process that did; a program that has ended since
            by its number.
        """
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)
        return list(self._changes)

    def _run(self, group: fanotify.Group) -> None:
        try:
            while not self._stop.is_set():
                self.take(group, _POLL_MS)
            while self.take(group, 0):
                pass
        except Exception as exc:
            log.exception("log_watch.failed")
            self.why_not = f"it failed: {exc}"
        finally:
            group.close()

    def take(self, group: fanotify.Group, wait_ms: int) -> bool:
        """Note who changed it; return whether anything was told within ``wait_ms``."""
        told = False
        for event in group.events(wait_ms):
            told = True
            if event.mask & fanotify.OVERFLOW:
                self.why_not = "more was changed than could be looked at"
            elif event.pid not in self._writers and len(self._changes) < MAX_CHANGERS:
                self._changes[f"{fanotify.program_of(event.pid)} changed {self._file}"] = None
        return told
