"""Collects what is wrong with one file, and gives each finding its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.core.similar import closest
from devops_bench.tasks import rule_ids
from devops_bench.tasks.yaml import DocPath, Document, format_path


@dataclass(slots=True)
class Findings:
    """The findings on one file.

    Attributes:
        file: The file, as the user named it.
        document: For the places.
        opaque_paths: Values that are an unset variable; nothing is said about them.
        diagnostics: What was found so far.
    """

    file: Path
    document: Document
    opaque_paths: Collection[DocPath] = frozenset()
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _faulty: set[tuple[int, int, str]] = field(default_factory=set)

    def add(
        self,
        path: Sequence[str | int],
        message: str,
        hint: str = "",
        level: Level = Level.ERROR,
        *,
        key: bool = False,
        rule: str = rule_ids.TASK_FIELD,
    ) -> None:
        """Add a finding on the value at ``path``, placed at its key if ``key``.

        ``rule`` is its stable id. Dropped when the value is an unset variable, or when the same
        value already has an error: that one is the cause.
        """
        if any(tuple(path[:end]) in self.opaque_paths for end in range(1, len(path) + 1)):
            return
        place = self.document.place(path, key=key)
        where = (place.line, place.column, format_path(path))
        if not path or where not in self._faulty:  # of the whole file there is much to say
            self.extend([Diagnostic(message, hint, self.file, *where, level, rule)])

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add findings that have their place already."""
        for found in diagnostics:
            self.diagnostics.append(found)
            if found.level is Level.ERROR and found.file == self.file:
                self._faulty.add((found.line, found.column, found.path))

    def failed(self) -> bool:
        """Return whether there is an error among the findings."""
        return any(found.level is Level.ERROR for found in self.diagnostics)

    def ordered(self) -> list[Diagnostic]:
        """Return the findings in the order of the text, other files' after this file's."""
        return sorted(
            self.diagnostics,
            key=lambda found: (found.file != self.file, str(found.file), found.line, found.column),
        )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint for a misspelt ``word``: the closest of ``known``, or all of them."""
    names = list(known)
    close = closest(word, names)
    return f"did you mean {close!r}?" if close is not None else f"known: {', '.join(names)}"
