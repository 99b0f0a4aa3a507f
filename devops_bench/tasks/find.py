"""Finds the task files in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.core.errors import InvalidInputError
from devops_bench.tasks.schema import ENTRY_KEYS
from devops_bench.tasks.yaml import MAX_FILE_BYTES, parse

_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_TASK_FILE: Final = "task.yaml"
_ENTRIES_AT_TOP: Final = re.compile(
    rf"""^["']?(?:{"|".join(ENTRY_KEYS)})["']?[ \t]*:""", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class FoundTasks:
    """The task files of a path.

    Attributes:
        files: In the order of their names.
        skipped: How many other YAML files there are.
    """

    files: tuple[Path, ...]
    skipped: int = 0


def find_tasks(path: Path) -> FoundTasks:
    """Return the task files at ``path``.

    A file is taken as it is. In a folder and everything below it (not in hidden folders; a link is
    followed, but no folder is entered twice) ``task.yaml`` and YAML files with
    ``verification_spec`` or ``verification_entries`` at the top are tasks.

    Raises:
        InvalidInputError: The path cannot be read, or the folder holds no task.
    """
    try:
        path.stat()
        if not path.is_dir():
            return FoundTasks((path,))
        candidates = sorted(_yaml_files(path))
        files = tuple(file for file in candidates if is_task(file))
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        where = exc.filename if isinstance(exc, OSError) and exc.filename else path
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise InvalidInputError(f"{where} cannot be read: {reason}") from exc
    if not files:
        raise InvalidInputError(
            f"there is no task in {path} ({len(candidates)} other YAML files): a task is a file "
            f"task.yaml, or a YAML file with {ENTRY_KEYS[0]} at the top"
        )
    return FoundTasks(files, len(candidates) - len(files))


def _yaml_files(folder: Path) -> Iterator[Path]:
    entered: set[Path] = set()

    def refuse(error: OSError) -> None:
        raise error

    for root, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        real = Path(root).resolve()
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            file = Path(root, name)
            if file.suffix not in _SUFFIXES or name.startswith("."):
                continue
            if file.is_file() or name == _TASK_FILE:  # a broken link is reported, not passed over
                yield file


def is_task(file: Path) -> bool:
    """Return whether ``file`` is a task; a broken one is, so that it is not passed over.

    Raises:
        OSError: It cannot be read.
    """
    if file.name == _TASK_FILE:
        return True
    with file.open("rb") as stream:
        text = stream.read(MAX_FILE_BYTES).decode("utf-8", errors="replace")
    if _ENTRIES_AT_TOP.search(text):
        return True
    if not any(key in text for key in ENTRY_KEYS):
        return False
    document, _ = parse(text, file)  # written in flow style, or the key stands further down
    top = document.value if document is not None else None
    return isinstance(top, dict) and any(key in top for key in ENTRY_KEYS)
