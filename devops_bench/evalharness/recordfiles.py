"""Sees whether the run's own record is, at its end, what was written: no more, no less."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path


class RecordFiles:
    """The files of a task that say what was observed, by their inodes. Not thread-safe."""

    def __init__(self) -> None:
        self._marks: dict[Path, os.stat_result | None] = {}
        self._differences: dict[Path, Callable[[], str]] = {}

    def mark(self, path: Path) -> None:
        """Note a file as it is now; it may grow. One that is not there is not noted."""
        found = _stat(path)
        if found is not None:
            self._marks[path] = found

    def expect(self, paths: Iterable[Path]) -> None:
        """Note files that were written; that they are there at the end is all that is asked."""
        for path in paths:
            self._marks.setdefault(path, None)

    def written(self, path: Path, difference: Callable[[], str]) -> None:
        """Note a file that knows what was written to it.

        Args:
            path: The file.
            difference: Returns what others did to it, ``was changed`` say; empty for nothing.
        """
        self._differences[path] = difference

    def lost(self) -> dict[Path, str]:
        """Return what became of each file that is not as it must be, e.g. ``was deleted``."""
        paths = dict.fromkeys((*self._marks, *self._differences))
        return {path: why for path in paths if (why := self._why(path))}

    def _why(self, path: Path) -> str:
        found = self._why_by_mark(path) if path in self._marks else ""
        difference = self._differences.get(path)
        return found or ("" if difference is None else difference())

    def _why_by_mark(self, path: Path) -> str:
        marked, found = self._marks[path], _stat(path)
        if found is None:
            return "was deleted"
        if marked is None:
            return ""
        if (found.st_dev, found.st_ino) != (marked.st_dev, marked.st_ino):
            return "was replaced"
        return "was cut" if found.st_size < marked.st_size else ""


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=False)
    except OSError:
        # A folder that cannot be entered any more has lost what was in it, too.
        return None
