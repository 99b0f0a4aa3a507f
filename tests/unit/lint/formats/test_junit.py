from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.lint.engine import LintReport
from devops_bench.lint.formats import junit
from devops_bench.lint.settings import FailOn

BAD, GOOD = Path("/specs/bad.yaml"), Path("/specs/good.yaml")
WARNING = Diagnostic("m <&> \"'", "h", BAD, 1, 2, "p", Level.WARNING, "DB203")
NOTICE = Diagnostic("n", "", GOOD, 1, 2, "p", Level.NOTICE, "DB006")


def suite(report: LintReport, fail_on: FailOn = "warning") -> ElementTree.Element:
    root = ElementTree.fromstring(junit.render(report, fail_on))
    found = root.find("testsuite")
    assert found is not None
    return found


def test_a_spec_is_a_case_that_fails_with_its_findings() -> None:
    found = suite(LintReport((BAD, GOOD), (WARNING, NOTICE)))
    assert (found.get("tests"), found.get("failures"), found.get("errors")) == ("2", "1", "0")
    bad, good = found.findall("testcase")
    failure = bad.find("failure")
    assert failure is not None
    assert failure.get("message") == "m <&> \"' [DB203]"
    assert failure.get("type") == "DB203"
    assert "/specs/bad.yaml:1:2: warning: p: m" in str(failure.text)
    assert good.find("failure") is None
    assert "DB006" in str(good.findtext("system-out"))


def test_the_message_says_that_there_is_more() -> None:
    others = (replace(WARNING, rule="DB205"), replace(WARNING, rule="DB206"))
    found = suite(LintReport((BAD,), (WARNING, *others))).find("testcase/failure")
    assert found is not None
    assert found.get("message") == "m <&> \"' [DB203] (and 2 more)"
    assert found.get("type") == "DB203, DB205, DB206"


def test_fail_on_decides() -> None:
    assert suite(LintReport((BAD,), (WARNING,)), "error").get("failures") == "0"
    assert suite(LintReport((GOOD,), (NOTICE,)), "notice").get("failures") == "1"


def test_what_cannot_be_read_is_an_error() -> None:
    found = suite(LintReport((), (), unreadable=("x cannot be read",), notes=("no schemas",)))
    assert (found.get("tests"), found.get("errors")) == ("1", "1")
    assert found.findtext("system-out") == "no schemas"


@given(st.text(), st.text(max_size=20).filter(lambda text: "\0" not in text))
def test_any_text_is_well_formed(message: str, name: str) -> None:
    one = Diagnostic(message, message, Path("/", name), 1, 1, message, rule="DB101")
    suite(LintReport((Path("/", name),), (one,), unreadable=(message,)))
