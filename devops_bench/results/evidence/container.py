"""The file under the evidence: JSON lines in one gzip stream, each line sealed by a checksum.

``zcat`` and ``jq`` read it. After every batch of lines the compressor is flushed to a byte boundary
(``Z_SYNC_FLUSH``, https://www.rfc-editor.org/rfc/rfc1951), so that whatever was written can be
decompressed although the stream has no end yet. Deflate itself notices few faults, so each line
ends in a CRC-32 that also runs over all lines before it: a line that was changed, lost or moved
ends what can be believed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from devops_bench.core.files import Written, sync_folder
from devops_bench.core.json import JsonObject, JsonValue

_GZIP: Final = 31
_LEVEL: Final = 6
_CHUNK: Final = 1 << 16
_MAX_OUT: Final = 1 << 20
_MAX_LINE: Final = 1 << 26
"""Far above the largest object that etcd stores; a damaged stream may claim anything."""
_SEAL: Final = b',"crc":"%08x"}'
_SEAL_BYTES: Final = len(_SEAL % 0)


class LineFile:
    """Writes the file. Not thread-safe, but for :meth:`difference`.

    Args:
        path: A file that does not exist yet; its folder must.

    Raises:
        OSError: It could not be made.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o644)
        self._compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._crc = 0
        self._closed = False
        self._written = Written(path)
        self._writing = threading.Lock()
        self._unsynced_folder: Path | None = path.parent

    def write(self, lines: Iterable[bytes]) -> None:
        """Add lines, each a JSON object with at least one member and without a line feed.

        A kill after this returned loses none of them.

        Raises:
            OSError: They could not be written; nothing may be added any more.
        """
        parts = [self._compressor.compress(self._sealed(line)) for line in lines]
        parts.append(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        self._put(b"".join(parts))

    def sync(self) -> None:
        """Bring what was written to the disk, so that a machine that fails loses none of it.

        Raises:
            OSError: It could not be brought there.
        """
        os.fsync(self._descriptor)
        folder, self._unsynced_folder = self._unsynced_folder, None
        if folder is not None:
            sync_folder(folder)

    def close(self) -> None:
        """End the stream and bring it to the disk. Safe to call twice.

        Raises:
            OSError: It could not be written.
        """
        if self._closed:
            return
        try:
            self._put(self._compressor.flush(zlib.Z_FINISH))
            self.sync()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is, without an end. Safe to call twice."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def difference(self) -> str:
        """Return what others did to the file; empty for nothing. Any thread may ask, any time."""
        with self._writing:
            return self._written.difference()

    def _sealed(self, line: bytes) -> bytes:
        self._crc = zlib.crc32(line, self._crc)
        return line[:-1] + _SEAL % self._crc + b"\n"

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        with self._writing:
            while view:
                size = os.write(self._descriptor, view)
                self._written.add(view[:size])
                view = view[size:]


@dataclass(slots=True)
class Ending:
    """How reading ended; filled when the last line was yielded.

    Attributes:
        closed: Whether the writer closed the file; it did not when it was killed or still runs.
        damage: What is wrong with the file beyond that, empty for nothing: everything from there
            on is unknown.
        lines: How many whole lines there are.
    """

    closed: bool = False
    damage: str = ""
    lines: int = 0


def read_lines(path: Path, ending: Ending) -> Iterator[JsonObject]:
    """Yield the lines of a file as far as they are whole; damage never raises.

    Args:
        path: The file; it may still be written, or its writer may have been killed at any byte.
        ending: Gets how it ended.

    Raises:
        OSError: The file could not be read.
    """
    crc = 0
    for line in _raw_lines(path, ending):
        body = line[:-_SEAL_BYTES] + b"}"
        crc = zlib.crc32(body, crc)
        if line[-_SEAL_BYTES:] != _SEAL % crc:
            ending.damage = f"line {ending.lines + 1} does not match its checksum"
            return
        value = _parsed(body)
        if not isinstance(value, dict):
            ending.damage = f"line {ending.lines + 1} is not a JSON object"
            return
        ending.lines += 1
        yield value


def _parsed(body: bytes) -> JsonValue:
    try:
        value: JsonValue = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value


def _raw_lines(path: Path, ending: Ending) -> Iterator[bytes]:
    rest = b""
    for data in _decompressed(path, ending):
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
        if len(rest) > _MAX_LINE:
            ending.damage = f"line {ending.lines + 1} has no end"
            return
    if rest and ending.closed and not ending.damage:
        ending.damage = "it was closed inside a line"


def _decompressed(path: Path, ending: Ending) -> Iterator[bytes]:
    """Yield what the stream holds, in bounded pieces."""
    decompressor = zlib.decompressobj(_GZIP)
    with path.open("rb") as file:
        while not decompressor.eof and (chunk := file.read(_CHUNK)):
            before = decompressor.copy()
            try:
                # A chunk as a whole: what comes before a fault in it would be lost with the fault.
                pieces = list(_inflated(decompressor, chunk))
            except zlib.error as exc:
                yield from _up_to_the_fault(before, chunk)
                ending.damage = f"the compressed data is damaged ({exc})"
                return
            yield from pieces
        ending.closed = decompressor.eof
        if decompressor.eof and (decompressor.unused_data or file.read(1)):
            ending.damage = "there is something behind its end"


def _inflated(decompressor: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    piece = b""
    while (data and not decompressor.eof) or len(piece) == _MAX_OUT:
        piece = decompressor.decompress(data, _MAX_OUT)
        data = decompressor.unconsumed_tail
        yield piece


def _up_to_the_fault(decompressor: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    with contextlib.suppress(zlib.error):  # the fault that is looked for
        for place in range(len(data)):
            yield from _inflated(decompressor, data[place : place + 1])
