"""Running a program so that it cannot outlive its time, flood the disk or leave anything behind.

The program runs under :mod:`devops_bench.core.reaper`, a small process that ends every descendant
when the program ends, when its time is over, and when devops-bench itself dies, ``kill -9``
included. Should a program kill that process too, what it left is looked for by a marker in its
environment. A process that also hid its environment is not found, so that the result says that the
end was not observed (:attr:`ProcessResult.lost`).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from devops_bench.core import reaper
from devops_bench.core.boundedfile import BoundedFile, OutputSink
from devops_bench.core.errors import SupervisionError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.marking import MARKER_VARIABLE, end_marked
from devops_bench.core.secretforms import KnownSecrets, RedactedOutput

_CHUNK = 65536
# How often the cancel event and the deadline are looked at; it cannot be waited for in a selector.
_TICK_SEC = 0.1
# How long what is left in the pipes is read for after everything has ended.
_DRAIN_SEC = 2.0
# What the reaper may take beyond its own bounds before it is ended itself.
_REAPER_SLACK_SEC = 10.0


class EndedBy(StrEnum):
    """What ended the program."""

    ITSELF = "itself"
    """It ended by itself, or by somebody else's signal."""
    DEADLINE = "deadline"
    """Its time was over."""
    CANCEL = "cancel"
    """The cancel event was set."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, and within which bounds.

    Attributes:
        argv: The program and its arguments; no shell. A name without a slash is looked up on the
            ``PATH`` of ``env``.
        cwd: Its working directory.
        env: Its whole environment.
        stdout: Where its standard output goes: a file, created with mode 0600, or a sink, which
            has its own bound. Only a sink is out of the reach of a program of the same user.
        stderr: Where its standard error goes, likewise.
        stdin: What it reads, and then end of file; ``None`` gives it ``/dev/null``.
        max_output_bytes: How much of each stream a file keeps, ≥ 0; the rest is read and counted.
        secrets: What is taken out of what a file keeps; the callbacks get all as it is.
        grace_sec: Seconds between SIGTERM and SIGKILL, ≥ 0.
        kill_timeout_sec: Seconds for which SIGKILL is repeated, > 0.
        alone_first: Whether it gets SIGTERM alone at first, and ``grace_sec`` to end in order what
            it started itself; only then do its descendants.
        on_stdout: Called with each piece of its standard output as it comes, in the thread of
            :func:`run_program`; it must be quick and must not raise. It gets what is kept.
        on_stderr: As above, for its error output.
        terminal: A descriptor of a terminal that it gets instead of the three streams; nothing is
            then written to ``stdout`` and ``stderr``, and ``stdin`` is not given.
        held: Descriptors that stay open until nothing of the program runs any more, should this
            process be killed before that: a lock's, say. The program does not get them.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path | OutputSink
    stderr: Path | OutputSink
    stdin: bytes | None = None
    max_output_bytes: int = 64 * 1024 * 1024
    secrets: KnownSecrets | None = None
    grace_sec: float = 5.0
    kill_timeout_sec: float = 10.0
    alone_first: bool = False
    on_stdout: Callable[[bytes], None] | None = None
    on_stderr: Callable[[bytes], None] | None = None
    terminal: int | None = None
    held: Sequence[int] = ()

    @property
    def ending_sec(self) -> float:
        """The seconds that its end may take once it is asked for."""
        return self.grace_sec * (2 if self.alone_first else 1) + self.kill_timeout_sec


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How the program ended.

    Attributes:
        ended_by: What ended it.
        exit_code: Its exit code, negative for the signal that ended it; ``None`` only when the
            process that watched over it was killed, so that nobody knows.
        elapsed_sec: Seconds from the start until nothing of it ran any more, ≥ 0.
        leftovers: How many processes it had left behind and were ended for it; ``None`` where
            this system does not let anybody look for them.
        unkillable: How many of its processes still ran after SIGKILL (it became another user's).
        stdout_dropped: Bytes of its output that were not kept.
        stderr_dropped: Bytes of its error output that were not kept.
        output_fault: Why output could not be written, such as a full disk; empty when it could.
        lost: Whether the process that watched over it did not come to its own end: processes may
            have escaped, although those that were found were ended.
    """

    ended_by: EndedBy
    exit_code: int | None
    elapsed_sec: float
    leftovers: int | None = 0
    unkillable: int = 0
    stdout_dropped: int = 0
    stderr_dropped: int = 0
    output_fault: str = ""
    lost: bool = False


def run_program(
    program: Program, *, timeout_sec: float, cancel: threading.Event | None = None
) -> ProcessResult:
    """Run a program to its end, or end it, together with everything that it started.

    Args:
        program: What to run.
        timeout_sec: Seconds after which it is ended, > 0.
        cancel: Ends the program when it is set.

    Returns:
        How it ended. When this returns nothing of it runs any more, save what
        ``unkillable`` counts and what may have escaped when it is ``lost``. Output that cannot be
        written is counted and does not end it.

    Raises:
        OSError: It could not be started: not found, not executable, arguments too long, a file
            for its output that cannot be made.
        SupervisionError: It was started, and could not be watched to its end.
        ValueError: An argument or a variable cannot be passed to a program (it holds a NUL).
    """
    if any("\0" in text for text in (*program.argv, *program.env, *program.env.values())):
        raise ValueError("an argument or a variable holds a NUL character")
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        sinks: list[OutputSink] = []
        for where in (program.stdout, program.stderr):
            sink = _sink(where, program)
            stack.enter_context(contextlib.closing(sink))
            sinks.append(sink)
        run = stack.enter_context(contextlib.closing(_Run(program, *sinks)))
        with _watching(program):
            ended_by = run.watch(started + timeout_sec, cancel or threading.Event())
        run.raise_if_not_started()
        with _watching(program):
            report = run.close()
    return ProcessResult(
        ended_by=ended_by if report.asked else EndedBy.ITSELF,
        exit_code=report.exit_code,
        elapsed_sec=time.monotonic() - started,
        leftovers=report.leftovers,
        unkillable=report.unkillable,
        stdout_dropped=sinks[0].dropped,
        stderr_dropped=sinks[1].dropped,
        output_fault=sinks[0].fault or sinks[1].fault,
        lost=report.lost,
    )


def _sink(where: Path | OutputSink, program: Program) -> OutputSink:
    if not isinstance(where, Path):
        return where
    file = BoundedFile(where, program.max_output_bytes)
    return file if program.secrets is None else RedactedOutput(file, program.secrets)


@contextlib.contextmanager
def _watching(program: Program) -> Iterator[None]:
    """Tell what the system refuses to us now from a program that could not be started."""
    try:
        yield
    except OSError as exc:
        raise SupervisionError(
            f"{program.argv[0]!r} could not be watched to its end: {exc}"
        ) from exc


@dataclass(frozen=True, slots=True)
class _Report:
    """What the reaper said at its end."""

    exit_code: int | None = None
    asked: bool = False
    leftovers: int | None = 0
    unkillable: int = 0
    lost: bool = False


class _Run:
    """The reaper with the program below it, its pipes, and what they brought."""

    def __init__(self, program: Program, stdout: OutputSink, stderr: OutputSink) -> None:
        self._program = program
        self._marker = secrets.token_hex(16)
        self._messages = b""
        self._report: _Report | None = None
        self._to_write = memoryview(program.stdin or b"")
        self._selector = selectors.DefaultSelector()
        control_read, self._control = os.pipe()
        self._status, status_write = os.pipe()
        stdin = subprocess.DEVNULL if program.stdin is None else subprocess.PIPE
        terminal = program.terminal
        output = subprocess.PIPE if terminal is None else terminal
        descriptors = (control_read, status_write, *program.held)
        try:
            # Its own session: a Ctrl-C at the terminal is for devops-bench, which then asks.
            self._reaper = subprocess.Popen(
                [sys.executable, "-I", "-S", reaper.__file__, *map(str, descriptors)],
                stdin=stdin if terminal is None else terminal,
                stdout=output,
                stderr=output,
                pass_fds=descriptors,
                start_new_session=True,
                bufsize=0,
                env={k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH"},
            )
        except OSError:
            os.close(self._control)
            os.close(self._status)
            raise
        finally:
            os.close(control_read)
            os.close(status_write)
        self._selector.register(self._status, selectors.EVENT_READ, self._read_status)
        if terminal is None:
            self._read_into(self._reaper.stdout, stdout, program.on_stdout)
            self._read_into(self._reaper.stderr, stderr, program.on_stderr)
        if self._reaper.stdin is not None:
            os.set_blocking(self._reaper.stdin.fileno(), False)
            self._selector.register(self._reaper.stdin, selectors.EVENT_WRITE, self._write_stdin)
        self._send_order()

    def watch(self, deadline: float, cancel: threading.Event) -> EndedBy:
        """Move data until the reaper is done; ask it for an end when the time has come."""
        ended_by = EndedBy.ITSELF
        give_up = float("inf")
        while self._status in self._selector.get_map():
            now = time.monotonic()
            if ended_by is EndedBy.ITSELF and (cancel.is_set() or now >= deadline):
                ended_by = EndedBy.CANCEL if cancel.is_set() else EndedBy.DEADLINE
                self._ask_for_an_end()
                give_up = now + self._program.ending_sec + _REAPER_SLACK_SEC
            if now >= give_up:
                break
            self._move_data(_TICK_SEC if now >= deadline else min(_TICK_SEC, deadline - now))
        return ended_by

    def close(self) -> _Report:
        """End whatever still runs, wait for the reaper, and return what it reported. Repeatable."""
        if self._report is not None:
            return self._report
        control, self._control = self._control, -1
        if control != -1:
            os.close(control)  # for the reaper this is the order to end everything
        program = self._program
        deadline = time.monotonic() + program.ending_sec
        while self._status in self._selector.get_map() and time.monotonic() < deadline:
            self._move_data(_TICK_SEC)
        if self._status in self._selector.get_map():
            self._reaper.kill()
        # Only its own end proves what it said: the program can write where it writes, and kill it.
        ended_well = self._reaper.wait() == 0
        final = self._final_message()
        lost = not (ended_well and ("status" in final or "errno" in final))
        escaped = 0
        if lost:
            escaped = end_marked(self._marker, program.kill_timeout_sec)
        self._drain()
        for stream in (self._reaper.stdin, self._reaper.stdout, self._reaper.stderr):
            if stream is not None:
                stream.close()
        os.close(self._status)
        self._selector.close()
        self._report = _Report(
            exit_code=None if lost else _exit_code(final.get("status")),
            asked=final.get("asked") is not False,
            leftovers=_leftovers(final.get("leftovers", 0), escaped),
            unkillable=_count(final.get("unkillable")),
            lost=lost,
        )
        return self._report

    def _send_order(self) -> None:
        program = self._program
        order: JsonObject = {
            "argv": list(program.argv),
            "env": {**program.env, MARKER_VARIABLE: self._marker},
            "cwd": str(program.cwd),
            "grace_sec": program.grace_sec,
            "kill_timeout_sec": program.kill_timeout_sec,
            "alone_first": program.alone_first,
            "terminal": program.terminal is not None,
        }
        data = memoryview(json.dumps(order).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):  # it died: watch() finds no report and says so
            while data:
                data = data[os.write(self._control, data) :]

    def _ask_for_an_end(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # it is done already
            os.write(self._control, b"T")

    def _read_into(
        self,
        stream: IO[bytes] | None,
        sink: OutputSink,
        show: Callable[[bytes], None] | None,
    ) -> None:
        if stream is None:
            raise ValueError("the reaper has no pipe for the program's output")
        descriptor = stream.fileno()

        def read() -> None:
            data = os.read(descriptor, _CHUNK)
            sink.write(data)
            if data and show is not None and not sink.dropped:
                show(data)
            if not data:
                self._selector.unregister(stream)

        self._selector.register(stream, selectors.EVENT_READ, read)

    def _read_status(self) -> None:
        data = os.read(self._status, _CHUNK)
        self._messages += data
        if not data:
            self._selector.unregister(self._status)

    def _write_stdin(self) -> None:
        stdin = self._reaper.stdin
        if stdin is None:
            raise ValueError("the program has no standard input to write to")
        try:
            self._to_write = self._to_write[os.write(stdin.fileno(), self._to_write[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._to_write = memoryview(b"")  # it does not want to read the rest
        if not self._to_write:
            self._selector.unregister(stdin)
            stdin.close()

    def _move_data(self, timeout_sec: float) -> None:
        for key, _ in self._selector.select(timeout_sec):
            handle: Callable[[], None] = key.data
            handle()

    def _drain(self) -> None:
        """Read what is still in the pipes; what could not be killed may hold them open for ever."""
        if self._reaper.stdin is not None and not self._reaper.stdin.closed:
            self._selector.unregister(self._reaper.stdin)
        deadline = time.monotonic() + _DRAIN_SEC
        while self._selector.get_map() and time.monotonic() < deadline:
            self._move_data(_TICK_SEC)

    def _final_message(self) -> JsonObject:
        lines = self._messages.splitlines()
        message: JsonValue = json.loads(lines[-1]) if lines else {}
        return message if isinstance(message, dict) else {}

    def raise_if_not_started(self) -> None:
        """Raise what kept the program from being started, if anything did."""
        message = self._final_message()
        if "errno" in message:
            number = _count(message["errno"])
            text = os.strerror(number) if number else str(message.get("message"))
            raise OSError(number, text, self._program.argv[0])


def _exit_code(status: JsonValue) -> int | None:
    return os.waitstatus_to_exitcode(status) if isinstance(status, int) else None


def _leftovers(told: JsonValue, escaped: int) -> int | None:
    """Return what the reaper counted and what escaped it; ``None`` when it could not count."""
    return None if told is None else _count(told) + escaped


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
