"""The small program that gives a sandboxed agent a network of its own with a few doors in it.

It is started as ``python -I -S jail.py ORDER PROGRAM ARGUMENT…`` and uses the standard library
only, so that it starts in a few milliseconds. The order is JSON: ``doors``, a list of
``{"listen": [ADDRESS, PORT], "target": [HOST, PORT]}``; ``report``, a file; ``bwrap``, the path of
bubblewrap, and its ``options``. It forks:

* the child enters a new user namespace and a new network namespace (unshare(2)), where there is
  nothing but a loopback interface; it listens there at each door's address, hands the listening
  sockets to its parent through a Unix socket (``SCM_RIGHTS``, unix(7)), and becomes bubblewrap with
  the program;
* the parent stays in the network that it came from. It accepts what comes to a door, connects to
  that door's target and to nothing else, and moves the bytes. It ends with the program's exit code.

A socket belongs to the namespace that it was made in, whoever holds it; so the agent reaches the
doors and nothing else, there is no proxy protocol that it could ask for something else, and nothing
of this program is in the agent's process namespace.

The report is one line of JSON: ``{"connections": [COUNT…]}`` in the order of the doors, or
``{"error": …}`` when the program could not be started in its network.

Where a container engine makes the network the two halves are started apart. An order with ``hold``,
the path of a Unix socket, is carried out in a container without a network: it listens at the doors,
hands the listening sockets over there, and stays until the other end is closed. One with ``serve``,
the descriptors of those sockets, is carried out outside: it answers each line of its standard input
with ``{"connections": [COUNT…]}`` and ends with its input.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import ipaddress
import json
import os
import selectors
import signal
import socket
import struct
import sys
import threading

TYPE_CHECKING = False  # importing typing would cost a third of this program's start
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_SIOCSIFADDR, _SIOCSIFNETMASK = 0x8916, 0x891C
_SIOCGIFINDEX, _SIOCSIFADDR_IPV6 = 0x8933, 0x8916
_IFF_UP = 1
_CHUNK = 65536
_BACKLOG = 128
_CONNECT_TIMEOUT_SEC = 30.0


def main(order: dict[str, Any], argv: list[str]) -> int:
    """Run the program as the module's docstring says; return this process's exit code."""
    doors = order["doors"]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            _enter(doors, theirs)
            _become(order["bwrap"], order["options"], argv)
        except BaseException as exc:  # noqa: BLE001 - the child must never return from here
            with contextlib.suppress(OSError):
                theirs.sendall(json.dumps(f"{type(exc).__name__}: {exc}").encode())
        os._exit(127)
    theirs.close()
    _release_standard_streams()
    # The program is asked to end, then this one: it must outlive it to keep its doors open.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    relay = _Relay(doors)
    error = relay.take_sockets(ours, len(doors))
    if error is None:
        threading.Thread(target=relay.accept_all, daemon=True).start()
        error = _read_all(ours.detach()).decode()  # empty once the program runs
    _, status = os.waitpid(child, 0)
    with open(order["report"], "w", encoding="utf-8") as file:  # noqa: PTH123 - starts faster
        json.dump({"error": error} if error else {"connections": relay.connections}, file)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def hold(order: dict[str, Any]) -> int:
    """Open the doors in the network that this process has, and keep that network."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(order["hold"])
        try:
            _open_doors(order["doors"], channel)
        except OSError as exc:
            channel.sendall(f"{type(exc).__name__}: {exc}".encode())
            return 1
        while channel.recv(_CHUNK):  # nothing is ever said: this waits for its end
            pass
    return 0


def serve(order: dict[str, Any]) -> int:
    """Move what comes to the doors until the standard input ends."""
    relay = _Relay(order["doors"])
    relay.use(order["serve"])
    threading.Thread(target=relay.accept_all, daemon=True).start()
    for _ in sys.stdin:
        sys.stdout.write(json.dumps({"connections": relay.connections}) + "\n")
        sys.stdout.flush()
    return 0


def _release_standard_streams() -> None:
    """Let go of the agent's pipes, so that they close when the agent closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _read_all(fd: int) -> bytes:
    data = b""
    while chunk := os.read(fd, _CHUNK):
        data += chunk
    os.close(fd)
    return data


def _enter(doors: list[dict[str, list[object]]], channel: socket.socket) -> None:
    """In the child: leave the network behind, and hand the doors' sockets over."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "no namespace: " + os.strerror(ctypes.get_errno()))
    for name, text in (
        ("uid_map", f"{uid} {uid} 1"),
        ("setgroups", "deny"),  # needed before an unprivileged gid_map, user_namespaces(7)
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - as above
            file.write(text)
    _bring_up_loopback()
    _open_doors(doors, channel)


def _open_doors(doors: list[dict[str, list[object]]], channel: socket.socket) -> None:
    """Listen at the doors, and hand the listening sockets over."""
    sockets = []
    for number, door in enumerate(doors):
        host, port = str(door["listen"][0]), int(str(door["listen"][1]))
        _add_address(host, number)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        sockets.append(listener)
    fds = array.array("i", [listener.fileno() for listener in sockets])
    channel.sendmsg([b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if sockets else [])


def _become(bwrap: str, options: list[str], argv: list[str]) -> None:
    """Become bubblewrap; its options come by a descriptor.

    As arguments the agent could read them, and paths of ours in them: its first process is a copy
    of bubblewrap.
    """
    descriptor = os.memfd_create("options")
    os.write(descriptor, b"".join(option.encode() + b"\0" for option in options))
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)
    os.execv(bwrap, [bwrap, "--args", str(descriptor), "--", *argv])  # noqa: S606 - no shell


def _bring_up_loopback() -> None:
    """Set the flag IFF_UP of ``lo``, netdevice(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack("16xH22x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | _IFF_UP))


def _add_address(host: str, number: int) -> None:
    """Give ``lo`` an address that it has not, as an alias with a mask of its own."""
    address = ipaddress.ip_address(host)
    if address.is_loopback:
        return
    if address.version == 6:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
            found = fcntl.ioctl(control, _SIOCGIFINDEX, struct.pack("16si20x", b"lo", 0))
            index = struct.unpack("16si20x", found)[1]
            request = struct.pack("=16sIi", address.packed, 128, index)  # struct in6_ifreq
            fcntl.ioctl(control, _SIOCSIFADDR_IPV6, request)
        return
    alias = f"lo:{number}".encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for number, value in ((_SIOCSIFADDR, address.packed), (_SIOCSIFNETMASK, b"\xff" * 4)):
            packed = struct.pack("16sH2x4s8x", alias, socket.AF_INET, value)
            fcntl.ioctl(control, number, packed)


class _Relay:
    """Moves what comes to a door to that door's target."""

    def __init__(self, doors: list[dict[str, list[object]]]) -> None:
        self._targets = [(str(d["target"][0]), int(str(d["target"][1]))) for d in doors]
        self._listeners: list[socket.socket] = []
        self.connections = [0] * len(doors)

    def take_sockets(self, channel: socket.socket, count: int) -> str | None:
        """Receive the listening sockets; return what went wrong, if anything did."""
        size = socket.CMSG_SPACE(count * array.array("i").itemsize)
        data, control, _, _ = channel.recvmsg(_CHUNK, size)
        for level, kind, raw in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i", raw[: len(raw) - len(raw) % 4])
                self.use(fds)
        if data == b"\n" and len(self._listeners) == count:
            return None
        return data.decode(errors="replace") or "it ended before it had a network"

    def use(self, fds: Iterable[int]) -> None:
        """Take the listening sockets, in the order of the doors."""
        self._listeners = [socket.socket(fileno=fd) for fd in fds]

    def accept_all(self) -> None:
        """Accept for ever; every connection is moved by threads of its own."""
        selector = selectors.DefaultSelector()
        for number, listener in enumerate(self._listeners):
            selector.register(listener, selectors.EVENT_READ, number)
        while True:
            for key, _ in selector.select():
                listener = self._listeners[key.data]
                with contextlib.suppress(OSError):  # gone before it was accepted
                    inside, _ = listener.accept()
                    self.connections[key.data] += 1
                    threading.Thread(
                        target=self._move, args=(inside, self._targets[key.data]), daemon=True
                    ).start()

    @staticmethod
    def _move(inside: socket.socket, target: tuple[str, int]) -> None:
        try:
            outside = socket.create_connection(target, timeout=_CONNECT_TIMEOUT_SEC)
        except OSError:
            inside.close()
            return
        outside.settimeout(None)
        for end in (inside, outside):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=_pump, args=(outside, inside), daemon=True)
        back.start()
        _pump(inside, outside)
        back.join()
        inside.close()
        outside.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Move bytes one way until one side has had enough, and tell the other."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            end.shutdown(how)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    if "hold" in given:
        sys.exit(hold(given))
    sys.exit(serve(given) if "serve" in given else main(given, sys.argv[2:]))
