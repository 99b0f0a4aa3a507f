"""The report of a qualification as JUnit XML, for CI: a suite per task, a case per control."""

from __future__ import annotations

from xml.etree import ElementTree

from devops_bench.results.qualification.report import (
    ControlReport,
    QualificationReport,
    TaskReport,
)


def render_junit(report: QualificationReport) -> str:
    """Return the report as XML.

    A control that did not do as expected is a failure, one that could not be evaluated an error.
    Generic mutants, of which nothing is expected, are left out.
    """
    root = ElementTree.Element("testsuites", name="devops-bench qualify")
    for task in report.tasks:
        _add_suite(root, task)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(root: ElementTree.Element, task: TaskReport) -> None:
    controls = [one for one in task.controls if one.plan.kind != "builtin"]
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=_legal(task.task),
        tests=str(len(controls)),
        failures=str(sum(one.judgement == "unexpected" for one in controls)),
        errors=str(sum(one.judgement in ("not_evaluable", None) for one in controls)),
        skipped="0",
        time=f"{task.elapsed_sec:.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for entry in task.entries:
        if entry.dead_weight:
            ElementTree.SubElement(
                properties, "property", name="dead weight", value=_legal(entry.entry.name)
            )
    for control in controls:
        _add_case(suite, task, control)


def _add_case(suite: ElementTree.Element, task: TaskReport, control: ControlReport) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_legal(task.task),
        name=_legal(control.plan.name),
        file=_legal(task.source),
    )
    if control.judgement == "as_expected":
        return
    reasons = "\n".join(control.reasons) or "no run of it has ended"
    tag = "failure" if control.judgement == "unexpected" else "error"
    found = ElementTree.SubElement(case, tag, message=_legal(f"expected: {control.plan.expected}"))
    found.text = _legal(reasons)


def _legal(text: str) -> str:
    """Return the text without characters that XML 1.0 cannot hold (section 2.2)."""
    return "".join(char if _allowed(ord(char)) else "\ufffd" for char in text)


def _allowed(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or code >= 0x10000
    )
