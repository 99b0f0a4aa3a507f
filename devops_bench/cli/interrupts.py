"""SIGINT, SIGTERM and SIGHUP during a run: the first one ends it in order, the next are hurry."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

from devops_bench.evalharness.events import Phase

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Turns signals into the end of a run; a context manager, of the main thread.

    The first signal sets ``cancel``. During an agent's turn that is all: the agent is ended and
    its turn is recorded. During teardown it is all, too: what was made must go. In every other
    phase it also raises ``KeyboardInterrupt``, which, unlike an error of our own, no
    ``except Exception`` on the way can swallow. A second signal raises it during a turn as well.
    Between tasks it is as in teardown.

    Args:
        say: Tells the user what the first signal does; called in the signal handler, so it must
            not use a buffered stream.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.cancel = threading.Event()
        self._say = say
        self._phase = Phase.TEARDOWN
        self._raised = False
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interrupts:
        """Take over the signals."""
        for number in SIGNALS:
            self._previous[number] = signal.getsignal(number)
            # nohup(1) and some CI systems ignore SIGHUP on purpose.
            if self._previous[number] is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the signals back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def on_phase(self, phase: Phase) -> None:
        """Note which phase begins.

        Raises:
            KeyboardInterrupt: A signal came when it could not be raised, and now it can.
        """
        self._phase = phase
        if self.cancel.is_set() and phase is not Phase.TEARDOWN:
            raise KeyboardInterrupt

    def between_tasks(self) -> None:
        """Note that no task is at work: a signal only sets ``cancel``, which the run looks at."""
        self._phase = Phase.TEARDOWN

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        first = not self.cancel.is_set()
        self.cancel.set()
        if first:
            name = signal.Signals(number).name
            self._say(f"{name}: ending the run; what was made is taken down")
        waits = self._phase is Phase.TEARDOWN or (first and self._phase is Phase.TURN)
        if not waits and not self._raised:
            self._raised = True
            raise KeyboardInterrupt
