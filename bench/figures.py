"""What a measurement comes to, and how it is shown."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes:
        what: What was measured.
        ours: Ours, with its unit.
        other: What it is compared with, with its unit; empty without.
        ratio: The ratio or the value that the aim is about, with its unit.
        aim: What it should be; empty for a figure that is only shown.
        reached: Whether it is; ``None`` without an aim.
    """

    what: str
    ours: str
    other: str
    ratio: str
    aim: str
    reached: bool | None


_SHOWN = {True: "reached", False: "NOT reached", None: ""}
HEADER = ("what", "devops-bench", "compared with", "result", "aim", "")


def table(figures: Sequence[Figure]) -> str:
    """Return a Markdown table."""
    rows = [HEADER] + [
        (f.what, f.ours, f.other, f.ratio, f.aim, _SHOWN[f.reached]) for f in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def machine() -> str:
    """Return the class of this machine: processor, cores, system, Python."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    cores = len(os.sched_getaffinity(0))
    python = platform.python_version()
    return f"{model}, {cores} cores, {platform.system()} {platform.machine()}, Python {python}"


def cpu_of_self() -> float:
    """Return the CPU seconds that this process has used, user and system."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def cpu_of_children() -> float:
    """Return the CPU seconds of all child processes that have ended and were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
