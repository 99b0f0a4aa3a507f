"""What is wrong with an input, where, and what would be right."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Level(StrEnum):
    """How serious a diagnostic is.

    An ``error`` is a certain fault, and keeps a spec from running when it was found while the spec
    was read; a ``warning`` is hardly what was meant; a ``notice`` claims no fault.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding on an input.

    Attributes:
        message: What is wrong, one sentence without a final period.
        hint: What would be right, or empty.
        file: The file, ``None`` for what does not come from one (a flag, a variable).
        line: 1-based line, 0 when unknown.
        column: 1-based column in characters, 0 when unknown.
        path: The field's path, e.g. ``verification_spec[2].check.op``; empty for the whole file.
        level: Whether it is an error, a warning or a notice.
        rule: The stable rule id, e.g. ``DB101``; empty for what no rule is about.
    """

    message: str
    hint: str = ""
    file: Path | None = None
    line: int = 0
    column: int = 0
    path: str = ""
    level: Level = Level.ERROR
    rule: str = ""

    def __str__(self) -> str:
        """``file:line:column: level: path: message (hint)``, leaving out what is unknown."""
        place = str(self.file) if self.file is not None else ""
        if place and self.line:
            place += f":{self.line}:{self.column}"
        parts = [part for part in (place, str(self.level), self.path) if part]
        text = f"{': '.join(parts)}: {self.message}"
        return f"{text} ({self.hint})" if self.hint else text
