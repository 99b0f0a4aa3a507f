"""Processes named so that a recycled process id is never taken for the one that was meant."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_START_TIME_FIELD: Final = 19
"""Where ``starttime`` stands after the command's closing parenthesis (proc_pid_stat(5))."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, not just its number.

    Attributes:
        pid: The process id.
        started: When it started, as the system says it; with ``pid`` it names one process, also
            across a reboot.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """Return the identity of the running process ``pid``, ``None`` when there is none.

        A zombie counts as gone: it runs nothing any more.
        """
        started = _started(pid)
        return cls(pid, started) if started else None

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return _started(self.pid) == self.started

    def end(self, sent: signal.Signals, timeout_sec: float) -> bool:
        """Send ``sent`` to this very process and wait until it is gone.

        Args:
            sent: The signal.
            timeout_sec: Seconds to wait for its end, ≥ 0.

        Returns:
            Whether it is gone, also when it was gone before.
        """
        if not hasattr(os, "pidfd_open"):
            return self._end_by_pid(sent, timeout_sec)
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return not self.alive
        try:
            # The handle is held first and the identity asked second: from here on nothing else
            # can come to have this process id in our hands.
            if not self.alive:
                return True
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, sent)
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(timeout_sec * 1000)) or not self.alive
        finally:
            os.close(handle)

    def _end_by_pid(self, sent: signal.Signals, timeout_sec: float) -> bool:
        if not self.alive:
            return True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, sent)
        # No handle to wait on here: look a few times a second.
        looks = max(1, int(timeout_sec / 0.05))
        ticker = select.poll()
        for _ in range(looks):
            if not self.alive:
                return True
            ticker.poll(50)
        return not self.alive


def _started(pid: int) -> str:
    """Return when ``pid`` started, empty when it does not run."""
    if not _PROC.is_dir():
        return _started_by_ps(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return ""
    # The command stands in parentheses and may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    if not fields or fields[0] in {"Z", "X"}:
        return ""
    return f"{_boot_id()}:{fields[_START_TIME_FIELD]}"


def _boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started_by_ps(pid: int) -> str:
    done = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = done.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()
