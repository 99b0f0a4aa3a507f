"""A file for somebody else's output: it takes so much, and counts what it did not take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class OutputSink(Protocol):
    """Takes a program's output as it comes; used from one thread.

    Attributes:
        dropped: Bytes that it did not take.
        fault: Why it could not take some, such as a full disk; empty when it could.
    """

    dropped: int
    fault: str

    def write(self, data: bytes) -> None:
        """Take the next bytes; called with none at the end of the stream."""
        ...

    def close(self) -> None:
        """Take no more."""
        ...


class BoundedFile:
    """A new private file (mode 0600) that takes so many bytes.

    Attributes:
        dropped: Bytes that are not in the file.
        fault: Why some could not be written, such as a full disk; empty when all could.

    Args:
        path: The file; what was in it is gone.
        room: How many bytes are kept, ≥ 0.

    Raises:
        OSError: The file could not be made.
    """

    def __init__(self, path: Path, room: int) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._room = room
        self.dropped = 0
        self.fault = ""

    def write(self, data: bytes) -> None:
        """Keep as much of ``data`` as there is room for; never raises for what the disk says."""
        kept = 0
        try:
            while wanted := memoryview(data)[kept : kept + self._room]:
                written = self._file.write(wanted) or 0
                kept += written
                self._room -= written
        except OSError as exc:
            # What is kept stays the beginning, without a hole, should there be room again.
            self._room = 0
            self.fault = exc.strerror or str(exc)
        self.dropped += len(data) - kept

    def close(self) -> None:
        """Close the file; safe to call twice."""
        try:
            self._file.close()
        except OSError as exc:  # a file system that writes late
            self.fault = self.fault or exc.strerror or str(exc)
