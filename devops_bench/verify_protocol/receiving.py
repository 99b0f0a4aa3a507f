"""A script's output as it comes through the pipe, never by way of a file.

A file can be replaced, truncated or turned into a FIFO by the script that it is the evidence of;
what went through the pipe is in our memory, out of its reach.
"""

from __future__ import annotations

from devops_bench.verify_protocol.model import Parsed
from devops_bench.verify_protocol.parser import Parser
from devops_bench.verify_protocol.redaction import Redactor


class Discarded:
    """Standard output, which is for people: counted, not kept.

    Attributes:
        dropped: How many bytes came.
        fault: Always empty.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self.fault = ""

    def write(self, data: bytes) -> None:
        """Count the next bytes."""
        self.dropped += len(data)

    def close(self) -> None:
        """Do nothing."""


class Kept:
    """Standard error as bytes, for the reference reader, which needs all of it at once.

    Attributes:
        dropped: Bytes beyond the room.
        fault: Always empty.

    Args:
        room: How many bytes are kept, ≥ 0.
    """

    def __init__(self, room: int) -> None:
        self.dropped = 0
        self.fault = ""
        self._room = room
        self._data = bytearray()

    @property
    def data(self) -> bytes:
        """What was kept: the beginning."""
        return bytes(self._data)

    def write(self, data: bytes) -> None:
        """Keep as much as there is room for."""
        taken = data[: self._room - len(self._data)]
        self._data += taken
        self.dropped += len(data) - len(taken)

    def close(self) -> None:
        """Do nothing."""


class Read:
    """Standard error, read for checks as it comes.

    Attributes:
        dropped: Bytes beyond the room; they are not read.
        fault: Always empty.

    Args:
        room: How many bytes are read, ≥ 0.
        redactor: Takes secrets out of what is quoted.
    """

    def __init__(self, room: int, redactor: Redactor) -> None:
        self.dropped = 0
        self.fault = ""
        self._room = room
        self._parser = Parser(redactor)

    def write(self, data: bytes) -> None:
        """Read as much as there is room for."""
        taken = data[: self._room]
        self._parser.feed(taken)
        self._room -= len(taken)
        self.dropped += len(data) - len(taken)

    def close(self) -> None:
        """Do nothing."""

    def finish(self) -> Parsed:
        """Return what was seen; once, at the end."""
        return self._parser.finish()
