"""``devops-bench lint``."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from devops_bench.cli.errors import printable, render_diagnostics, use_color
from devops_bench.cli.output import write_quietly, write_report
from devops_bench.core.diagnostics import Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.lint.engine import LintOptions, LintReport, lint_paths
from devops_bench.lint.schemas import DEFAULT_VERSION
from devops_bench.lint.settings import FailOn, Settings, fails, find_settings, read_settings

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
"""There is a finding of the level of ``--fail-on`` or above."""
EXIT_UNREADABLE = 2
"""A path cannot be read or holds no task, whatever was found in the others."""


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"


class FailOnChoice(StrEnum):
    """From which level on a finding makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"
    NEVER = "never"


def _path(text: str) -> Path:
    if not text:  # a variable of a script that is not set; Path("") is the current folder
        raise InvalidInputError("an empty path names nothing: give a spec, a folder, or .")
    return Path(text)


PathsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH...", parser=_path, help="Specs, or folders with specs."),
]
OutputOption = Annotated[
    Format, typer.Option("--output", "--format", help="How to print the findings.")
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Only look for this rule, or those that begin so."),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Do not look for this rule, or those that begin so."),
]
FailOnOption = Annotated[
    FailOnChoice | None,
    typer.Option(help="Exit with 1 from this level on (default: warning)."),
]
VersionOption = Annotated[
    str | None,
    typer.Option(metavar="X.Y", help=f"Look paths up in it (default: {DEFAULT_VERSION})."),
]
CrdOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="CustomResourceDefinitions whose kinds are checked."),
]
VarOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Give a variable a value, as run would."),
]
TasksOnlyOption = Annotated[
    bool, typer.Option("--tasks-only", help="Pass over files that are no tasks.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read the settings here (default: looked for)."),
]
ExplainOption = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Explain a rule with two examples, or list them: all."),
]


def lint(
    paths: PathsArgument = None,
    output: OutputOption = Format.TEXT,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    fail_on: FailOnOption = None,
    kubernetes_version: VersionOption = None,
    crd: CrdOption = None,
    var: VarOption = None,
    tasks_only: TasksOnlyOption = False,
    config: ConfigOption = None,
    explain: ExplainOption = None,
) -> None:
    """Say everything that is wrong with specs, without a cluster.

    Exit codes: 0 nothing found, 1 findings, 2 a path cannot be read.
    """
    if explain is not None:
        _explain(explain)
        return
    found = read_settings(config) if config is not None else find_settings(Path())
    settings = found or Settings()
    options = LintOptions(
        select=select or settings.select,
        ignore=ignore or settings.ignore,
        kubernetes_version=_version(kubernetes_version, settings),
        crds=crd or settings.crds,
        variables=_variables(var or []),
        tasks_only=tasks_only,
    )
    if not paths:
        raise InvalidInputError("say what to lint: devops-bench lint PATH...")
    threshold = _threshold(fail_on, settings)
    report = lint_paths(paths, options)
    if settings.passed_over is not None:
        note = f"{settings.passed_over} is not read: {settings.file} beside it goes before it"
        report = replace(report, notes=(*report.notes, note))
    write_report(_rendered(report, output, threshold))
    if output is not Format.GITHUB:  # there the lines are annotations already
        for line in report.unreadable:
            write_quietly(f"error: {printable(line)}\n", sys.stderr)
    raise typer.Exit(_exit_code(report, threshold))


def _explain(rule_id: str) -> None:
    from devops_bench.lint.explain import explain, list_rules  # late: only this needs it

    write_report(list_rules() if rule_id.lower() == "all" else explain(rule_id))


def _threshold(given: FailOnChoice | None, settings: Settings) -> FailOn:
    return cast(FailOn, str(given)) if given is not None else settings.fail_on or "warning"


def _version(given: str | None, settings: Settings) -> str:
    # Not by `or`: an empty version is a mistake to be told, not one to be passed over.
    return next(
        one for one in (given, settings.kubernetes_version, DEFAULT_VERSION) if one is not None
    )


def _variables(given: list[str]) -> dict[str, str]:
    from devops_bench.cli.words import parse_variables

    return parse_variables(given)


def _rendered(report: LintReport, output: Format, fail_on: FailOn) -> str:
    # Each format is imported when it is asked for: text is what people wait for.
    if output is Format.JSON:
        from devops_bench.lint.formats import json_format

        return json_format.render(report)
    if output is Format.GITHUB:
        from devops_bench.lint.formats import github

        return github.render(report)
    if output is Format.SARIF:
        from devops_bench.lint.formats import sarif

        return sarif.render(report)
    if output is Format.JUNIT:
        from devops_bench.lint.formats import junit

        return junit.render(report, fail_on)
    text = render_diagnostics(report.diagnostics, color=use_color(sys.stdout))
    notes = "".join(f"note: {printable(note)}\n" for note in report.notes)
    # Where nothing was read there is nothing to sum up.
    summary = f"{_summary(report)}\n" if report.files or not report.unreadable else ""
    return f"{text}{notes}{summary}"


def _exit_code(report: LintReport, fail_on: FailOn) -> int:
    if report.unreadable:
        return EXIT_UNREADABLE
    if any(fails(found.level, fail_on) for found in report.diagnostics):
        return EXIT_FINDINGS
    return EXIT_CLEAN


def _summary(report: LintReport) -> str:
    counts = Counter(found.level for found in report.diagnostics)
    found = ", ".join(_count(counts[level], str(level)) for level in Level if counts[level])
    text = f"{_count(len(report.files), 'spec')}: {found or 'nothing found'}"
    if report.ignored:
        text += f", {len(report.ignored)} ignored"
    if report.skipped:
        text += f" ({_count(report.skipped, 'other YAML file')} skipped)"
    return text


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
