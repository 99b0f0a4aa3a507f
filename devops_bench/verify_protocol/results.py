"""What is kept of a run: a JSON file per task, and a JUnit report for CI systems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from devops_bench.core.files import write_atomic
from devops_bench.core.json import JsonValue
from devops_bench.verify_protocol.model import Status, VerifyResult

EXIT_PASSED: Final = 0
EXIT_FAILED: Final = 1
EXIT_NOT_EVALUATED: Final = 3

# XML 1.0, 2.2: every other character cannot stand in a document, not even escaped.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_TEXT: Final = 10_000


def result_path(folder: Path, task_id: str) -> Path:
    """Return where the result of a task is."""
    return folder / f"{task_id}_verify.json"


def write_result(folder: Path, result: VerifyResult) -> Path:
    """Write a task's result, whole or not at all, and return where it is.

    Raises:
        OSError: It could not be written.
    """
    path = result_path(folder, result.task_id)
    write_atomic(path, as_json_bytes(result.as_json()))
    return path


def as_json_bytes(value: JsonValue) -> bytes:
    """Return strict JSON, indented, UTF-8, ended by a line feed.

    Raises:
        ValueError: The value holds a number that JSON has not.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    # A lone surrogate (from a file's name, say) is legal in str and not in UTF-8.
    return text.encode("utf-8", errors="backslashreplace") + b"\n"


def exit_code(results: Iterable[VerifyResult]) -> int:
    """Return 3 if a task could not be evaluated, else 1 if one failed, else 0.

    A skipped task was not evaluated.
    """
    statuses = {result.status for result in results}
    if statuses & {Status.ERROR, Status.SKIP}:
        return EXIT_NOT_EVALUATED
    return EXIT_FAILED if Status.FAIL in statuses else EXIT_PASSED


def as_junit(results: Sequence[VerifyResult]) -> bytes:
    """Return a JUnit report: a suite per task, a case per check.

    A task whose status does not follow from its checks has one more case, ``verify.py``.
    """
    root = ET.Element("testsuites", name="devops-bench verify")
    for result in results:
        _add_suite(root, result)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_suite(root: ET.Element, result: VerifyResult) -> None:
    suite = ET.SubElement(root, "testsuite", name=_xml(result.task_id))
    for check in result.checks:
        case = _add_case(suite, result, check.label)
        if not check.passed:
            ET.SubElement(case, "failure", message=_xml(check.detail or "failed"))
    failed = sum(not check.passed for check in result.checks)
    own = None
    if result.status in {Status.ERROR, Status.SKIP} or (
        result.status is Status.FAIL and not failed
    ):
        own = _add_case(suite, result, "verify.py")
    tags = {Status.ERROR: "error", Status.SKIP: "skipped", Status.FAIL: "failure"}
    if own is not None:
        text = result.error or "; ".join(found.message for found in result.findings or ())
        ET.SubElement(own, tags[result.status], message=_xml(text))
    counts = {
        "tests": len(suite),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    suite.attrib.update({name: str(count) for name, count in counts.items()})


def _add_case(suite: ET.Element, result: VerifyResult, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_xml(result.task_id), name=_xml(name))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text[:_LONGEST_TEXT])
