"""Findings as SARIF 2.1.0, for code scanning.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

from devops_bench import __version__
from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.spelling import encodable_json
from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.engine import LintReport
from devops_bench.lint.formats.paths import relative_name

_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTICE: "note"}
_ROOT = "%SRCROOT%"


def render(report: LintReport) -> str:
    """Return the report as one SARIF run; findings that comments ignore are marked suppressed."""
    rules = all_rules()
    index = {rule.id: number for number, rule in enumerate(rules)}
    described: list[JsonValue] = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.why},
            "help": {"text": f"devops-bench lint --explain {rule.id}"},
            "defaultConfiguration": {"level": _LEVELS[rule.level]},
        }
        for rule in rules
    ]
    results: list[JsonValue] = [_result(found, index) for found in report.diagnostics]
    results += [_result(found, index, in_source=True) for found in report.ignored]
    notes: list[JsonValue] = [{"level": "note", "message": {"text": note}} for note in report.notes]
    notes += [{"level": "error", "message": {"text": line}} for line in report.unreadable]
    run: JsonObject = {
        "tool": {
            "driver": {"name": "devops-bench", "version": __version__, "rules": described},
        },
        "invocations": [
            {
                "executionSuccessful": not report.unreadable,
                "toolExecutionNotifications": notes,
            }
        ],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": f"{Path.cwd().as_uri().rstrip('/')}/"}},
        "results": results,
    }
    document: JsonObject = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(encodable_json(document), indent=2, ensure_ascii=True) + "\n"


def _result(found: Diagnostic, index: dict[str, int], *, in_source: bool = False) -> JsonObject:
    hint = f" ({found.hint})" if found.hint else ""
    result: JsonObject = {
        "ruleId": found.rule,
        "level": _LEVELS[found.level],
        "message": {"text": f"{found.message}{hint}"},
    }
    if found.rule in index:
        result["ruleIndex"] = index[found.rule]
    if found.file is not None:
        result["locations"] = [_location(found, found.file)]
    if in_source:
        result["suppressions"] = [{"kind": "inSource"}]
    return result


def _location(found: Diagnostic, file: Path) -> JsonObject:
    name = relative_name(file)
    artifact: JsonObject
    if name.startswith("/"):
        artifact = {"uri": file.absolute().as_uri()}
    else:
        artifact = {"uri": quote(os.fsencode(name)), "uriBaseId": _ROOT}
    physical: JsonObject = {"artifactLocation": artifact}
    if found.line:
        physical["region"] = {"startLine": found.line, "startColumn": max(1, found.column)}
    location: JsonObject = {"physicalLocation": physical}
    if found.path:
        location["logicalLocations"] = [{"fullyQualifiedName": found.path}]
    return location
