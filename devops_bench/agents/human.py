"""The agent that is a person: a shell with the right kubeconfig, on this terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import termios
import threading
import tty
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, AgentResult, AgentTurn
from devops_bench.agents.lines import LineReader
from devops_bench.agents.options import AgentOptions, refuse_arguments
from devops_bench.agents.process import AgentProgram, agent_home, run_program_for_turn
from devops_bench.core.errors import AgentError, InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task

TERMINAL = "/dev/tty"
_CHUNK = 65536
_LOOK_SEC = 0.2
_SIZE_BYTES = 8  # struct winsize, ioctl_tty(2)


@AGENTS.register("human")
class HumanAgent:
    """Opens a shell; the turn ends when it does.

    The shell has a terminal of its own, whose words are copied to the real one and to the
    transcript, so that a shell that goes wrong leaves the real terminal as it was.

    Args:
        terminal: The terminal's device.
    """

    name = "human"

    def __init__(self, terminal: str = TERMINAL) -> None:
        self._terminal = terminal

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> HumanAgent:  # noqa: ARG003
        """Return the agent.

        Raises:
            InvalidInputError: There is no terminal, or words were given after ``--``.
        """
        refuse_arguments(cls.name, options)
        try:
            os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        except OSError as exc:
            raise InvalidInputError(f"--agent human needs a terminal: {exc.strerror}") from exc
        return cls()

    def run(self, turn: AgentTurn) -> AgentResult:
        """Give the terminal to the person until the shell ends.

        Raises:
            AgentError: There is no terminal any more, or the shell could not be started.
        """
        try:
            outside = os.open(self._terminal, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as exc:
            raise AgentError(f"there is no terminal: {exc.strerror}") from exc
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, outside)
            home = stack.enter_context(agent_home(turn))
            inside = stack.enter_context(_terminal_of_its_own(outside, turn))
            program = AgentProgram(
                [shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin") or "sh", "-i"],
                extra_env={"TERM": os.environ.get("TERM", "dumb")},
                terminal=inside,
            )
            return run_program_for_turn(program, turn, home)


@contextlib.contextmanager
def _terminal_of_its_own(outside: int, turn: AgentTurn) -> Iterator[int]:
    """Yield a new terminal that is copied from and to the real one, and put that one right."""
    ours, theirs = os.openpty()
    stop, stopped = os.pipe()
    before = termios.tcgetattr(outside)
    # A background process that sets a terminal's attributes is stopped (credentials(7)).
    ignored = signal.SIG_IGN if threading.current_thread() is threading.main_thread() else None
    old = None if ignored is None else signal.signal(signal.SIGTTOU, ignored)
    transcript = turn.transcript
    said = LineReader(
        lambda text: transcript.output("stdout", text), whole=True, secrets=transcript.secrets
    )
    copier = threading.Thread(
        target=_copy, args=(outside, ours, stop, said), name="terminal", daemon=True
    )
    try:
        # What was typed already is for the shell: it is not flushed.
        tty.setraw(outside, termios.TCSADRAIN)
        _greet(outside, turn)
        copier.start()
        yield theirs
    finally:
        os.close(theirs)
        os.close(stopped)
        copier.join()
        said.close()
        termios.tcsetattr(outside, termios.TCSADRAIN, before)
        os.close(ours)
        os.close(stop)
        if old is not None:
            signal.signal(signal.SIGTTOU, old)


def _greet(outside: int, turn: AgentTurn) -> None:
    text = (
        f"\n{turn.prompt.rstrip()}\n\n"
        f"This shell has {turn.timeout_sec:g} s; leave it (exit) when you are done. "
        "kubectl is set up.\n\n"
    )
    _write(outside, text.replace("\n", "\r\n").encode())


def _copy(outside: int, ours: int, stop: int, said: LineReader) -> None:
    """Copy both ways until ``stop`` closes and nothing is left; in a thread of its own."""
    size, ended = b"", False
    sources = [outside, ours, stop]
    while True:
        size = _keep_size(outside, ours, size)
        ready, _, _ = select.select(sources, [], [], 0 if ended else _LOOK_SEC)
        if ended and ours not in ready:
            return
        if stop in ready:
            ended, sources = True, [ours]
            continue
        for source, sink in ((ours, outside), (outside, ours)):
            if source not in ready:
                continue
            try:
                data = os.read(source, _CHUNK)
            except OSError:  # EIO: the last process of the shell closed it, pty(7)
                data = b""
            if not data:
                sources.remove(source)
                if source == ours and ended:
                    return
                continue
            if source == ours:
                said.feed(data)
            _write(sink, data)


def _keep_size(outside: int, ours: int, before: bytes) -> bytes:
    """Give the shell's terminal the size of the real one."""
    with contextlib.suppress(OSError):  # not every terminal has a size
        size = fcntl.ioctl(outside, termios.TIOCGWINSZ, b"\0" * _SIZE_BYTES)
        if size != before:
            fcntl.ioctl(ours, termios.TIOCSWINSZ, size)
        return size
    return before


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    with contextlib.suppress(OSError):  # closed: the person is gone, and the shell will end
        while view:
            view = view[os.write(descriptor, view) :]
