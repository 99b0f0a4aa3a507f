"""Both readers on the recorded outputs.

Rows from 103 on are output of SaaS-Bench task scripts (tasks: CC BY 4.0, UniPat AI; unchanged).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devops_bench.verify_protocol.judge import judge
from devops_bench.verify_protocol.model import Ending, FindingKind, Status, VerifyResult
from devops_bench.verify_protocol.parser import parse
from devops_bench.verify_protocol.reference import judge_as_reference

from .corpus import ROWS, Row, needs_corpus

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "verify.md"
NOT_JSON = {"069"}
NOT_UTF8 = {"087"}
"""The reference's result for what is no UTF-8 has fewer keys; ours has the usual shape."""

pytestmark = needs_corpus

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)


def strict(row: Row) -> VerifyResult:
    return judge(row.id, parse(row.stderr), Ending(row.returncode))


def compat(row: Row) -> VerifyResult:
    return judge_as_reference(row.id, row.stderr, Ending(row.returncode))


@every_row
def test_compat_gives_what_the_reference_gave(row: Row) -> None:
    ours = compat(row).as_json()
    if row.reference is None or row.id in NOT_JSON | NOT_UTF8:
        assert ours["status"] == "ERROR"
        assert ours["error"]
        assert (ours["score"], ours["earned"], ours["total"], ours["checks"]) == (0.0, 0, 0, [])
        assert ours["returncode"] == row.returncode
        if row.id in NOT_UTF8:
            assert row.reference is not None
            assert ours["error"] == row.reference["error"]
    else:
        assert ours == row.reference


@pytest.mark.parametrize("row", [row for row in ROWS if row.agrees], ids=lambda row: row.id)
def test_strict_agrees_unless_a_rule_says_why(row: Row) -> None:
    ours = strict(row)
    assert row.reference is not None
    parsed = parse(row.stderr)
    if row.ref_status == "PASS" and parsed.total == 0:
        assert ours.status is Status.ERROR
    elif row.ref_status == "PASS" and parsed.says_fail:
        assert ours.status is Status.FAIL
    else:
        assert str(ours.status) == row.ref_status
    numbers = {"score": ours.score, "earned": ours.earned, "total": ours.total}
    if numbers != {name: row.reference[name] for name in numbers}:
        # Rounded at three digits, or contradicted; the latter is reported.
        rounded = f"SCORE: {ours.score:.3f}".encode() in row.stderr
        assert rounded or FindingKind.DISAGREEMENT in {found.kind for found in ours.findings or ()}


@every_row
def test_strict_is_never_better_than_a_literal_reading(row: Row) -> None:
    ours = strict(row)
    assert ours.status is not Status.PASS or row.doc_status == "PASS"


def documented() -> set[str]:
    return set(re.findall(r"^\| (\d{3}) \|", DOCUMENT.read_text(), re.MULTILINE))


def test_every_row_that_differs_is_documented() -> None:
    different = set()
    for row in ROWS:
        ours, theirs = strict(row), row.reference or {}
        numbers = (ours.score, ours.earned, ours.total)
        same = str(ours.status) == row.ref_status and numbers == tuple(
            theirs.get(name) for name in ("score", "earned", "total")
        )
        if not row.agrees or not same:
            different.add(row.id)
    assert documented() >= different
    assert documented() <= {row.id for row in ROWS}
