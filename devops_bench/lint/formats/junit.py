"""Findings as JUnit XML: a test case per spec, which fails when something was found in it.

The form is that of Jenkins and of GitLab: https://github.com/testmoapp/junitxml
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.spelling import encodable
from devops_bench.lint.engine import LintReport
from devops_bench.lint.formats.paths import relative_name
from devops_bench.lint.settings import FailOn, fails

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, escaped or not (https://www.w3.org/TR/xml/#charsets)."""


def render(report: LintReport, fail_on: FailOn) -> str:
    """Return the report as one suite.

    Args:
        report: What was found.
        fail_on: From which level on a finding fails its case; others are in its output.
    """
    by_file: dict[str, list[Diagnostic]] = {relative_name(file): [] for file in report.files}
    for found in report.diagnostics:
        name = relative_name(found.file) if found.file is not None else "devops-bench"
        by_file.setdefault(name, []).append(found)
    cases = [_case(name, found, fail_on) for name, found in by_file.items()]
    failures = sum("<failure" in case for case in cases)
    cases += [_unreadable(line) for line in report.unreadable]
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{len(report.unreadable)}"'
    notes = "".join(f"    <system-out>{_text(note)}</system-out>\n" for note in report.notes)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="devops-bench lint" {counts}>\n'
        f'  <testsuite name="devops-bench lint" {counts}>\n'
        f"{''.join(cases)}{notes}"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def _case(name: str, found: list[Diagnostic], fail_on: FailOn) -> str:
    failing = [one for one in found if fails(one.level, fail_on)]
    others = [one for one in found if not fails(one.level, fail_on)]
    inner = ""
    if failing:
        rules = ", ".join(sorted({one.rule for one in failing}))
        more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
        message = f"{failing[0].message} [{failing[0].rule}]{more}"
        inner += f"      <failure message={_attribute(message)} type={_attribute(rules)}>"
        inner += f"{_text(_lines(name, failing))}</failure>\n"
    if others:
        inner += f"      <system-out>{_text(_lines(name, others))}</system-out>\n"
    open_tag = f'    <testcase classname="devops-bench.lint" name={_attribute(name)}'
    return f"{open_tag}>\n{inner}    </testcase>\n" if inner else f"{open_tag}/>\n"


def _unreadable(line: str) -> str:
    return (
        f'    <testcase classname="devops-bench.lint" name={_attribute(line)}>\n'
        f"      <error message={_attribute(line)}/>\n"
        "    </testcase>\n"
    )


def _lines(name: str, found: list[Diagnostic]) -> str:
    return "\n".join(
        f"{name}:{one.line}:{one.column}: {one.level}: "
        + (f"{one.path}: " if one.path else "")
        + f"{one.message} [{one.rule}]"
        + (f"\n  hint: {one.hint}" if one.hint else "")
        for one in found
    )


def _text(text: str) -> str:
    return escape(_in_xml(text))


def _attribute(text: str) -> str:
    return quoteattr(_in_xml(text))


def _in_xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", encodable(text))
