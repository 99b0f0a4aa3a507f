"""What ``verify`` shows while it works."""

from __future__ import annotations

import io
from pathlib import Path

from devops_bench.cli.verification import summary
from devops_bench.cli.verify_progress import VerifyProgress
from devops_bench.verify_protocol.model import (
    Check,
    Finding,
    FindingKind,
    Status,
    VerifyResult,
)
from devops_bench.verify_protocol.task import VerifyTask

FAILED = VerifyResult(
    "media_1",
    Status.FAIL,
    score=0.25,
    earned=1,
    total=4,
    checks=(Check("a", 1, True), *(Check(f"b{n}\x1b[31m", 1, False, "no\nwhy") for n in range(7))),
    findings=(Finding(3, FindingKind.MALFORMED, "odd"),),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_line_per_event_without_control_characters() -> None:
    stream = io.StringIO()
    with VerifyProgress(stream, tasks=2) as progress:
        progress.waiting((0, 1))
        progress.started(VerifyTask("media_1", Path("x")), 1)
        progress.finished(FAILED, 1.25)
    lines = stream.getvalue().splitlines()
    assert lines[:3] == [
        "waiting: another run uses slot 0, 1",
        "started  media_1 on slot 1",
        "[1/2] media_1: FAIL 0.250 (1.2 s)",
    ]
    assert lines[3] == r"    FAIL b0\x1b[31m: no\nwhy"
    assert lines[-2:] == ["    and 2 more", "    line 3: odd"]


def test_on_a_terminal_it_says_what_runs() -> None:
    stream = Terminal()
    now = iter([10.0, 15.0, 15.0, 15.0])
    with VerifyProgress(stream, tasks=2, monotonic=lambda: next(now, 15.0)) as progress:
        progress.started(VerifyTask("media_1", Path("x")), 0)
    assert "> 0 of 2 done; running: media_1 (5 s)" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_a_reader_that_goes_away_ends_only_the_showing() -> None:
    with VerifyProgress(Closed(), tasks=1) as progress:
        progress.finished(FAILED, 1)


def test_the_summary_shows_a_score_only_where_it_counts() -> None:
    crashed = VerifyResult("c", Status.ERROR, score=1.0, earned=1, total=1, error="x")
    huge = VerifyResult("h", Status.FAIL, earned=10**30, total=10**400)
    assert summary([FAILED, crashed, huge]).splitlines() == [
        "task     status  score  points        failed checks",
        "media_1  FAIL    0.250  1/4           7 of 8",
        "c        ERROR   -      1/1           0 of 0",
        "h        FAIL    0.000  1.0e+30/huge  0 of 0",
        "2 FAIL, 1 ERROR",
    ]
