"""Sees which other processes than its writer change a file: fanotify, on Linux, as root.

A group of its own beside that of ``filewatch``: truncate(2) by a path opens nothing, and is told
only to groups that want no descriptors (``FAN_REPORT_FID``), which cannot let a process wait.
https://man7.org/linux/man-pages/man2/fanotify_init.2.html
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger(__name__)

MAX_CHANGERS: Final = 20
"""So many different ones are kept."""

_CLOEXEC, _NONBLOCK, _REPORT_FID = 0x1, 0x2, 0x200
_MARK_ADD: Final = 0x1
_MODIFY, _OVERFLOW = 0x2, 0x4000
_AT_FDCWD: Final = -100
_EVENT: Final = struct.Struct("=IBBHQii")
_BUFFER_BYTES: Final = 1 << 16
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
        self._descriptor = -1
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch; never raises, :attr:`why_not` says what is in the way."""
        if sys.platform != "linux":
            self.why_not = "fanotify is there on Linux only"
            return
        try:
            self._open()
        except OSError as exc:
            self.why_not = f"fanotify cannot be used: {exc.strerror or exc}"
            self._close()
            return
        self.why_not = None
        self._thread = threading.Thread(target=self._run, name="log-watch", daemon=True)
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

    def _open(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        flags = _CLOEXEC | _NONBLOCK | _REPORT_FID
        self._descriptor = _checked(libc.fanotify_init(flags, os.O_RDONLY | os.O_CLOEXEC))
        mark = libc.fanotify_mark
        mark.argtypes = [
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_uint64,
            ctypes.c_int,
            ctypes.c_char_p,
        ]
        path = os.fsencode(self._file)
        _checked(mark(self._descriptor, _MARK_ADD, _MODIFY, _AT_FDCWD, path))

    def _run(self) -> None:
        try:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            while not self._stop.is_set():
                if poll.poll(_POLL_MS):
                    self._take()
            while poll.poll(0):
                self._take()
        except Exception as exc:
            log.exception("log_watch.failed")
            self.why_not = f"it failed: {exc}"
        finally:
            self._close()

    def _take(self) -> None:
        data = os.read(self._descriptor, _BUFFER_BYTES)
        while len(data) >= _EVENT.size:
            length, _, _, _, mask, _, pid = _EVENT.unpack_from(data)
            data = data[length:]
            if mask & _OVERFLOW:
                self.why_not = "more was changed than could be looked at"
            elif pid not in self._writers and len(self._changes) < MAX_CHANGERS:
                self._changes[f"{_program(pid)} changed {self._file}"] = None

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _program(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = [b""]
    return Path(os.fsdecode(words[0])).name or f"process {pid}"
