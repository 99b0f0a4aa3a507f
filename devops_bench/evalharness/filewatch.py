"""Sees which files of the harness the agent's processes open: fanotify, on Linux, as root.

https://man7.org/linux/man-pages/man7/fanotify.7.html. Each opening waits for our answer, which
always is yes: only so the process still exists when it is looked at. When this process ends, the
kernel lets everybody go on.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import structlog

from devops_bench.core.reaper import descendants
from devops_bench.evalharness import fanotify

log = structlog.get_logger(__name__)

MAX_FOLDERS: Final = 1000
MAX_OPENINGS: Final = 100
"""So many different openings are kept."""

_POLL_MS: Final = 200
_MAX_ANCESTORS: Final = 64


class FileWatch:
    """Notes files that processes below this one open; those that run already are not meant.

    Args:
        folders: What is watched, with everything below that is there now.
        files: More files.
        allowed: Files and folders that they may open.

    Attributes:
        why_not: Why nothing can be seen; ``None`` while it is.
    """

    def __init__(
        self, folders: Iterable[Path], files: Iterable[Path] = (), allowed: Iterable[Path] = ()
    ) -> None:
        self.why_not: str | None = None
        self._folders = tuple(folders)
        self._files = tuple(files)
        self._allowed = tuple(path.resolve() for path in allowed)
        self._before: set[int] = set()
        self._openings: dict[tuple[str, str], None] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._group: fanotify.Group | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch; never raises, :attr:`why_not` says what is in the way."""
        # A control plane of ours reads its own keys again and again.
        self._before = descendants(os.getpid())
        try:
            group = self._group = fanotify.Group(fanotify.CLASS_CONTENT)
            group.mark(self._all_folders(), fanotify.OPEN_PERM | fanotify.ON_CHILD)
            group.mark(self._files, fanotify.OPEN_PERM)
        except OSError as exc:
            self.why_not = f"fanotify cannot be used: {exc.strerror or exc}"
            self._close()
            return
        self._thread = threading.Thread(
            target=self._run, args=(group,), name="file-watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> list[str]:
        """End it; safe to call twice.

        Returns:
            ``PROGRAM opened FILE`` for each that was opened.
        """
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)
        with self._lock:
            return [f"{program} opened {path}" for program, path in self._openings]

    def _all_folders(self) -> Iterator[Path]:
        count = 0
        for top in self._folders:
            for name, below, _ in os.walk(top):
                folder = Path(name).resolve()
                if self._is_allowed(folder):
                    below.clear()
                    continue
                count += 1
                if count > MAX_FOLDERS:
                    raise OSError(f"there are more than {MAX_FOLDERS} folders to watch")
                yield folder

    def _is_allowed(self, path: Path) -> bool:
        return any(path == one or path.is_relative_to(one) for one in self._allowed)

    def _run(self, group: fanotify.Group) -> None:
        try:
            while not self._stop.is_set():
                self._take(group, _POLL_MS)
            self._take(group, 0)
        except Exception as exc:
            log.exception("file_watch.failed")
            self.why_not = f"it failed: {exc}"
        finally:
            # Whatever happened: nobody may wait for an answer that never comes.
            self._close()

    def _take(self, group: fanotify.Group, wait_ms: int) -> None:
        for event in group.events(wait_ms):
            if event.descriptor < 0:
                self.why_not = "more was opened than could be looked at"
                continue
            try:
                if event.pid != os.getpid() and event.mask & fanotify.OPEN_PERM:
                    self._look(event.descriptor, event.pid)
            finally:
                with contextlib.suppress(OSError):  # whoever asked is gone
                    group.allow(event)
                os.close(event.descriptor)

    def _look(self, descriptor: int, pid: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if self._is_allowed(path) or not _is_below_us(pid, self._before):
            return
        with self._lock:
            if len(self._openings) < MAX_OPENINGS:
                self._openings[fanotify.program_of(pid), str(path)] = None

    def _close(self) -> None:
        if self._group is not None:
            self._group.close()


def _is_below_us(pid: int, before: set[int]) -> bool:
    ours = os.getpid()
    for _ in range(_MAX_ANCESTORS):
        if pid == ours:
            return True
        if pid in before:
            return False
        parent = _parent(pid)
        if parent is None or parent <= 1:
            return False
        pid = parent
    return False


def _parent(pid: int) -> int | None:
    try:
        # The name in parentheses may hold anything, also parentheses.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
