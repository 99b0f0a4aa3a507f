"""The sandbox made of bubblewrap (bwrap(1)): namespaces of its own for everything.

What is in it is a list of what may be seen, not of what may not: the system's programs and
libraries, a few files of ``/etc`` that programs need, the agent's home and working folder, its
kubectl, and what the user opened. Everything else does not exist there, the parents of those
folders included.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HOME = Path("/agent/home")
WORK_DIR = Path("/agent/workspace")
BIN = Path("/agent/bin")

_UID = 1000
"""Nobody in particular: in its namespace the agent is not root, whoever started us."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Where the system's programs and libraries are."""
_ETC = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)


TMP_BYTES: Final = 1 << 30
"""What fits into its ``/tmp``: files there are memory, which the harness needs, too."""
SHARED_BYTES: Final = 1 << 28
"""What fits into its ``/dev/shm``."""
_SMALL_BYTES: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Layout:
    """Which folders of ours are where in the sandbox.

    Attributes:
        home: The agent's home.
        work_dir: Its working folder.
        etc: A folder with ``hosts``, ``passwd``, ``group`` and ``nsswitch.conf``.
        path_prefix: Folders of programs that are first on its ``PATH``.
        kubectl: Its kubectl, where no folder that it has holds one.
        readable: What it may read besides, at the path that it has; absolute.
        hidden: Folders of ours that do not exist for it even if they are below what it sees.
    """

    home: Path
    work_dir: Path
    etc: Path
    path_prefix: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    kubectl: Path | None = None
    _moved: dict[Path, Path] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._moved.update({self.home: HOME, self.work_dir: WORK_DIR})
        for number, folder in enumerate(self.path_prefix):
            self._moved[folder] = BIN / str(number)
        if self.kubectl is not None:
            self._moved[self.kubectl] = BIN / "own" / "kubectl"

    def inside(self, path: Path) -> Path:
        """Return where a path of ours is in the sandbox; itself when it was not moved."""
        for folder, there in self._moved.items():
            if path == folder or folder in path.parents:
                return there / path.relative_to(folder)
        return path

    def inside_word(self, word: str) -> str:
        """Return an argument, moved when it is an absolute path of ours that was moved."""
        return str(self.inside(Path(word))) if word.startswith("/") else word


def bwrap_options(layout: Layout) -> list[str]:
    """Return the options of bubblewrap that make the sandbox.

    The network namespace is not bubblewrap's: ``jail.py`` makes it before.

    Args:
        layout: What is where.
    """
    options = [
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--disable-userns", "--die-with-parent"),
        *("--uid", str(_UID), "--gid", str(_UID), "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--proc", "/proc", "--dev", "/dev", *_memory("/dev/shm", SHARED_BYTES)),  # noqa: S108 - its own
        *(*_memory("/tmp", TMP_BYTES), *_memory("/run", _SMALL_BYTES)),  # noqa: S108 - its own
        *_system_mounts(),
    ]
    for path in _ETC:
        options += ("--ro-bind-try", path, path)
    for name in ("hosts", "passwd", "group", "nsswitch.conf"):
        options += ("--ro-bind", str(layout.etc / name), f"/etc/{name}")
    # What the user opened comes before the agent's own folders: it may be a parent of them.
    for readable in layout.readable:
        options += ("--ro-bind", str(readable), str(readable))
    for folder in layout.hidden:
        if is_system_path(folder) or any(folder.is_relative_to(r) for r in layout.readable):
            options += _memory(str(folder), _SMALL_BYTES)
            # One below it was opened for itself: the token of the agent is in a folder of ours.
            for readable in layout.readable:
                if readable != folder and readable.is_relative_to(folder):
                    options += ("--ro-bind", str(readable), str(readable))
    for number, folder in enumerate(layout.path_prefix):
        options += ("--ro-bind", str(folder), str(BIN / str(number)))
    if layout.kubectl is not None:
        options += ("--ro-bind", str(layout.kubectl), str(BIN / "own" / "kubectl"))
    options += ("--bind", str(layout.home), str(HOME), "--bind", str(layout.work_dir))
    options += (str(WORK_DIR), "--chdir", str(WORK_DIR))
    # Both are memory without a bound.
    options += ("--remount-ro", "/dev", "--remount-ro", "/")
    return options


def _memory(path: str, size: int) -> tuple[str, ...]:
    """Return the options of an empty folder in memory that holds so many bytes."""
    return "--size", str(size), "--tmpfs", path


def is_system_path(path: Path) -> bool:
    """Whether a path is one of those that every sandbox has."""
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def write_etc(folder: Path, hosts: str, uid: int = _UID, gid: int = _UID) -> None:
    """Write the files of ``/etc`` that a sandbox has of its own.

    Args:
        folder: An existing folder.
        hosts: The text of ``/etc/hosts``.
        uid: The agent's user there.
        gid: Its group.

    Raises:
        OSError: They could not be written.
    """
    files = {
        "hosts": hosts,
        "passwd": f"agent:x:{uid}:{gid}:agent:{HOME}:/bin/bash\n",
        "group": f"agent:x:{gid}:\n",
        # No DNS: names are those of the hosts file.
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def visible_folders(layout: Layout, path: str) -> list[Path]:
    """Return the folders of a ``PATH`` that a sandbox has, where they are outside of it.

    Args:
        layout: What is where.
        path: The ``PATH`` that the agent would have without a sandbox.
    """
    return [folder for text in path.split(os.pathsep) if is_visible(layout, folder := Path(text))]


def is_visible(layout: Layout, path: Path) -> bool:
    """Whether a path of ours is in the sandbox."""
    opened = any(path.is_relative_to(root) for root in layout.readable)
    return layout.inside(path) != path or opened or is_system_path(path)


def _system_mounts() -> Iterator[str]:
    """Yield the mounts of the system's programs; ``/bin`` is a link to ``/usr/bin`` on most."""
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
