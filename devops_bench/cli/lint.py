"""``devops-bench lint``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from devops_bench.cli.errors import printable, render_diagnostics, use_color
from devops_bench.cli.version import Output
from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.core.json import JsonValue
from devops_bench.tasks.loader import LoadedTasks, LoadOptions, load_tasks

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
"""There is an error or a warning; a notice alone is no finding."""
EXIT_UNREADABLE = 2
"""A path cannot be read or holds no task, whatever was found in the others."""


def lint(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Specs, or folders with specs.")
    ],
    output: Annotated[Output, typer.Option(help="How to print the findings.")] = Output.TEXT,
) -> None:
    """Say everything that is wrong with specs, without a cluster.

    Exit codes: 0 nothing found, 1 errors or warnings, 2 a path cannot be read.
    """
    loaded = load_tasks(paths, LoadOptions(mode="lint"))
    if output is Output.JSON:
        typer.echo(json.dumps(_as_json(loaded), indent=2, ensure_ascii=True))
    else:
        typer.echo(render_diagnostics(loaded.diagnostics, color=use_color(sys.stdout)), nl=False)
        if loaded.files:  # where nothing was read there is nothing to sum up
            typer.echo(_summary(loaded))
    for line in loaded.unreadable:
        typer.echo(f"error: {printable(line)}", err=True)
    raise typer.Exit(_exit_code(loaded))


def _exit_code(loaded: LoadedTasks) -> int:
    if loaded.unreadable:
        return EXIT_UNREADABLE
    if any(found.level is not Level.NOTICE for found in loaded.diagnostics):
        return EXIT_FINDINGS
    return EXIT_CLEAN


def _summary(loaded: LoadedTasks) -> str:
    counts = Counter(found.level for found in loaded.diagnostics)
    found = ", ".join(_count(counts[level], str(level)) for level in Level if counts[level])
    text = f"{_count(len(loaded.files), 'spec')}: {found or 'nothing found'}"
    if loaded.skipped:
        text += f" ({_count(loaded.skipped, 'other YAML file')} skipped)"
    return text


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _as_json(loaded: LoadedTasks) -> JsonValue:
    return {
        "specs": [str(file) for file in loaded.files],
        "skipped": loaded.skipped,
        "unreadable": list(loaded.unreadable),
        "diagnostics": [_finding(found) for found in loaded.diagnostics],
    }


def _finding(found: Diagnostic) -> JsonValue:
    return {
        "file": str(found.file) if found.file is not None else None,
        "line": found.line,
        "column": found.column,
        "level": str(found.level),
        "path": found.path,
        "message": found.message,
        "hint": found.hint,
        "rule": found.rule,
    }
