"""The small program that every agent runs under, so that nothing of an agent outlives its turn.

It is started as ``python -I -S reaper.py CONTROL_FD STATUS_FD [HELD_FD…]`` by
:mod:`devops_bench.core.process` and uses the standard library only, so that it starts in a few
milliseconds. It

* becomes a child subreaper (``PR_SET_CHILD_SUBREAPER``, prctl(2)): whatever an agent leaves behind,
  also by a double fork into a new session, becomes a child of this process instead of init's;
* starts the program in its own session, with ``PR_SET_PDEATHSIG``;
* ends every descendant when the program ends, when it is asked to, and when the control pipe is
  closed: that is what the death of devops-bench looks like, ``kill -9`` included.

The control pipe carries one line of JSON (``argv``, ``env``, ``cwd``, ``grace_sec``,
``kill_timeout_sec``, ``alone_first``: whether the program gets SIGTERM and the grace alone before
its descendants do, and ``terminal``: whether standard input becomes its controlling terminal) and
then at most one ``T``: end it. The status pipe carries one line of JSON back:
``{"errno": N, "message": …}`` when the program could not be started, otherwise, when nothing of it
is left, its wait status with ``asked`` (whether it was still running when its end was asked for)
and the counts ``leftovers`` (``null`` where nobody could look for them) and ``unkillable``.

The held descriptors are of no other use than to be open until then, also after devops-bench was
killed: the lock of what the program uses is so not free before the program is gone.

On a system without prctl(2) and /proc only the program's own process group is ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# A pipeline's first members die a moment after the shell that ran them: they are not leftovers.
_SETTLE_SEC = 0.1
_POLL_SEC = 0.02


def descendants(root: int) -> set[int]:
    """Return the pids of every living process below ``root``, zombies not counted.

    The parents are read from ``/proc/PID/stat`` (proc_pid_stat(5)); without ``/proc`` the set is
    empty.
    """
    children: dict[int, list[int]] = {}
    alive: set[int] = set()
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib costs more than this program's start
    except OSError:
        return set()
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                # The second field is the command in parentheses, and may hold anything.
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # it ended while we looked
        children.setdefault(int(parent), []).append(int(name))
        if state not in (b"Z", b"X"):
            alive.add(int(name))
    found: set[int] = set()
    queue = [root]
    while queue:
        for pid in children.get(queue.pop(), ()):
            if pid not in found:
                found.add(pid)
                queue.append(pid)
    return found & alive


def main(control_fd: int, status_fd: int, *held_fds: int) -> int:
    """Run one program as the module's docstring says; return this process's exit code."""
    for fd in (control_fd, status_fd, *held_fds):
        os.set_inheritable(fd, False)
    sees_all = adopt_orphans()
    wake_fd = _watch_signals()
    line, _, rest = _read_line(control_fd).partition(b"\n")
    if not line:
        return 1  # devops-bench ended before it said what to run
    order = json.loads(line)
    pid = _start(order, status_fd)
    if pid is None:
        return 0
    _release_standard_streams()
    tree = _Tree(pid, float(order["grace_sec"]), float(order["kill_timeout_sec"]))
    if b"T" not in rest:
        tree.wait_until_it_ends(control_fd, wake_fd)
    asked = tree.status is None
    if asked and order.get("alone_first"):
        tree.ask_the_program()
    tree.end_everything()
    _report(
        status_fd,
        {
            "status": tree.status,
            "asked": asked,
            "leftovers": len(tree.leftovers) if sees_all else None,
            "unkillable": len(descendants(os.getpid())),
        },
    )
    return 0


def adopt_orphans() -> bool:
    """Become a child subreaper; return whether everything below is seen from now on."""
    try:
        adopts = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (AttributeError, OSError):  # no prctl(2): see the module's docstring
        return False
    return adopts and os.path.exists("/proc/self/stat")  # noqa: PTH110 - starts faster


def _watch_signals() -> int:
    """Turn SIGCHLD and every request to end into a byte on the returned descriptor."""
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    os.set_blocking(read_fd, False)
    signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    return read_fd


def _read_line(fd: int) -> bytes:
    data = b""
    while b"\n" not in data:
        chunk = os.read(fd, 65536)
        if not chunk:
            return b""
        data += chunk
    return data


def _report(fd: int, message: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):  # devops-bench is gone: nobody to tell
        os.write(fd, json.dumps(message).encode() + b"\n")


def _start(order: dict[str, object], status_fd: int) -> int | None:
    """Fork and execute the program; return its pid, or report why not and return ``None``."""
    error_read, error_write = os.pipe()  # close-on-exec: it closes when the program has started
    pid = os.fork()
    if pid == 0:
        try:
            _become(order)
        except BaseException as exc:  # noqa: BLE001 - the child must never return from here
            number = exc.errno if isinstance(exc, OSError) and exc.errno else 0
            os.write(error_write, json.dumps({"errno": number, "message": str(exc)}).encode())
        os._exit(127)
    os.close(error_write)
    error = b""
    while chunk := os.read(error_read, 65536):
        error += chunk
    os.close(error_read)
    if error:
        os.waitpid(pid, 0)
        _report(status_fd, json.loads(error))
        return None
    return pid


def _become(order: dict[str, object]) -> None:
    """In the child: become the program."""
    argv, env = order["argv"], order["env"]
    assert isinstance(argv, list)  # noqa: S101 - our own message, checked for the type checker
    assert isinstance(env, dict)  # noqa: S101 - as above
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.setsid()
    if order.get("terminal"):
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that a shell has job control, ioctl_tty(2)
    parent = os.getppid()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(127)  # the reaper died before the death signal was set
    os.chdir(str(order["cwd"]))
    os.execvpe(argv[0], argv, env)  # noqa: S606 - no shell is the point


def _release_standard_streams() -> None:
    """Let go of the agent's pipes, so that they close when the agent closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


class _Tree:
    """The program and everything below it."""

    def __init__(self, pid: int, grace_sec: float, kill_timeout_sec: float) -> None:
        self._pid = pid
        self._grace_sec = grace_sec
        self._kill_timeout_sec = kill_timeout_sec
        self._childless = False
        self.status: int | None = None
        self.leftovers: set[int] = set()

    def wait_until_it_ends(self, control_fd: int, wake_fd: int) -> None:
        """Return when the program has ended, or when somebody asks for its end."""
        while True:
            self._reap()
            if self.status is not None:
                return
            ready, _, _ = select.select([control_fd, wake_fd], [], [])
            if control_fd in ready:
                return  # a "T", or the end of devops-bench
            if set(os.read(wake_fd, 4096)) & {signal.SIGTERM, signal.SIGHUP}:
                return

    def ask_the_program(self) -> None:
        """Let the program end what it started: SIGTERM to it alone, and a grace."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._pid, signal.SIGTERM)
            os.kill(self._pid, signal.SIGCONT)
        deadline = time.monotonic() + self._grace_sec
        while self.status is None and time.monotonic() < deadline:
            time.sleep(_POLL_SEC)
            self._reap()

    def end_everything(self) -> None:
        """End every descendant: SIGTERM, a grace, SIGKILL. Bounded in time."""
        if self.status is not None:
            self._wait_childless(_SETTLE_SEC)
        if self._signal_all(signal.SIGTERM):
            self._wait_childless(self._grace_sec)
        deadline = time.monotonic() + self._kill_timeout_sec
        # Killing is repeated: a process may fork between the look and the signal.
        while not self._childless and time.monotonic() < deadline:
            self._signal_all(signal.SIGKILL)
            self._wait_childless(_POLL_SEC)

    def _wait_childless(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._childless and time.monotonic() < deadline:
            time.sleep(_POLL_SEC)
            self._reap()

    def _signal_all(self, number: signal.Signals) -> bool:
        """Send a signal to every descendant; return whether there was one."""
        pids = descendants(os.getpid())
        if self.status is not None:
            self.leftovers |= pids
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                if number == signal.SIGTERM:
                    os.kill(pid, signal.SIGCONT)  # a stopped process does not see SIGTERM
        if self.status is None:
            # Also without /proc: the program's own group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)
        return not self._childless

    def _reap(self) -> None:
        """Collect every child that ended: our own, and those that were left to us."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._childless = True  # nothing below us: orphans would have become ours
                return
            if pid == 0:
                return
            if pid == self._pid:
                self.status = status


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
