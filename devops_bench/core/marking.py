"""Finding what escaped from its process tree: by a marker that it was started with."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

MARKER_VARIABLE: Final = "DEVOPS_BENCH_PROCESS_TREE"
"""Set for the program to a random value: by it a process that escaped is known."""

_LOOK_AGAIN_SEC = 0.01


def end_marked(marker: str, timeout_sec: float) -> int:
    """Kill every process whose environment holds the marker; return how many there were.

    Args:
        marker: The value of :data:`MARKER_VARIABLE` that they were started with.
        timeout_sec: Seconds for which it is repeated while one is there, > 0.
    """
    needle = f"{MARKER_VARIABLE}={marker}".encode()
    ended: set[int] = set()
    deadline = time.monotonic() + timeout_sec
    while (found := _marked(needle)) and time.monotonic() < deadline:
        ended |= found
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_SEC)
    return len(ended)


def _marked(needle: bytes) -> set[int]:
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended, or is another user's
            if needle in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    return found
