"""A fanotify group: what the kernel tells of files, on Linux, to root.

https://man7.org/linux/man-pages/man7/fanotify.7.html
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CLASS_CONTENT: Final = 0x4
"""Let a process wait until its opening is answered (fanotify_init(2))."""
REPORT_FID: Final = 0x200
"""Give no descriptors; without it truncate(2) by a path is not told (fanotify_init(2))."""
MODIFY, OVERFLOW, OPEN_PERM, ON_CHILD = 0x2, 0x4000, 0x10000, 0x08000000

_CLOEXEC, _NONBLOCK = 0x1, 0x2
_MARK_ADD: Final = 0x1
_AT_FDCWD: Final = -100
_EVENT: Final = struct.Struct("=IBBHQii")
_ANSWER: Final = struct.Struct("=iI")
_ALLOW: Final = 1
_BUFFER_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Event:
    """What was told.

    Attributes:
        mask: What happened.
        descriptor: The file, open for reading, to be closed by who takes it; negative for none.
        pid: Whose doing it was.
    """

    mask: int
    descriptor: int
    pid: int


class Group:
    """What is told of some files.

    Args:
        flags: :data:`CLASS_CONTENT` or :data:`REPORT_FID`.

    Raises:
        OSError: There is no fanotify here, or this process may not use it.
    """

    def __init__(self, flags: int) -> None:
        if sys.platform != "linux":
            raise OSError("it is there on Linux only")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.fanotify_mark.argtypes = [
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_uint64,
            ctypes.c_int,
            ctypes.c_char_p,
        ]
        flags |= _CLOEXEC | _NONBLOCK
        self._descriptor = _checked(self._libc.fanotify_init(flags, os.O_RDONLY | os.O_CLOEXEC))
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def mark(self, paths: Iterable[Path], mask: int) -> None:
        """Ask to be told what happens to files, or in folders.

        Args:
            paths: The files and folders.
            mask: What.

        Raises:
            OSError: It is not told there.
        """
        for path in paths:
            name = os.fsencode(path)
            _checked(self._libc.fanotify_mark(self._descriptor, _MARK_ADD, mask, _AT_FDCWD, name))

    def events(self, wait_ms: int) -> Iterator[Event]:
        """Yield what is told, at most one buffer full.

        Args:
            wait_ms: How long to wait for the first, in milliseconds; 0 for not at all.
        """
        if not self._poll.poll(wait_ms):
            return
        data = os.read(self._descriptor, _BUFFER_BYTES)
        while len(data) >= _EVENT.size:
            length, _, _, _, mask, descriptor, pid = _EVENT.unpack_from(data)
            data = data[length:]
            yield Event(mask, descriptor, pid)

    def allow(self, event: Event) -> None:
        """Let the process go on that waits for an answer.

        Raises:
            OSError: It has gone.
        """
        os.write(self._descriptor, _ANSWER.pack(event.descriptor, _ALLOW))

    def close(self) -> None:
        """End it; who waits for an answer goes on. Safe to call twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def program_of(pid: int) -> str:
    """Return what a process runs, by its file's name; by its number when it has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = [b""]
    return Path(os.fsdecode(words[0])).name or f"process {pid}"


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
