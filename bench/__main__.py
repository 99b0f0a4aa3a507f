"""``python -m bench [NAME…]``: measure, and print a table for each area."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import (
    agentturn,
    converge,
    hold,
    judging,
    leash,
    linting,
    loading,
    safeguards,
    startup,
    turn,
    verify_protocol,
    watching,
)
from bench.figures import Figure, machine, table


@dataclass(frozen=True, slots=True)
class Area:
    """What is shown in one table.

    Attributes:
        title: Its heading.
        measure: Takes the figures; may take minutes.
    """

    title: str
    measure: Callable[[], Sequence[Figure]]


AREAS: dict[str, Area] = {
    "startup": Area("Start-up", lambda: [startup.measure()]),
    "loading": Area("Loading a spec", lambda: [loading.measure()]),
    "linting": Area("Linting a spec", lambda: [linting.measure()]),
    "hold": Area("Sampled safeguards", hold.measure),
    "watching": Area("Watching: what is found, and what it takes", watching.measure),
    "safeguards": Area("Watched safeguards: how soon", safeguards.measure),
    "turn": Area("A turn of a minute, watched", turn.measure),
    "agentturn": Area("What a turn costs", agentturn.measure),
    "leash": Area("What the leash adds to a run", leash.measure),
    "judging": Area("Judging and recording, without a server", judging.measure),
    "converge": Area("After the turn", converge.measure),
    "verify_protocol": Area("Reading the output of verify.py", verify_protocol.measure),
}


def main(names: Sequence[str]) -> int:
    """Measure what is named, or everything; return 1 when an aim was not reached."""
    unknown = set(names) - set(AREAS)
    if unknown:
        known = ", ".join(AREAS)
        print(f"no such area: {', '.join(sorted(unknown))} (there are {known})", file=sys.stderr)
        return 2
    print(machine())
    reached, began = True, time.monotonic()
    for name in names or AREAS:
        area = AREAS[name]
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        start, load = time.monotonic(), os.getloadavg()[0]
        figures = area.measure()
        load, took = (load + os.getloadavg()[0]) / 2, time.monotonic() - start
        # The load tells how much of the machine was left for what was measured.
        print(f"\n## {area.title}\n\n`{name}`: {took:.0f} s, load {load:.1f}\n")
        print(table(figures), flush=True)
        reached &= all(figure.reached is not False for figure in figures)
    print(f"\n{time.monotonic() - began:.0f} s in all")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
