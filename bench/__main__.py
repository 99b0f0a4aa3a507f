"""``python -m bench [NAME…]``: measure, and print a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from bench import converge, hold, linting, loading, startup, turn, verify_protocol, watching
from bench.figures import Figure, machine, table

MEASUREMENTS: dict[str, Callable[[], Sequence[Figure]]] = {
    "startup": lambda: [startup.measure()],
    "loading": lambda: [loading.measure()],
    "linting": lambda: [linting.measure()],
    "converge": converge.measure,
    "hold": hold.measure,
    "verify_protocol": verify_protocol.measure,
    "watching": watching.measure,
    "turn": turn.measure,
}


def main(names: Sequence[str]) -> int:
    """Measure what is named, or everything; return 1 when an aim was not reached."""
    unknown = set(names) - set(MEASUREMENTS)
    if unknown:
        print(f"no such measurement: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    print(machine())
    figures: list[Figure] = []
    for name in names or MEASUREMENTS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        figures += MEASUREMENTS[name]()
    print(table(figures))
    return 0 if all(figure.reached is not False for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
