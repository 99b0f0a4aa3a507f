"""The findings on the public specs are exactly those that the documentation argues."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.lint.engine import LintReport
from tests.unit.lint.helpers import report

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = REPOSITORY.parent / "shared" / "upstream_specs"
DOCUMENT = REPOSITORY / "docs" / "lint-on-public-specs.md"
ROW = re.compile(r"^\| (\d+) \| (DB\d{3}) \| (.+?) \| (notice: )?(.+) \|$")


@pytest.fixture(scope="module")
def found() -> LintReport:
    if not FOLDER.is_dir():
        pytest.skip(f"the public specs are not there: {FOLDER}")
    return report(FOLDER)


def argued() -> list[tuple[str, int, str, bool]]:
    """What the document lists: file, line, rule, and whether it claims no fault."""
    rows, file = [], ""
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("## "):
            file = line.removeprefix("## ")
        elif match := ROW.match(line):
            assert len(match[5]) > 20, f"{line} is no argument"
            rows.append((file, int(match[1]), match[2], match[4] is not None))
    return rows


def test_each_finding_is_argued_and_nothing_else_is(found: LintReport) -> None:
    seen = [
        (one.file.name, one.line, one.rule, one.level is Level.NOTICE)
        for one in found.diagnostics
        if one.file is not None
    ]
    assert sorted(seen) == sorted(argued())


def test_none_of_them_is_an_error(found: LintReport) -> None:
    assert [str(one) for one in found.diagnostics if one.level is Level.ERROR] == []


def test_every_spec_is_looked_at(found: LintReport) -> None:
    assert {file.name for file in found.files} == {file.name for file in FOLDER.glob("*.yaml")}
