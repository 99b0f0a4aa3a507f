"""Live progress: what happens now, and the state of each safeguard.

On a terminal the last lines are redrawn as time goes by; anywhere else each event is one line.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from devops_bench.cli.errors import printable
from devops_bench.cli.live import LiveStream
from devops_bench.evalharness.events import Phase
from devops_bench.results.model import TaskResult
from devops_bench.scoring.rollup import Verdict

_STYLES = {"green": "32", "red": "1;31", "yellow": "33", "bold": "1", "dim": "2"}
_VERDICT_STYLES = {"pass": "green", "fail": "red", "error": "yellow"}
_STATUS_STYLES = {"passed": "green", "failed": "red", "error": "yellow", "interrupted": "yellow"}
_CLEAR_LINE, _UP, _CLEAR_BELOW = "\x1b[2K", "\x1b[{}A", "\x1b[J"


@dataclass(slots=True)
class _Safeguard:
    """The newest state of a safeguard."""

    status: Verdict
    reason: str
    violated: bool

    @property
    def word(self) -> str:
        return "VIOLATED" if self.violated else {"pass": "holds"}.get(self.status, self.status)

    @property
    def style(self) -> str:
        return "red" if self.violated else _VERDICT_STYLES[self.status]


@dataclass(slots=True)
class _Now:
    """What a task is doing."""

    started: float
    phase: str = ""
    detail: str = ""
    phase_started: float = 0.0
    safeguards: dict[str, _Safeguard] = field(default_factory=dict)


class Progress:
    """Implements ``evalharness.events.Reporter`` on a text stream; thread-safe.

    Use it as a context manager: its end removes the live lines.

    Args:
        stream: Where to write.
        tasks: How many tasks the run has.
        quiet_turns: Show nothing while an agent has its turn, and what came up after it: the
            terminal is somebody else's, who is not to be told how it goes.
        monotonic: Seconds that never go back.

    Attributes:
        on_phase: Called at the start of each phase, in the thread that starts it.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        tasks: int,
        quiet_turns: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = LiveStream(stream)
        self._tasks = tasks
        self._quiet_turns = quiet_turns
        self._held: list[str] = []
        self.on_phase: Callable[[Phase], None] = lambda _: None
        self._monotonic = monotonic
        self._lock = threading.RLock()
        self._drawn = 0
        self._count = 0
        self._now: _Now | None = None

    def __enter__(self) -> Progress:
        """Start redrawing, on a terminal."""
        self._screen.start(self._redraw)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Stop redrawing and remove the live lines."""
        self._screen.stop()
        with self._lock:
            self._now = None
            self._screen.write(self._erase() + self._released())

    def line(self, text: str) -> None:
        """Write one line that stays."""
        with self._lock:
            if self._is_quiet():
                self._held.append(text)
            else:
                self._screen.write(self._erase() + self._released() + text + "\n" + self._block())

    def task_started(self, task_id: str, title: str) -> None:
        """Say which task begins, of how many."""
        with self._lock:
            self._count += 1
            self._now = _Now(started=self._monotonic())
            heading = f"[{self._count}/{self._tasks}] {printable(task_id)}"
            self.line(self._paint("bold", heading) + (f": {printable(title)}" if title else ""))

    def phase_started(self, task_id: str, phase: Phase, detail: str) -> None:  # noqa: ARG002
        """Say what happens now."""
        self.on_phase(phase)
        with self._lock:
            if self._now is not None:
                self._now.phase, self._now.detail = str(phase), detail
                self._now.phase_started = self._monotonic()
            if self._is_quiet():
                self._screen.write(self._erase())
            self._event(str(phase), printable(detail))

    def safeguard_sampled(
        self,
        task_id: str,  # noqa: ARG002
        name: str,
        status: Verdict,
        reason: str,
        violated: bool,
    ) -> None:
        """Say that a safeguard in hold mode changed its state."""
        state = _Safeguard(status, reason, violated)
        with self._lock:
            if self._now is not None:
                self._now.safeguards[name] = state
            why = f": {printable(reason)}" if reason and status != "pass" else ""
            word = self._paint(state.style, state.word)
            if violated and status == "pass":
                why = " before, now it holds again"
            self._event("", f"safeguard {printable(name)}: {word}{why}")

    def entry_judged(self, task_id: str, name: str, status: Verdict, reason: str) -> None:  # noqa: ARG002
        """Say what an entry came to."""
        word = self._paint(_VERDICT_STYLES[status], f"{status:<5}")
        why = f": {printable(reason)}" if reason and status != "pass" else ""
        self._event("", f"{word} {printable(name)}{why}")

    def notice(self, task_id: str, text: str) -> None:  # noqa: ARG002
        """Show a sentence."""
        self._event("", printable(text))

    def task_finished(self, result: TaskResult) -> None:
        """Say what the task came to."""
        outcome = "null" if result.outcome is None else f"{result.outcome:.3f}"
        word = self._paint(_STATUS_STYLES[result.status], result.status.upper())
        marked = f", {self._paint('red', 'CONTAMINATED')}" if result.contaminated else ""
        with self._lock:
            self._now = None
            self.line(
                f"[{self._count}/{self._tasks}] {printable(result.id)}: {word}, "
                f"outcome {outcome} ({result.elapsed_sec:.1f} s){marked}"
            )

    def _event(self, what: str, text: str) -> None:
        with self._lock:
            since = self._monotonic() - self._now.started if self._now is not None else 0.0
            self.line(f"{self._paint('dim', f'{since:7.1f}s')}  {what:<8}  {text}".rstrip())

    def _redraw(self) -> None:
        with self._lock:
            self._screen.write(self._erase() + self._block())

    def _is_quiet(self) -> bool:
        """Whether the terminal is an agent's now; the caller holds the lock."""
        return self._quiet_turns and self._now is not None and self._now.phase == Phase.TURN

    def _released(self) -> str:
        """Return the lines that were held back; the caller holds the lock and writes them."""
        held, self._held = self._held, []
        return "".join(f"{text}\n" for text in held)

    def _erase(self) -> str:
        """Return what removes the live lines; the caller holds the lock and writes it."""
        drawn, self._drawn = self._drawn, 0
        return f"\r{_UP.format(drawn)}{_CLEAR_BELOW}" if drawn else ""

    def _block(self) -> str:
        """Return the live lines; the caller holds the lock and writes them."""
        if (
            self._is_quiet()
            or not self._screen.live
            or self._now is None
            or not self._now.phase
            or self._screen.stopped
        ):
            return ""
        size = shutil.get_terminal_size()
        elapsed = self._monotonic() - self._now.phase_started
        head = f"> {self._now.phase}, {elapsed:.0f} s: {printable(self._now.detail)}"
        lines = [self._paint("bold", head[: size.columns - 1])]
        # A block that is higher than the terminal could not be erased.
        room = max(0, size.lines - 3)
        shown = sorted(self._now.safeguards.items(), key=lambda item: item[1].status == "pass")
        for name, state in shown[:room]:
            text = f"  {state.word:<8}  {printable(name)}"
            lines.append(self._paint(state.style, text[: size.columns - 1]))
        self._drawn = len(lines)
        return "".join(f"{_CLEAR_LINE}{line}\n" for line in lines)

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._screen.color else text
