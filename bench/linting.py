"""``devops-bench lint`` of a spec of 1,000 entries, as it is typed: start-up included."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure
from bench.loading import ENTRIES, ROUNDS, write_spec

AIM_SEC = 1.0


def measure() -> Figure:
    """Lint in a process of its own each time; every path and pattern is looked up."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        path = write_spec(Path(folder), 0)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "devops_bench", "lint", str(path)],
                capture_output=True,
                text=True,
                check=False,
            )
            times.append(time.perf_counter() - start)
            if done.returncode or done.stdout != "1 spec: nothing found\n":
                raise RuntimeError(f"the generated spec is not clean: {done.stdout}{done.stderr}")
    median = statistics.median(times)
    return Figure(
        f"lint of {ENTRIES:,} entries, start-up and schemas included",
        f"{median:.2f} s",
        "",
        f"{median:.2f} s",
        f"<= {AIM_SEC:g} s",
        median <= AIM_SEC,
    )
