"""The network of a sandbox of Docker: that of a container without one, with our doors in it.

A container of its own holds the network: it was made with ``--network none``, listens at the doors,
hands the listening sockets to us through a Unix socket, and waits. The agent's containers join its
network, so that nothing is asked of their image, and nothing of this is in their file system or
among their processes. The holder runs this machine's Python and libraries in an image that holds
nothing but the places to mount them at.
"""

from __future__ import annotations

import array
import contextlib
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devops_bench.agents.sandbox import jail
from devops_bench.agents.sandbox.bwrap import SYSTEM, is_system_path
from devops_bench.agents.sandbox.docker import locked_down, mount
from devops_bench.agents.sandbox.doors import Door
from devops_bench.core.containers import DockerClient
from devops_bench.core.errors import ContainerError
from devops_bench.core.json import JsonObject, JsonValue

_START_TIMEOUT_SEC = 60.0
_ANSWER_BYTES = 65536
_KEY_LABEL = "devops-bench.doors"
_DOORS = "/doors"
_SOCKET = "control.sock"
_PROGRAM = "jail.py"
_EMPTY_FOLDERS = ("dev", "doors", "etc", "proc", "sys", "tmp", "work")


@dataclass(slots=True)
class DockerNetwork:
    """A network with doors.

    Attributes:
        container: The name of the container that holds it.
        relay: The process that moves what comes to the doors.
    """

    container: str
    relay: subprocess.Popen[str]

    def connections(self) -> tuple[int, ...]:
        """Return how often each door was used until now, in their order.

        Raises:
            ContainerError: The process that moves the bytes is gone.
        """
        stdin, stdout = self.relay.stdin, self.relay.stdout
        assert stdin is not None  # noqa: S101 - both are pipes, see open_network
        assert stdout is not None  # noqa: S101
        try:
            stdin.write("\n")
            stdin.flush()
            said: JsonValue = json.loads(stdout.readline())
        except (OSError, ValueError) as exc:
            raise ContainerError("the relay of the agent's sandbox was ended by somebody") from exc
        counts = said.get("connections") if isinstance(said, dict) else None
        listed = counts if isinstance(counts, list) else []
        return tuple(count for count in listed if isinstance(count, int))


@contextlib.contextmanager
def open_network(
    client: DockerClient, sandbox: str, doors: Sequence[Door], folder: Path
) -> Iterator[DockerNetwork]:
    """Yield a network with doors; the container that holds it must be removed by the caller.

    Args:
        client: The daemon's client.
        sandbox: The value of the label of the sandbox's containers.
        doors: What can be reached.
        folder: An existing folder of ours that no other user may enter.

    Raises:
        ContainerError: The daemon refused it, or what runs in it did not get as far as the doors.
    """
    shared = folder / "doors"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    # The holder's root has no right to read what only we may read.
    copy = shared / _PROGRAM
    shutil.copyfile(jail.__file__, copy)
    copy.chmod(0o644)
    name = f"devops-bench-{sandbox}-network"
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(contextlib.closing(_listen(shared)))
        _start_holder(client, sandbox, name, doors, shared)
        channel, fds = _take_sockets(listener, len(doors), client, name)
        stack.enter_context(contextlib.closing(channel))
        try:
            relay = _start_relay(doors, fds)
        finally:
            for fd in fds:
                os.close(fd)
        stack.callback(_end_relay, relay)
        yield DockerNetwork(name, relay)


def holder_image(client: DockerClient) -> str:
    """Return the id of the image that the holder runs in; it is made where it is missing.

    It holds no file at all, some kilobytes; it stays with the daemon for the next time.

    Raises:
        ContainerError: The daemon refused it.
    """
    data = _skeleton()
    key = hashlib.sha256(data).hexdigest()[:16]
    label = f"{_KEY_LABEL}={key}"
    found = client.ask("image", "ls", "-q", "--no-trunc", "--filter", f"label={label}").split()
    if found:
        return found[0]
    change = f"--change=LABEL {label}"
    return client.ask("import", change, "-", f"devops-bench-doors:{key}", stdin=data).split()[-1]


def machine_mounts() -> list[str]:
    """Return the words for this machine's programs and libraries in :func:`holder_image`."""
    words: list[str] = []
    for name in SYSTEM:
        if Path(name).is_dir() and not Path(name).is_symlink():
            words += mount(Path(name), name)
    cache = Path("/etc/ld.so.cache")
    if cache.exists():
        words += mount(cache, cache)
    prefix = Path(sys.base_prefix).resolve()
    if is_system_path(prefix):
        return words
    # Such a Python may have its library beside it and nothing that says so.
    return [*words, *mount(prefix, prefix), "--env", f"LD_LIBRARY_PATH={prefix / 'lib'}"]


def machine_python() -> list[str]:
    """Return the command line of this Python where only :func:`machine_mounts` are."""
    return [str(Path(sys.executable).resolve()), "-I", "-S"]


def _start_holder(
    client: DockerClient, sandbox: str, name: str, doors: Sequence[Door], shared: Path
) -> None:
    order: JsonObject = {
        "doors": [door.as_json() for door in doors],
        "hold": f"{_DOORS}/{_SOCKET}",
    }
    command = [*machine_python(), f"{_DOORS}/{_PROGRAM}", json.dumps(order)]
    words = [
        *locked_down(name, sandbox),
        # An address that is not of the loopback is given to it; a port may be below 1024.
        *("--network", "none", "--user", "0:0", "--cap-add", "NET_ADMIN"),
        *("--sysctl", "net.ipv4.ip_unprivileged_port_start=0"),
        *machine_mounts(),
        *mount(shared, _DOORS),
    ]
    if any(":" in door.listen.host for door in doors):
        words += ("--sysctl", "net.ipv6.conf.all.disable_ipv6=0")
        words += ("--sysctl", "net.ipv6.conf.lo.disable_ipv6=0")
    image = holder_image(client)
    client.ask("run", "--detach", *words, "--entrypoint", command[0], image, *command[1:])


def _listen(folder: Path) -> socket.socket:
    """Listen at a Unix socket in a folder whose path may be longer than a socket's can be."""
    listener = socket.socket(socket.AF_UNIX)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{descriptor}/{_SOCKET}")
        (folder / _SOCKET).chmod(0o666)  # the folder above is ours alone
        listener.listen(1)
        listener.settimeout(_START_TIMEOUT_SEC)
    except OSError:
        listener.close()
        raise
    finally:
        os.close(descriptor)
    return listener


def _take_sockets(
    listener: socket.socket, count: int, client: DockerClient, name: str
) -> tuple[socket.socket, list[int]]:
    """Return the connection that keeps the holder alive, and the doors' listening sockets."""
    try:
        channel, _ = listener.accept()
    except TimeoutError as exc:
        raise ContainerError(
            f"the sandbox's network did not come up: {_last_words(client, name)}"
        ) from exc
    channel.settimeout(_START_TIMEOUT_SEC)
    size = socket.CMSG_SPACE(count * array.array("i").itemsize)
    fds = array.array("i")
    try:
        data, control, _, _ = channel.recvmsg(_ANSWER_BYTES, size)
    except OSError as exc:
        channel.close()
        raise ContainerError(f"the sandbox's network did not come up: {exc}") from exc
    for level, kind, raw in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(raw[: len(raw) - len(raw) % fds.itemsize])
    if data != b"\n" or len(fds) != count:
        channel.close()
        for fd in fds:
            os.close(fd)
        said = data.decode(errors="replace").strip() or _last_words(client, name)
        raise ContainerError(f"the sandbox's network could not be made: {said}")
    return channel, list(fds)


def _last_words(client: DockerClient, name: str) -> str:
    with contextlib.suppress(ContainerError):  # then the general answer must do
        said = client.ask("logs", name).strip().splitlines()
        if said:
            return said[-1]
    return "what runs in it does not reach us"


def _start_relay(doors: Sequence[Door], fds: Sequence[int]) -> subprocess.Popen[str]:
    order: JsonObject = {"doors": [door.as_json() for door in doors], "serve": list(fds)}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", jail.__file__, json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=fds,
        text=True,
        # An interrupt of the terminal is for us: the doors stay open until the turn is over.
        start_new_session=True,
    )


def _end_relay(relay: subprocess.Popen[str]) -> None:
    relay.kill()  # it keeps nothing
    relay.communicate()


def _skeleton() -> bytes:
    """Return a tar with folders and links only, the same bytes for the same machine."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in _EMPTY_FOLDERS:
            _add(tar, name)
        for path in map(Path, SYSTEM):
            if path.is_symlink():
                _add(tar, path.name, str(path.readlink()))
            elif path.is_dir():
                _add(tar, path.name)
    return data.getvalue()


def _add(tar: tarfile.TarFile, name: str, link: str | None = None) -> None:
    entry = tarfile.TarInfo(name)
    entry.mode = 0o755
    entry.type = tarfile.DIRTYPE
    if link is not None:
        entry.type, entry.linkname = tarfile.SYMTYPE, link
    tar.addfile(entry)
