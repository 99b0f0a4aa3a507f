"""Private folders that last as long as the command that made them.

What holds credentials lies here and not among the results, which people upload. A folder says whose
it is, so that the next command finds what a killed one left behind.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.core.dirs import private_dir, state_dir
from devops_bench.core.errors import DevopsBenchError
from devops_bench.core.files import write_atomic
from devops_bench.core.identity import ProcessIdentity
from devops_bench.core.json import JsonObject, JsonValue

OWNER_FILE: Final = "owner.json"
_UNFINISHED: Final = "."
"""What the name of a folder begins with that does not say yet whose it is."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A folder whose command was killed.

    Attributes:
        folder: The folder.
        what: What it is for, a noun for the reader.
        created: When, in UTC, for the reader.
        notes: What its maker wrote down.
    """

    folder: Path
    what: str
    created: str
    notes: Mapping[str, str]


def runtime_dir() -> Path:
    """Return the folder of all private folders; nothing is created."""
    return state_dir() / "runtime"


@contextlib.contextmanager
def private_folder(what: str, **notes: str) -> Iterator[Path]:
    """Yield a new folder (mode 0700), and remove it with everything in it.

    Args:
        what: What it is for, a noun for the reader.
        notes: What the command that finds it abandoned needs to know; no secret.

    Raises:
        DevopsBenchError: This process cannot be told from others.
        OSError: The folder could not be made.
    """
    owner = ProcessIdentity.of(os.getpid())
    if owner is None:
        raise DevopsBenchError("this process cannot see itself: /proc and `ps` are both missing")
    document: JsonObject = {
        "pid": owner.pid,
        "started": owner.started,
        "what": what,
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "notes": dict[str, JsonValue](notes),
    }
    # It gets its name once it says whose it is: until then nobody may take it for abandoned.
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=private_dir(runtime_dir())))
    folder = unfinished.with_name(unfinished.name.removeprefix(_UNFINISHED))
    try:
        write_atomic(unfinished / OWNER_FILE, json.dumps(document) + "\n", mode=0o600)
        unfinished.rename(folder)
        yield folder
    finally:
        remove_tree(unfinished)
        remove_tree(folder)


def abandoned() -> list[Abandoned]:
    """Return every folder whose command does not run any more, by name; nothing is removed."""
    if not runtime_dir().is_dir():
        return []
    folders = [
        path for path in sorted(runtime_dir().iterdir()) if not path.name.startswith(_UNFINISHED)
    ]
    return [left for folder in folders if (left := _abandoned(folder)) is not None]


def remove_tree(folder: Path) -> None:
    """Remove a folder, also when somebody took away the right to; what cannot be removed stays."""
    for root, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(root, name)
            if not path.is_symlink():
                with contextlib.suppress(OSError):  # another user's: rmtree passes over it too
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _abandoned(folder: Path) -> Abandoned | None:
    try:
        document = json.loads((folder / OWNER_FILE).read_text(encoding="utf-8"))
        owner = ProcessIdentity(int(document["pid"]), str(document["started"]))
        notes = {str(key): str(value) for key, value in document["notes"].items()}
        left = Abandoned(folder, str(document["what"]), str(document["created"]), notes)
    except FileNotFoundError:
        # Its owner is removing it just now, or somebody took the file away.
        return Abandoned(folder, "something", "some time", {}) if _is_old(folder) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Abandoned(folder, "something", "some time", {})
    return None if owner.alive else left


def _is_old(folder: Path) -> bool:
    try:
        changed = dt.datetime.fromtimestamp(folder.stat().st_mtime, dt.UTC)
    except OSError:
        return False
    return dt.datetime.now(dt.UTC) - changed > dt.timedelta(hours=1)
