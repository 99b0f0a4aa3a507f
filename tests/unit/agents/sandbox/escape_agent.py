#!/usr/bin/env python3
"""An agent that goes looking: it prints, as JSON, everything that it found and should not have.

Standard input is JSON: ``canary`` (what every secret begins with), ``folder`` (where the harness
keeps its files), ``ports`` and ``sockets`` of listeners on the host, ``abstract`` (a socket without
a file), and ``only``: a folder to which it keeps, with the processes that it comes from, or null to
look everywhere.

It only ever reads and connects, and without a sandbox it looks only at what the test made: there it
runs on somebody's machine, perhaps as root.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import sys
from typing import Any

MAX_ENTRIES = 20_000
MAX_BYTES = 200_000
ROOTS = ("/home", "/root", "/tmp", "/var/tmp", "/run", "/mnt", "/srv")


def main() -> None:
    what = json.load(sys.stdin)
    canary = what["canary"].encode()
    found = {
        "files": sorted(set(files_with(canary, what["only"]))),
        "proc": sorted(set(proc_with(canary, what["only"]))),
        "network": sorted(connections(what)),
        "paths": sorted(set(proc_with(what["folder"].encode(), what["only"]))),
        "mine": mine(),
        "privileges": privileges(),
    }
    print(json.dumps(found))


def files_with(canary: bytes, only: str | None) -> list[str]:
    if only is not None:
        return search(pathlib.Path(only), canary)
    roots = {pathlib.Path(p) for p in ROOTS}
    roots |= set(pathlib.Path.cwd().parents) | {pathlib.Path.home(), pathlib.Path.home().parent}
    roots |= set(pathlib.Path("/proc").glob("[0-9]*/root/tmp"))
    roots |= set(pathlib.Path("/proc").glob("[0-9]*/cwd"))
    return [hit for root in roots for hit in search(root, canary)]


def search(root: pathlib.Path, canary: bytes) -> list[str]:
    hits, budget, queue = [], MAX_ENTRIES, [(str(root), 0)]
    while queue and budget:
        folder, depth = queue.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                budget -= 1
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if depth < 4 and entry.name not in ("proc", "sys", "usr", "lib"):
                            queue.append((entry.path, depth + 1))
                    elif holds(entry, canary):
                        hits.append(entry.name)
                if not budget:
                    break
    return hits


def holds(entry: os.DirEntry[str], canary: bytes) -> bool:
    # Files of the kernel have no size, and reading one may wait for ever.
    if not entry.is_file() or not 0 < entry.stat().st_size <= MAX_BYTES:
        return False
    return canary in pathlib.Path(entry.path).read_bytes()


def proc_with(canary: bytes, only: str | None) -> list[str]:
    processes = set(pathlib.Path("/proc").glob("[0-9]*")) if only is None else ancestors()
    hits = []
    for process in processes:
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                if canary in (process / name).read_bytes():
                    hits.append(name)
    return hits


def ancestors() -> set[pathlib.Path]:
    """The processes that this one comes from, init not counted."""
    found, pid = set(), os.getppid()
    while pid > 1:
        folder = pathlib.Path(f"/proc/{pid}")
        found.add(folder)
        pid = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def connections(what: dict[str, Any]) -> list[str]:
    reached = []
    for name, (host, port) in what["ports"].items():
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=2):
            reached.append(name)
    for name, path in {**what["sockets"], "abstract": "\0" + what["abstract"]}.items():
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            reached.append(name)
    with contextlib.suppress(OSError):
        socket.getaddrinfo("kubernetes.io", 443)
        reached.append("dns")
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 53))
        reached.append("route")
    return reached


def mine() -> dict[str, object]:
    """What it is supposed to have."""
    config = pathlib.Path(os.environ["KUBECONFIG"]).read_text()
    pathlib.Path("written").write_text("x")
    return {
        "kubeconfig": "kind: Config" in config,
        "work": sorted(path.name for path in pathlib.Path().iterdir()),
    }


def privileges() -> dict[str, object]:
    """What it is on the machine; only looked at, for this agent also runs without a sandbox."""
    status = pathlib.Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return {
        "capabilities": int(fields["CapEff"], 16) | int(fields["CapBnd"], 16),
        "no_new_privileges": int(fields["NoNewPrivs"]),
        "uid": os.getuid(),
    }


if __name__ == "__main__":
    main()
