"""Findings as one JSON object."""

from __future__ import annotations

import json

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.json import JsonValue
from devops_bench.core.spelling import encodable_json
from devops_bench.lint.engine import LintReport


def render(report: LintReport) -> str:
    r"""Return the report as JSON.

    The file names are as they were given; a byte of one that is not UTF-8 stands as ``\xff``.
    """
    document: JsonValue = {
        "specs": [str(file) for file in report.files],
        "skipped": report.skipped,
        "unreadable": list(report.unreadable),
        "kubernetes_version": report.kubernetes_version,
        "notes": list(report.notes),
        "ignored": [_finding(found) for found in report.ignored],
        "diagnostics": [_finding(found) for found in report.diagnostics],
    }
    return json.dumps(encodable_json(document), indent=2, ensure_ascii=True) + "\n"


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
