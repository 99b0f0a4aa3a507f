"""What was not seen, why, and how that was mended or not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of one stream that was not observed while it happened.

    Attributes:
        stream: Which stream, for the reader: ``deployments.apps in namespace shop``.
        number: Counts the gaps of the stream from 1. A gap that is told of again, with the same
            stream and number, replaces what was told before.
        cause: A sentence: what broke the observation.
        from_rv: The last revision up to which everything was seen.
        to_rv: The revision from which everything is seen again; ``None`` while that is not so.
        from_sec: Monotonic seconds when the stream was last known to be whole.
        to_sec: Monotonic seconds when it was whole again; ``None`` while it is not.
        closed: Whether every state in it was judged after all, or provably none existed.
        how: How it was closed, or why not.
    """

    stream: str
    number: int
    cause: str
    from_rv: int
    to_rv: int | None
    from_sec: float
    to_sec: float | None
    closed: bool
    how: str
