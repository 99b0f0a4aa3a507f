"""The owner's side of :mod:`devops_bench.clusters.supervisor`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.clusters import supervisor
from devops_bench.core.errors import ClusterError
from devops_bench.core.identity import ProcessIdentity
from devops_bench.core.json import JsonObject

_ANSWER_TIMEOUT_SEC: Final = 15.0
_END_TIMEOUT_SEC: Final = 20.0


@dataclass(frozen=True, slots=True)
class Program:
    """A process to start.

    Attributes:
        name: What it is called; one process of a name at a time.
        command: The executable and its arguments.
        log: The file that gets what it prints; appended to.
        cwd: Its working directory.
        env: Its whole environment.
    """

    name: str
    command: Sequence[str]
    log: Path
    cwd: Path
    env: Mapping[str, str]


class Supervised:
    """A running supervisor and what it runs. Whoever holds this owns them.

    Args:
        log: The file that gets the supervisor's own log.

    Raises:
        ClusterError: The supervisor could not be started.
    """

    def __init__(self, log: Path) -> None:
        # By its path and isolated: it must start where this package is not on the path, and fast.
        command = [sys.executable, "-I", "-S", str(Path(supervisor.__file__).resolve())]
        try:
            with log.open("ab") as log_file:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log_file,
                    start_new_session=True,
                )
        except OSError as exc:
            raise ClusterError(
                f"the control plane's supervisor could not be started: {exc}"
            ) from exc
        identity = ProcessIdentity.of(self._process.pid)
        if identity is None:
            raise ClusterError(f"the control plane's supervisor died at once, see {log}")
        self.identity = identity
        self._changed = threading.Condition()
        self._started: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._exited: dict[str, int] = {}
        self._detached = False
        self._closed = False
        threading.Thread(target=self._listen, name="supervisor-events", daemon=True).start()

    def start(self, program: Program) -> ProcessIdentity | None:
        """Start a process and return its identity, ``None`` when it is gone already.

        Raises:
            ClusterError: It could not be started, or the supervisor is gone.
        """
        with self._changed:
            self._started.pop(program.name, None)
            self._failed.pop(program.name, None)
        self._send(
            {
                "do": "start",
                "name": program.name,
                "command": list(program.command),
                "env": dict(program.env),
                "cwd": str(program.cwd),
                "log": str(program.log),
            }
        )
        self._wait_for(lambda: program.name in self._started or program.name in self._failed)
        with self._changed:
            if program.name in self._failed:
                reason = self._failed[program.name]
                raise ClusterError(f"{program.name} could not be started: {reason}")
            return ProcessIdentity.of(self._started[program.name])

    def exited(self) -> dict[str, int]:
        """Return the exit code of every process that has ended by itself, by name."""
        with self._changed:
            return dict(self._exited)

    def detach(self) -> None:
        """Let the supervisor and its processes outlive this one.

        Raises:
            ClusterError: The supervisor is gone.
        """
        self._send({"do": "detach"})
        self._wait_for(lambda: self._detached)
        self._close()
        # It is nobody's child to wait for any more; without this Popen warns when it is dropped.
        self._process.returncode = 0

    def stop(self) -> bool:
        """End the processes and the supervisor; returns whether all are known to be gone.

        Safe to call twice.
        """
        self._close()
        try:
            self._process.wait(_END_TIMEOUT_SEC)
        except subprocess.TimeoutExpired:
            # Its death takes the processes along where the kernel offers that.
            self._process.kill()
            self._process.wait()
            return False
        return True

    def _close(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        if not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):  # it is gone already: as good as closed
                self._process.stdin.close()

    def _send(self, command: JsonObject) -> None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as exc:
            raise ClusterError("the control plane's supervisor is gone") from exc

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _ANSWER_TIMEOUT_SEC
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                if self._closed or left <= 0:
                    raise ClusterError("the control plane's supervisor does not answer")
                self._changed.wait(left)

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        with self._process.stdout as events:
            for line in events:
                self._take(json.loads(line))
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self, event: JsonObject) -> None:
        name = str(event.get("name", ""))
        with self._changed:
            match event.get("event"):
                case "started":
                    pid = event["pid"]
                    self._started[name] = pid if isinstance(pid, int) else 0
                    self._exited.pop(name, None)
                case "failed":
                    self._failed[name] = str(event.get("reason", ""))
                case "exited":
                    code = event["code"]
                    self._exited[name] = code if isinstance(code, int) else 0
                case "detached":
                    self._detached = True
            self._changed.notify_all()
