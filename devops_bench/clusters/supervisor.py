"""The process above a control plane: when it goes, everything below it goes.

Run as ``python -m devops_bench.clusters.supervisor`` in a session of its own. It reads commands,
a JSON object per line, from standard input and answers on standard output:

* ``{"do": "start", "name": …, "command": […], "env": {…}, "cwd": …, "log": …}`` starts a process
  and answers ``{"event": "started", "name": …, "pid": …}``, or ``{"event": "failed", …}``;
* ``{"do": "detach"}`` answers ``{"event": "detached"}`` and lets the processes live on when
  standard input closes;
* ``{"do": "stop"}``, or a closed standard input, or SIGTERM, ends all of them and then itself.

A process that ends by itself is told as ``{"event": "exited", "name": …, "code": …}``. The owner's
end of the pipe is closed by the kernel however the owner dies, and the processes carry a parent
death signal: neither ``kill -9`` of the owner nor of the supervisor leaves anything running.

Only the standard library is imported: a supervisor costs little while it waits.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_WAIT_FOR_KILLED_SEC: Final = 10.0


class Supervisor:
    """Starts processes on command and ends them all at its own end."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._detached = False
        self._ending = False
        self._input = b""
        # Loaded before the first fork: the child may not safely load a library.
        self._libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

    def run(self) -> int:
        """Serve until told to stop; returns the exit code."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for handled in (signal.SIGTERM, signal.SIGINT):
            signal.signal(handled, self._on_end_signal)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        os.set_blocking(sys.stdin.fileno(), False)

        with selectors.DefaultSelector() as waiter:
            waiter.register(wake_read, selectors.EVENT_READ)
            waiter.register(sys.stdin.fileno(), selectors.EVENT_READ)
            while not self._ending:
                for key, _ in waiter.select():
                    if key.fd == wake_read:
                        with contextlib.suppress(BlockingIOError):
                            os.read(wake_read, 4096)
                        self._tell_exits()
                    elif not self._read_commands():
                        waiter.unregister(sys.stdin.fileno())
                        self._ending = self._ending or not self._detached
        self._end_children()
        return 0

    def _on_end_signal(self, *_: object) -> None:
        self._ending = True

    def _read_commands(self) -> bool:
        """Handle what has arrived; returns whether more may come."""
        try:
            arrived = os.read(sys.stdin.fileno(), 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        *lines, self._input = (self._input + arrived).split(b"\n")
        for line in lines:
            self._handle(line)
        return bool(arrived)

    def _handle(self, line: bytes) -> None:
        command = json.loads(line)
        if command["do"] == "start":
            self._start(command)
        elif command["do"] == "detach":
            self._detached = True
            _tell({"event": "detached"})
        elif command["do"] == "stop":
            self._ending = True

    def _start(self, command: dict[str, object]) -> None:
        name = str(command["name"])
        arguments, environment = command["command"], command["env"]
        assert isinstance(arguments, list)  # noqa: S101 - our own protocol, narrowed for mypy
        assert isinstance(environment, dict)  # noqa: S101
        self._tell_exits()
        if name in self._children:
            _tell({"event": "failed", "name": name, "reason": "it runs already"})
            return
        log = os.open(str(command["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            child = subprocess.Popen(
                arguments,
                cwd=str(command["cwd"]),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=self._die_with_parent(),
            )
        except (OSError, subprocess.SubprocessError) as exc:
            _tell({"event": "failed", "name": name, "reason": str(exc)})
            return
        finally:
            os.close(log)
        self._children[name] = child
        _tell({"event": "started", "name": name, "pid": child.pid})

    def _die_with_parent(self) -> _DieWithParent | None:
        return None if self._libc is None else _DieWithParent(self._libc, os.getpid())

    def _tell_exits(self) -> None:
        for name, child in list(self._children.items()):
            code = child.poll()
            if code is not None:
                del self._children[name]
                _tell({"event": "exited", "name": name, "code": code})

    def _end_children(self) -> None:
        # Killed, not asked: nothing of a plane is used again, and its audit log is written
        # through. The newest first, so that no component logs that the others are gone.
        for child in reversed(self._children.values()):
            child.kill()
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_WAIT_FOR_KILLED_SEC)
        _tell({"event": "ended"})


class _DieWithParent:
    """Asks the kernel, in the child, to kill it when the supervisor's process dies."""

    def __init__(self, libc: ctypes.CDLL, parent: int) -> None:
        self._libc = libc
        self._parent = parent

    def __call__(self) -> None:
        self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self._parent:
            os._exit(1)  # the supervisor died before the request was in place


def _tell(event: dict[str, object]) -> None:
    # Whoever listened may be gone; the supervisor's log keeps what happened.
    line = json.dumps(event)
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is a program of its own
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), line.encode() + b"\n")


if __name__ == "__main__":
    # The folder it was started in must not stay busy.
    os.chdir(Path("/"))
    sys.exit(Supervisor().run())
