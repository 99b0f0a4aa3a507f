"""Reading 50 MB of hostile standard error: speed, memory, and growth from 5 to 50 MB."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from bench.figures import Figure

MB = 1_000_000
SMALL, LARGE = 5 * MB, 50 * MB
AIM_MB_PER_SEC = 3.0
AIM_MEMORY_MIB = 128.0
AIM_GROWTH = 15.0
ROUNDS = 3

_PIECE = 1024 * 1024

# One memory figure per process: the peak is that of the process's whole life. Not ru_maxrss, which
# a new process has from the one that started it.
_CHILD = """
import re, sys
from pathlib import Path
from bench.verify_protocol import SHAPES, LARGE, read
def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024
read(SHAPES[sys.argv[1]], 0)
before = peak()
read(SHAPES[sys.argv[1]], LARGE)
print(peak() - before, peak())
"""

SHAPES: dict[str, bytes] = {
    "one long line of tags": b"[PASS] (1pt) a  (" + b"[FAIL]  (((" * 1000,
    "long lines of brackets": b"[PASS] (1pt) a" + b"  (" * 50_000 + b")\n",
    "checks": b"[FAIL] (1pt) a check  (its detail)\n",
    "checks of long text": b"[PASS] (1pt) " + "\N{GRINNING FACE}".encode() * 1000 + b"\n",
    "malformed lines": b"[FAIL] (1 pt) a\nSCORE: x\n",
    "blank lines": b"\n",
    "lines of colours and gaps": b"\x1b[31mF..\x1b[0m pass  \x00 (5 p" * 20 + b"\n",
}
"""What is repeated, by what it is like."""


def read(unit: bytes, size: int) -> float:
    """Read ``size`` bytes of repeated ``unit`` piece by piece; return the seconds it took."""
    from devops_bench.verify_protocol.parser import Parser

    # A piece is a whole number of units, so that lines break as they would in one file.
    piece = unit * max(1, _PIECE // len(unit))
    parser = Parser()
    start = time.perf_counter()
    for _ in range(size // len(piece)):
        parser.feed(piece)
    parser.finish()
    return (time.perf_counter() - start) * size / max(1, size // len(piece) * len(piece))


def measure() -> Sequence[Figure]:
    """Measure each shape; the slowest and the largest decide."""
    figures = [_shape(name, unit) for name, unit in SHAPES.items()]
    figures.append(_memory())
    return figures


def _shape(name: str, unit: bytes) -> Figure:
    small, large = _best(unit, SMALL), _best(unit, LARGE)
    speed, growth = LARGE / MB / large, large / small
    return Figure(
        f"verify.py output, 50 MB, {name}",
        f"{speed:,.1f} MB/s",
        f"5 MB: {SMALL / MB / small:,.1f} MB/s",
        f"{growth:.1f} x from 5 to 50 MB",
        f">= {AIM_MB_PER_SEC:g} MB/s, <= {AIM_GROWTH:g} x",
        speed >= AIM_MB_PER_SEC and growth <= AIM_GROWTH,
    )


def _best(unit: bytes, size: int) -> float:
    return min(read(unit, size) for _ in range(ROUNDS))


def _memory() -> Figure:
    peaks: dict[str, tuple[float, float]] = {}
    for name in SHAPES:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, name], capture_output=True, text=True, check=True
        )
        more, whole = map(float, done.stdout.split())
        peaks[name] = more, whole
    worst = max(peaks, key=lambda name: peaks[name])
    more, whole = peaks[worst]
    return Figure(
        f"verify.py output, 50 MB, peak memory of the worst ({worst})",
        f"{more:.0f} MiB more",
        "",
        f"{whole:.0f} MiB in all",
        f"<= {AIM_MEMORY_MIB:g} MiB in all",
        whole <= AIM_MEMORY_MIB,
    )
