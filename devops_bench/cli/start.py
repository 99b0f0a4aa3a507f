"""Where the program begins: with the signals, before anything that takes time is imported."""

from __future__ import annotations

import signal
import sys
from types import FrameType

EXIT_INTERRUPTED = 130

# SIGINT is Python's own KeyboardInterrupt already.
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the command line; SIGTERM and SIGHUP end it as Ctrl-C does, from the first moment on.

    A command that has something to take down handles signals in its own way
    (:mod:`devops_bench.cli.interrupts`) while it has.
    """
    for number in _SIGNALS:
        # nohup(1) and some CI systems ignore SIGHUP on purpose.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    try:
        from devops_bench.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - what signal passes
    raise KeyboardInterrupt
