"""What is known of every control plane on this machine, and the removal of what was left over."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from devops_bench.clusters import leftovers
from devops_bench.clusters.dirs import planes_dir, private_dir
from devops_bench.core.errors import ClusterError, InvalidInputError
from devops_bench.core.files import write_atomic
from devops_bench.core.identity import ProcessIdentity
from devops_bench.core.json import JsonObject, JsonValue

STATE_FILE: Final = "state.json"
KUBECONFIG_FILE: Final = "kubeconfig"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_END_TIMEOUT_SEC: Final = 15.0


class Kind(StrEnum):
    """Whose plane it is, which decides when it ends."""

    RUN = "run"
    """Of one run: it ends with the process that started it."""
    UP = "up"
    """Of ``cluster up``: it lives until ``cluster down``."""


@dataclass(frozen=True, slots=True)
class PlaneState:
    """One plane, as its ``state.json`` says.

    Attributes:
        name: Its name, which is its folder's name too.
        kind: Whose it is.
        owner: The process that started it.
        created: When, in UTC, for the reader.
        supervisor: The process above its components, ``None`` until there is one.
        components: Its components, by name.
        server: The URL of its API server, empty until it is known.
        version: The version of its API server, e.g. ``v1.36.3``.
        binaries: The folder of the programs it runs.
        ready: Whether it became ready.
    """

    name: str
    kind: Kind
    owner: ProcessIdentity
    created: str
    supervisor: ProcessIdentity | None = None
    components: Mapping[str, ProcessIdentity] = field(default_factory=dict)
    server: str = ""
    version: str = ""
    binaries: str = ""
    ready: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the plane."""
        return planes_dir() / self.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / KUBECONFIG_FILE

    @property
    def running(self) -> bool:
        """Whether its supervisor lives."""
        return self.supervisor is not None and self.supervisor.alive

    @property
    def left_over(self) -> bool:
        """Whether nobody will ever use or end it any more."""
        if self.owner.alive:
            return False
        return self.kind is Kind.RUN or not self.running or not self.ready

    def dead_components(self) -> list[str]:
        """Return the names of the components that no longer run, sorted."""
        return sorted(name for name, identity in self.components.items() if not identity.alive)


def check_name(name: str) -> str:
    """Return ``name`` when it can be a plane's.

    Raises:
        InvalidInputError: It cannot; the message says what can.
    """
    if _NAME.fullmatch(name) is None:
        raise InvalidInputError(
            f"{name!r} cannot be a cluster's name: at most 63 lower-case letters, digits, dots and "
            "dashes, a letter or digit at both ends"
        )
    return name


def free_name(wanted: str) -> str:
    """Return ``wanted``, or with ``-2``, ``-3`` … behind it when there is a plane of that name."""
    taken = set(names())
    candidates = itertools.chain([wanted], (f"{wanted}-{n}" for n in itertools.count(2)))
    return next(name for name in candidates if name not in taken)


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Hold the lock on the folder of all planes, for the moment that a plane comes or goes."""
    import filelock  # late: `cluster --help` must not pay for it

    with filelock.FileLock(private_dir(planes_dir()) / ".lock"):
        yield


def claim(name: str, kind: Kind) -> PlaneState:
    """Make the folder of a new plane, with this process as its owner.

    Raises:
        ClusterError: There is one of that name already.
    """
    check_name(name)
    owner = ProcessIdentity.of(os.getpid())
    if owner is None:
        raise ClusterError("this process cannot see itself: /proc and `ps` are both missing")
    created = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    state = PlaneState(name, kind, owner, created)
    with locked():
        if state.folder.exists():
            raise ClusterError(f"there is a cluster {name!r} already, in {state.folder}")
        private_dir(state.folder)
        write(state)
    return state


def write(state: PlaneState) -> None:
    """Write the state into its folder."""
    document: JsonObject = {
        "name": state.name,
        "kind": state.kind.value,
        "owner": _from_identity(state.owner),
        "created": state.created,
        "supervisor": _from_identity(state.supervisor) if state.supervisor else None,
        "components": {name: _from_identity(item) for name, item in state.components.items()},
        "server": state.server,
        "version": state.version,
        "binaries": state.binaries,
        "ready": state.ready,
    }
    write_atomic(state.folder / STATE_FILE, json.dumps(document, indent=2) + "\n", mode=0o600)


def read(name: str) -> PlaneState | None:
    """Return the state of the plane ``name``, ``None`` when there is none.

    Raises:
        ClusterError: Its state file cannot be read.
    """
    path = planes_dir() / check_name(name) / STATE_FILE
    try:
        return _parse(json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise ClusterError(
            f"the state of cluster {name!r} in {path} cannot be read: {exc}"
        ) from exc


def names() -> list[str]:
    """Return the names of all planes that have a folder, sorted."""
    if not planes_dir().is_dir():
        return []
    return sorted(path.name for path in planes_dir().iterdir() if _NAME.fullmatch(path.name))


def planes() -> list[PlaneState]:
    """Return every plane whose state can be read, by name."""
    found = []
    for name in names():
        with contextlib.suppress(ClusterError):  # `sweep` reports and removes these
            state = read(name)
            if state is not None:
                found.append(state)
    return found


def plane_at(server: str) -> PlaneState | None:
    """Return the plane of this machine whose API server has the URL ``server``, if any runs."""
    return next((one for one in planes() if one.server == server and one.running), None)


def remove(state: PlaneState) -> None:
    """End what runs of a plane and remove its folder.

    Raises:
        ClusterError: A process of it would not end.
    """
    end(state)
    shutil.rmtree(state.folder, ignore_errors=True)


def end(state: PlaneState) -> None:
    """End what runs of a plane, the supervisor first; other processes of its ids are let be.

    Raises:
        ClusterError: A process of it would not end.
    """
    if state.supervisor is not None and not state.supervisor.end(signal.SIGTERM, _END_TIMEOUT_SEC):
        state.supervisor.end(signal.SIGKILL, _END_TIMEOUT_SEC)
    for name, component in state.components.items():
        if not component.end(signal.SIGKILL, _END_TIMEOUT_SEC):
            raise ClusterError(f"{name} of cluster {state.name!r} (pid {component.pid}) won't end")


def sweep() -> list[str]:
    """Remove everything that was left over; returns a line for each thing, for the reader.

    Planes are ended; what is on clusters that are not ours is only told.
    """
    lines = leftovers.sweep()
    if not planes_dir().is_dir():
        return lines
    with locked():
        for name in names():
            try:
                state = read(name)
            except ClusterError as exc:
                lines.append(f"removed a broken cluster folder: {exc}")
                shutil.rmtree(planes_dir() / name, ignore_errors=True)
                continue
            if state is None:
                lines.append(f"removed {planes_dir() / name}, which holds no cluster")
                shutil.rmtree(planes_dir() / name, ignore_errors=True)
            elif state.left_over:
                alive = [item for item, who in state.components.items() if who.alive]
                lines.append(_describe_leftover(state, alive))
                remove(state)
    return lines


def _describe_leftover(state: PlaneState, alive: list[str]) -> str:
    whose = "a run that was killed" if state.kind is Kind.RUN else "`cluster up`"
    running = f"ended its {', '.join(alive)} and " if alive else ""
    return (
        f"cluster {state.name!r} of {whose} was left over from {state.created}: "
        f"{running}removed {state.folder}"
    )


def with_component(state: PlaneState, name: str, identity: ProcessIdentity | None) -> PlaneState:
    """Return ``state`` with one more component; a process that is gone already is left out."""
    if identity is None:
        return state
    return replace(state, components={**state.components, name: identity})


def _from_identity(identity: ProcessIdentity) -> JsonObject:
    return {"pid": identity.pid, "started": identity.started}


def _to_identity(value: JsonValue) -> ProcessIdentity:
    if not isinstance(value, dict):
        raise TypeError("a process is not an object")
    pid, started = value["pid"], value["started"]
    if not isinstance(pid, int) or not isinstance(started, str):
        raise TypeError("a process needs a pid and a start")
    return ProcessIdentity(pid, started)


def _parse(document: JsonValue) -> PlaneState:
    if not isinstance(document, dict):
        raise TypeError("not an object")
    components = document["components"]
    if not isinstance(components, dict):
        raise TypeError("components is not an object")
    supervisor = document["supervisor"]
    return PlaneState(
        name=check_name(str(document["name"])),
        kind=Kind(str(document["kind"])),
        owner=_to_identity(document["owner"]),
        created=str(document["created"]),
        supervisor=_to_identity(supervisor) if supervisor is not None else None,
        components={name: _to_identity(value) for name, value in components.items()},
        server=str(document["server"]),
        version=str(document["version"]),
        binaries=str(document["binaries"]),
        ready=document["ready"] is True,
    )
