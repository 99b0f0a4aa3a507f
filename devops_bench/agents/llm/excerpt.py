"""The beginning and the end of what a program printed, and how much was between; little memory."""

from __future__ import annotations

from typing import Final

from devops_bench.core.boundedfile import OutputSink

MAX_ANSWER: Final = 16 * 1024
"""Bytes of a program's output or of a file that the model is shown; of more the middle is not."""

_HALF: Final = MAX_ANSWER // 2
_LONGEST_CHARACTER: Final = 4


class Excerpt:
    """What came, byte by byte as far as it is ever shown.

    Attributes:
        total: How many bytes came.
        head: The first ones, at most :data:`MAX_ANSWER`.
    """

    def __init__(self) -> None:
        self.total = 0
        self.head = b""
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        self.head += data[: MAX_ANSWER - len(self.head)]
        self._tail += data[-MAX_ANSWER:]
        if len(self._tail) > 2 * MAX_ANSWER:
            del self._tail[:-MAX_ANSWER]

    @property
    def tail(self) -> bytes:
        """The last ones, at most :data:`MAX_ANSWER`."""
        return bytes(self._tail[-MAX_ANSWER:])

    def followed_by(self, other: Excerpt) -> Excerpt:
        """Return the excerpt of both, one after the other."""
        both = Excerpt()
        both.total = self.total + other.total
        # What is not whole fills the room by itself.
        both.head = (self.head + other.head if self._is_whole else self.head)[:MAX_ANSWER]
        both._tail = bytearray(self.tail + other.tail if other._is_whole else other.tail)
        return both

    def shown(self) -> str:
        """Return it as text, with a word for what is left out."""
        return shown(self.head, self.tail, self.total)

    @property
    def _is_whole(self) -> bool:
        return self.total <= MAX_ANSWER


class Excerpted:
    """A sink that takes everything for an excerpt, and passes it on.

    Args:
        sink: What keeps it.

    Attributes:
        excerpt: What came, also of what the sink does not keep.
        dropped: Bytes that the sink did not take.
        fault: Why it could not take some.
    """

    def __init__(self, sink: OutputSink) -> None:
        self.excerpt = Excerpt()
        self.dropped = 0
        self.fault = ""
        self._sink = sink

    def write(self, data: bytes) -> None:
        """Take the next bytes."""
        self.excerpt.feed(data)
        self._sink.write(data)
        self._look()

    def close(self) -> None:
        """Take no more; safe to call twice."""
        self._sink.close()
        self._look()

    def _look(self) -> None:
        self.dropped, self.fault = self._sink.dropped, self._sink.fault


def shown(head: bytes, tail: bytes, total: int) -> str:
    """Return what the model is shown of so many bytes.

    Args:
        head: The first ones, all or at least half of :data:`MAX_ANSWER`.
        tail: The last ones, likewise.
        total: How many there are.
    """
    if total <= MAX_ANSWER:
        return head.decode("utf-8", errors="replace")
    first, last = _cut_end(head[:_HALF]), _cut_begin(tail[-_HALF:])
    left_out = total - len(first) - len(last)
    text = [part.decode("utf-8", errors="replace") for part in (first, last)]
    return f"{text[0]}\n[{left_out} bytes left out]\n{text[1]}"


def _cut_end(data: bytes) -> bytes:
    """Return the bytes without a character that is cut at their end."""
    for size in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        byte = data[-size]
        if byte >= 0xC0:  # its first byte, and it says how many there are
            wanted = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return data if size >= wanted else data[:-size]
        if byte < 0x80:
            break
    return data


def _cut_begin(data: bytes) -> bytes:
    """Return the bytes without a character that is cut at their beginning."""
    for size in range(min(_LONGEST_CHARACTER, len(data))):
        if not 0x80 <= data[size] < 0xC0:
            return data[size:]
    return data
