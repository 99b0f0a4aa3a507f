"""The start-up of ``devops-bench --help`` over that of ``python -c pass``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Figure

PAIRS = 11
AIM = 8.0


def measure() -> Figure:
    """Run both in turn and compare the medians."""
    help_command: list[str | Path] = [Path(sys.executable).parent / "devops-bench", "--help"]
    bare_command: list[str | Path] = [sys.executable, "-c", "pass"]
    _wall(help_command)  # the first start compiles
    pairs = [(_wall(help_command), _wall(bare_command)) for _ in range(PAIRS)]
    ours = statistics.median(pair[0] for pair in pairs)
    bare = statistics.median(pair[1] for pair in pairs)
    ratio = ours / bare
    return Figure(
        "start-up of --help over python -c pass",
        f"{ours * 1000:.0f} ms",
        f"{bare * 1000:.0f} ms",
        f"{ratio:.1f} x",
        f"<= {AIM:g} x",
        ratio <= AIM,
    )


def _wall(command: Sequence[str | Path]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
