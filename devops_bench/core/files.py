"""Files that survive a kill: written whole or not at all, or a line at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from devops_bench.core.json import JsonObject

_BLOCK_BYTES: Final = 1 << 20


def write_atomic(path: Path, data: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or all of the new, never a part.

    The data goes to a temporary file in the same folder (a rename is atomic within one file
    system only), reaches the disk, and then takes the name; so does the folder's entry.

    Args:
        path: The file; its folder must exist. A symlink is replaced, not followed.
        data: The new content; text is encoded as UTF-8.
        mode: The permissions of the new file; ``0o600`` for what is private.

    Raises:
        OSError: It could not be written; the old file is untouched and nothing is left beside it.
    """
    raw = data.encode() if isinstance(data, str) else data
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring the folder's entries to the disk, where its file system offers that."""
    # Some network file systems refuse to sync a folder; the file itself is safe by then.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Written:
    """What was written to a file, so that it can be compared with what is in it. Not thread-safe.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        self._size = 0

    def add(self, data: bytes | memoryview) -> None:
        """Count what reached the file."""
        self._hash.update(data)
        self._size += len(data)

    def difference(self) -> str:
        """Return what was done to the file by others, e.g. ``was changed``; empty for nothing.

        It is the file that has the name now, whichever one was written.
        """
        try:
            with self._path.open("rb") as file:
                found, left = hashlib.sha256(), self._size
                while left and (block := file.read(min(left, _BLOCK_BYTES))):
                    found.update(block)
                    left -= len(block)
                if left:
                    return "was cut"
                if found.digest() != self._hash.digest():
                    return "was changed"
                return "holds what the harness did not write" if file.read(1) else ""
        except FileNotFoundError:
            return "was deleted"
        except OSError as exc:
            return f"cannot be read ({exc.strerror or exc})"


class AppendOnlyLog:
    """A file of JSON lines that can be read while it is written, and after a kill.

    Each line is one ``write`` on a descriptor in append mode, so that lines of several threads
    never mix, and is on the disk when :meth:`append` returns. A torn last line of an earlier
    writer is ended first, so that it spoils no other.

    Args:
        path: The file; created when it is missing, its folder must exist.
        mode: The permissions of a new file.

    Raises:
        OSError: The file could not be opened.
    """

    def __init__(self, path: Path, *, mode: int = 0o644) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        self._closed = False
        self._written = Written(path)
        for block in _blocks(self._descriptor):
            self._written.add(block)
        if _ends_in_a_torn_line(self._descriptor):
            self._put(b"\n")

    def append(self, record: JsonObject) -> None:
        """Add one record; thread-safe.

        Args:
            record: Anything ``json`` can write strictly (no NaN, no infinity).

        Raises:
            ValueError: The record is no strict JSON; nothing was written.
            OSError: It could not be written, e.g. because the log is closed or the disk is full.
        """
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # A lone surrogate (from a file name, say) is legal in str and not in UTF-8.
        line = text.encode("utf-8", errors="backslashreplace") + b"\n"
        with self._lock:
            if self._closed:
                raise OSError(f"the log {self.path} is closed")
            self._put(line)
            os.fsync(self._descriptor)

    def difference(self) -> str:
        """Return what others did to the file, see :meth:`Written.difference`; also when closed."""
        with self._lock:
            return self._written.difference()

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            size = os.write(self._descriptor, view)
            self._written.add(view[:size])
            view = view[size:]

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._descriptor)

    def __enter__(self) -> AppendOnlyLog:
        """Return the log itself."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


def _blocks(descriptor: int) -> Iterator[bytes]:
    """Yield what is in a file already, from its beginning."""
    at, end = 0, os.fstat(descriptor).st_size  # a device has no end, and none to say
    while at < end and (block := os.pread(descriptor, min(_BLOCK_BYTES, end - at), at)):
        at += len(block)
        yield block


def _ends_in_a_torn_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def read_log(path: Path) -> list[JsonObject]:
    """Return the records of an :class:`AppendOnlyLog`, as far as they are whole.

    Reading stops at the end of the file, at a line that has no end yet (its writer was killed or
    is at work), and skips a line that a later writer ended for a killed one.

    Args:
        path: The file.

    Raises:
        OSError: The file could not be read.
    """
    records: list[JsonObject] = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records
