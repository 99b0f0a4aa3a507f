"""A SaaS-Bench task: a folder with ``verify.py`` and ``meta.json``."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import DuplicateKeyError, JsonValue, parse_written
from devops_bench.verify_protocol.sites import is_site_name

SCRIPT_NAME: Final = "verify.py"
META_NAME: Final = "meta.json"

_UNSAFE: Final = re.compile(r"[^\w.-]")
# Room for "_verify.json" and a temporary file's suffix within the 255 bytes of a name.
_LONGEST_ID_BYTES: Final = 200


@dataclass(frozen=True, slots=True)
class VerifyTask:
    """One task.

    Attributes:
        id: Safe as a file's name.
        folder: Where it is.
        sites: The applications that it declares, in their order.
    """

    id: str
    folder: Path
    sites: tuple[str, ...] = ()

    @property
    def script(self) -> Path | None:
        """Its ``verify.py``, absolute; ``None`` when nothing has that name.

        It may be no file that can be run: a folder, or a link that leads nowhere.
        """
        script = self.folder.absolute() / SCRIPT_NAME
        return script if os.path.lexists(script) else None


def safe_id(text: str) -> str:
    """Return ``text`` as the name of a file: other characters become ``_``, never hidden."""
    name = _UNSAFE.sub("_", text)
    name = re.sub(r"^\.+", lambda dots: "_" * len(dots[0]), name)
    return name.encode()[:_LONGEST_ID_BYTES].decode(errors="ignore") or "_"


def load_task(folder: Path) -> VerifyTask:
    """Return the task of a folder.

    Raises:
        InvalidInputError: It is no folder that can be read, or its ``meta.json`` is wrong; without
            ``meta.json`` a task has no sites, and the folder's name.
    """
    if not folder.is_dir():
        raise InvalidInputError(f"{folder} is no folder; a task is a folder with {SCRIPT_NAME}")
    meta = _read_meta(folder / META_NAME)
    given = meta.get("task_id")
    if given is not None and (isinstance(given, bool) or not isinstance(given, str | int)):
        raise InvalidInputError(f"{folder / META_NAME}: task_id should be a string")
    name = str(given).strip() if given is not None else ""
    return VerifyTask(
        id=safe_id(name or folder.resolve().name),
        folder=folder,
        sites=_read_sites(meta, folder / META_NAME),
    )


def load_tasks(
    folders: Iterable[Path], patterns: Sequence[str] = ()
) -> tuple[list[VerifyTask], list[str]]:
    """Return the tasks of several folders, each folder once, and what was passed over.

    A folder that is no task is wrong only if its name has one of the patterns, since nobody knows
    its id; else a line says that it was passed over.

    Args:
        folders: The folders.
        patterns: Only tasks with such an id, as :mod:`fnmatch` has them; empty for all.

    Raises:
        InvalidInputError: With everything that is wrong: a folder that is no task, and two tasks
            whose results would have the same file; or no task has such an id.
    """
    tasks: dict[Path, VerifyTask] = {}
    faults: list[Diagnostic] = []
    passed_over: list[str] = []
    first: dict[str, Path] = {}
    for folder in folders:
        real = folder.resolve()
        if real in tasks:
            continue
        try:
            task = load_task(folder)
        except InvalidInputError as exc:
            if _is_selected(real.name, patterns):
                faults.append(Diagnostic(str(exc)))
            else:
                passed_over.append(str(exc))
            continue
        if not _is_selected(task.id, patterns):
            continue
        tasks[real] = task
        other = first.setdefault(task.id.casefold(), folder)
        if other != folder:
            faults.append(
                Diagnostic(
                    f"{folder} has the task_id {task.id!r}, and so has {other}",
                    "give each its own task_id in meta.json, or verify them into two folders",
                )
            )
    if faults:
        raise InvalidInputError("nothing was run", faults)
    if not tasks:
        raise InvalidInputError(f"no task has an id like {' or '.join(patterns)}")
    return list(tasks.values()), passed_over


def _is_selected(task_id: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(task_id, pattern) for pattern in patterns)


def _read_meta(file: Path) -> dict[str, JsonValue]:
    try:
        data = parse_written(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise InvalidInputError(f"{file} cannot be read: {exc.strerror}") from exc
    except DuplicateKeyError as exc:
        raise InvalidInputError(f"{file}: {exc}") from exc
    except ValueError as exc:
        raise InvalidInputError(f"{file} is no JSON: {exc}") from exc
    if not isinstance(data, dict):
        raise InvalidInputError(f"{file} should be a JSON object")
    return data


def _read_sites(meta: dict[str, JsonValue], file: Path) -> tuple[str, ...]:
    data = meta.get("meta_data")
    if data is None:
        return ()
    if not isinstance(data, dict):
        raise InvalidInputError(f"{file}: meta_data should be a map")
    sites = data.get("sites")
    if sites is None:
        return ()
    if not isinstance(sites, list):
        raise InvalidInputError(f"{file}: meta_data.sites should be a list of names")
    names: list[str] = []
    for name in sites:
        if not isinstance(name, str) or not is_site_name(name):
            raise InvalidInputError(
                f"{file}: {name!r} in meta_data.sites is no name: letters, digits, - and _"
            )
        names.append(name)
    return tuple(dict.fromkeys(names))
