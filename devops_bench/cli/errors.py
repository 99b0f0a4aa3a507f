"""How faults are shown: diagnostics with the line they are about, errors as one line.

This module is imported by every command, so it imports nothing that costs time.
"""

from __future__ import annotations

import os
import sys
import traceback
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from devops_bench.cli.output import write_quietly
from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.core.errors import DevopsBenchError, InvalidInputError
from devops_bench.core.faults import named
from devops_bench.core.spelling import encodable

DEBUG_VARIABLE = "DEVOPS_BENCH_DEBUG"
"""Set to ``1`` to see the traceback of an unexpected error at once."""

EXIT_UNEXPECTED = 3
"""An error of ours: nothing can be said about what was asked, which is 3, never 1."""

_WIDEST_SOURCE = 100
_COLORS = {Level.ERROR: "31", Level.WARNING: "33", Level.NOTICE: "36"}


def use_color(stream: object) -> bool:
    """Return whether to write colours: a terminal that is not dumb, and no ``NO_COLOR``.

    ``NO_COLOR`` counts when it is set and not empty (https://no-color.org).
    """
    is_terminal = bool(getattr(stream, "isatty", lambda: False)())
    return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    r"""Return the text with control characters spelled out, so that none reaches a terminal.

    Line breaks and tabs become ``\n`` and ``\t``: what is shown stays on its line. A byte of a file
    name that is not UTF-8 becomes ``\xff``.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in encodable(text)
    )


def printable_lines(text: str) -> str:
    """Return text of several lines with every other control character spelled out."""
    return "\n".join(printable(line) for line in text.split("\n"))


def shown_path(file: Path) -> str:
    """Return the path as the reader would type it: relative when it is below the current folder."""
    try:
        return printable(str(file.relative_to(Path.cwd())))
    except ValueError:
        return printable(str(file))


def render_diagnostics(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """Return diagnostics as text, each with the source line it is about.

    Args:
        diagnostics: What to show, in this order.
        color: Whether to colour the levels.

    Returns:
        Lines that all end with a line feed; empty without diagnostics. The first line of each is
        ``file:line:column: level: path: message``, which editors and CI systems understand.
    """
    sources: dict[Path, list[str]] = {}
    return "".join(_render(diagnostic, sources, color) for diagnostic in diagnostics)


def _render(diagnostic: Diagnostic, sources: dict[Path, list[str]], color: bool) -> str:
    place = shown_path(diagnostic.file) if diagnostic.file is not None else ""
    if place and diagnostic.line:
        place += f":{diagnostic.line}:{diagnostic.column}"
    level = str(diagnostic.level)
    if color:
        level = f"\x1b[1;{_COLORS[diagnostic.level]}m{level}\x1b[0m"
    rule = f" [{diagnostic.rule}]" if diagnostic.rule else ""
    parts = [place, level, printable(diagnostic.path)]
    text = ": ".join(part for part in parts if part)
    text = f"{text}: {printable(diagnostic.message)}{rule}\n"
    text += _source_lines(diagnostic, sources)
    if diagnostic.hint:
        text += f"    hint: {printable(diagnostic.hint)}\n"
    return text


def _source_lines(diagnostic: Diagnostic, sources: dict[Path, list[str]]) -> str:
    """Return the line of the file with a caret below the column, or nothing."""
    file, line, column = diagnostic.file, diagnostic.line, diagnostic.column
    if file is None or line < 1:
        return ""
    if file not in sources:
        try:
            sources[file] = file.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            sources[file] = []
    if line > len(sources[file]):
        return ""
    source = sources[file][line - 1].rstrip("\r")
    if not source.strip():
        return ""
    # A long line is shown around its column.
    start = max(0, column - 1 - _WIDEST_SOURCE // 2) if len(source) > _WIDEST_SOURCE else 0
    before = _one_column_each(source[start : max(start, column - 1)])
    after = _one_column_each(source[max(start, column - 1) : start + _WIDEST_SOURCE])
    number = str(line)
    text = f"    {number} | {before}{after}\n"
    if column >= 1:
        text += f"    {' ' * len(number)} | {' ' * _width(before)}^\n"
    return text


def _one_column_each(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _width(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    widths = {"W": 2, "F": 2}
    return sum(
        0 if unicodedata.combining(char) else widths.get(unicodedata.east_asian_width(char), 1)
        for char in text
    )


def report_error(error: BaseException) -> int:
    """Print what ended a command to standard error, and return the exit code for it.

    Args:
        error: One of the tree of ``core.errors``, shown as its message and its diagnostics, or an
            unexpected one: one line that says where its traceback was written. What the system
            refused (a full disk) is only said.
    """
    color = use_color(sys.stderr)
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exception(error)
    if isinstance(error, DevopsBenchError):
        if isinstance(error, InvalidInputError):
            write_quietly(render_diagnostics(error.diagnostics, color=color), sys.stderr)
        print_error(str(error))
        return error.exit_code
    if isinstance(error, OSError) and error.strerror:  # a full disk is nobody's bug
        print_error(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
        return EXIT_UNEXPECTED
    summary = named(error)
    print_error(f"unexpected, a fault of devops-bench: {summary}{_kept(error)}")
    return EXIT_UNEXPECTED


def print_error(text: str) -> None:
    """Print a line to standard error that begins with ``error:``, and what belongs to it indented.

    Further lines of ``text`` (a component's log, the ways out) are indented, so that whatever they
    quote is never taken for another message.
    """
    prefix = "\x1b[1;31merror\x1b[0m" if use_color(sys.stderr) else "error"
    first, *further = text.split("\n")
    lines = [f"{prefix}: {printable(first)}", *(f"  {printable(line)}" for line in further)]
    write_quietly("\n".join(lines) + "\n", sys.stderr)


def _kept(error: BaseException) -> str:
    """Write the traceback to a file of its own and say where it is."""
    if os.environ.get(DEBUG_VARIABLE) == "1":
        return ""
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="devops-bench-", suffix=".traceback", delete=False, encoding="utf-8"
        ) as file:
            traceback.print_exception(error, file=file)
    except OSError:
        return f" (set {DEBUG_VARIABLE}=1 to see where)"
    return f" (traceback: {file.name})"
