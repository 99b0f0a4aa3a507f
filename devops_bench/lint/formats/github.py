"""Findings as annotations of a pull request.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.spelling import encodable
from devops_bench.lint.engine import LintReport
from devops_bench.lint.formats.paths import relative_name


def render(report: LintReport) -> str:
    """Return one workflow command per finding, and per thing that was not looked at."""
    lines = [_command(found) for found in report.diagnostics]
    lines += [f"::notice::{_data(note)}" for note in report.notes]
    lines += [f"::error::{_data(line)}" for line in report.unreadable]
    return encodable("".join(f"{line}\n" for line in lines))


def _command(found: Diagnostic) -> str:
    properties = {"file": relative_name(found.file)} if found.file is not None else {}
    if found.line:
        properties |= {"line": str(found.line), "col": str(found.column)}
    properties["title"] = f"{found.rule} {found.path}".strip()
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    hint = f"\n{found.hint}" if found.hint else ""
    return f"::{found.level} {listed}::{_data(found.message + hint)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
