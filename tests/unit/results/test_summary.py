"""What a person reads."""

from __future__ import annotations

import pytest

from devops_bench.results.model import (
    AgentReport,
    GapRow,
    ReportRow,
    SandboxReport,
    Scores,
    UsageReport,
)
from devops_bench.results.summary import _grouped, render_summary, render_task
from devops_bench.results.trust import IntegrityReport
from tests.unit.results.samples import HOLD_ROW, INVALID_ROW, ROW, make_result, make_run


def test_each_entry_is_shown_with_what_was_seen_and_when() -> None:
    text = render_task(
        make_result(
            "failed",
            name="Mend it",
            outcome=0.0,
            scores=Scores(correctness=0.0, catastrophic_safety=0.0),
            reason="failed: rolled-out, floor",
            verification_report=[ROW, HOLD_ROW, INVALID_ROW],
            agent=AgentReport(name="command", status="failed", elapsed_sec=12.34, reason="exit 1"),
            left_behind=["Namespace shop: a finalizer holds it"],
        )
    )
    assert text == (
        "t1 (Mend it): FAILED, outcome 0.000\n"
        "  failed: rolled-out, floor\n"
        "  correctness 0.000 · recoverable safety null · catastrophic safety 0.000\n"
        "  agent: command, failed after 12.3 s\n"
        "         exit 1\n"
        "  objectives:\n"
        "    FAIL  rolled-out (converge, weight 2)\n"
        "          0 of 3 replicas are ready\n"
        "          hint: look at the image\n"
        "  safeguards:\n"
        "    FAIL  floor (catastrophic hold)\n"
        "          violated 3.5 s into the window: 2 of 4\n"
        "          seen: 52 samples, from 0.0 s to 30.1 s, 1 of them errored, "
        "2 skipped because the one before took too long\n"
        "  invalid:\n"
        "    ERROR <index 3>\n"
        "          the entry is not valid: check: missing\n"
        "  left on the cluster: Namespace shop: a finalizer holds it\n"
    )


def test_what_kept_all_entries_from_being_judged_is_told_once() -> None:
    why = "a safeguard does not hold before the agent's turn: floor: there is no Deployment web"
    rows = [
        ReportRow(**{**ROW, "name": name, "status": "error", "reason": f"it was not judged: {why}"})
        for name in ("first", "second")
    ]
    text = render_task(make_result("error", reason=why, verification_report=rows))
    assert text.count(why) == 1
    assert text.count("it was not judged, for the reason above") == 2
    other = render_task(make_result("error", reason=f"{why}.", verification_report=rows))
    assert other.count(why) == 3


def test_a_withheld_outcome_is_null_and_not_zero() -> None:
    assert "ERROR, outcome null" in render_task(make_result("error"))


@pytest.mark.parametrize(
    ("statuses", "says"),
    [
        (["passed", "failed", "passed"], "2 passed, 1 failed"),
        (["error", "interrupted"], "1 error, 1 interrupted"),
        ([], "No task has ended."),
    ],
)
def test_the_last_line_counts(statuses: list[str], says: str) -> None:
    run = make_run(*[make_result(status) for status in statuses])  # type: ignore[arg-type]
    assert render_summary(run).splitlines()[-1] == says


def test_the_last_line_counts_what_is_contaminated() -> None:
    bad = IntegrityReport(status="contaminated")
    run = make_run(make_result("passed", integrity=bad), make_result("failed"))
    assert render_summary(run).splitlines()[-1] == "1 passed, 1 failed; 1 contaminated"


@pytest.mark.parametrize(
    ("left", "state", "says"),
    [(None, "unsandboxed", True), (0, "unsandboxed", False), (None, "bwrap", False)],
)
def test_it_is_said_where_nobody_looked_for_leftovers(
    left: int | None, state: str, says: bool
) -> None:
    agent = AgentReport(
        name="command",
        status="completed",
        leftover_processes=left,
        sandbox=SandboxReport(state=state),
    )
    text = render_task(make_result("passed", agent=agent))
    assert ("leftovers: not checked" in text) is says


def test_tokens_that_nobody_stated_are_not_shown_as_none_used() -> None:
    agent = AgentReport(name="llm", status="completed", usage=UsageReport(requests=3))
    text = render_task(make_result("passed", agent=agent))
    assert "used: 3 requests, tokens not known\n" in text


def test_tasks_that_did_not_come_to_an_end_are_named() -> None:
    run = make_run(make_result("passed"), planned=["t1", "t2", "t3"])
    assert "Not run to an end: t2, t3" in render_summary(run)


COVERED = {
    "mode": "watched",
    "why_sampled": "",
    "streams": ["pods"],
    "from_sec": 0.0,
    "to_sec": 61.3,
    "states_judged": 52,
    "gaps": [],
    "largest_blind_spot_sec": 0.0,
    "accepts_gaps": False,
}
GAP = {
    "stream": "pods in namespace shop",
    "cause": "HTTP 410",
    "from_sec": -0.5,
    "to_sec": None,
    "from_rv": 7,
    "to_rv": None,
    "closed": False,
    "how": "not closed: compacted",
}


def hold_lines(**changes: object) -> str:
    row = {**HOLD_ROW, "hold_error_count": 0, "hold_missed_count": 0, **changes}
    return render_task(make_result("failed", verification_report=[row]))


def test_a_watched_entry_says_that_nothing_was_missed() -> None:
    text = hold_lines(coverage=COVERED)
    assert "watched: 52 states, from 0.0 s to 61.3 s, nothing missed" in text


def test_a_gap_is_shown_with_its_cause() -> None:
    text = hold_lines(coverage={**COVERED, "gaps": [GAP]})
    assert "nothing missed" not in text
    assert (
        "GAP: pods in namespace shop, from 0.0 s to the end: HTTP 410 (not closed: compacted)"
        in text
    )


def test_a_gap_of_several_entries_is_told_once_with_their_names() -> None:
    rows = [
        ReportRow(**{**HOLD_ROW, "name": name, "coverage": {**COVERED, "gaps": gaps}})  # type: ignore[typeddict-item]
        for name, gaps in (("a", [GAP]), ("b", [GAP, {**GAP, "cause": "a reset"}]), ("c", []))
    ]
    text = render_task(make_result("error", verification_report=rows))
    assert text.count("HTTP 410") == 1
    assert "entries: a, b\n" in text
    assert text.count("1 gap that other entries have too, told of below") == 2
    assert "          GAP: pods in namespace shop, from 0.0 s to the end: a reset" in text
    assert "told of below" not in text[text.index("FAIL  c") : text.index("gaps of more")]


def test_a_sampled_entry_says_why_and_what_it_can_have_missed() -> None:
    sampled = {"mode": "sampled", "why_sampled": "a probe", "largest_blind_spot_sec": 5.04}
    text = hold_lines(coverage={**COVERED, **sampled})
    assert "sampled, not watched (a probe)" in text
    assert "shorter than 5.0 s can have been missed" in text


def test_a_violation_after_the_turn_is_shown() -> None:
    after = {
        "states_judged": 2,
        "violated": True,
        "first_violation_reason": "2 of 4",
        "first_violation_at_sec": 62.0,
        "why_incomplete": None,
    }
    assert "after the turn, at 62.0 s: 2 of 4" in hold_lines(after_turn=after)


def test_what_the_evidence_lacks_is_shown() -> None:
    text = render_task(
        make_result("passed", recording_cut="no space left", unverified=["APIServices"])
    )
    assert "the recording is not whole: no space left" in text
    assert "replaced unnoticed: APIServices" in text


def test_one_outage_is_told_once() -> None:
    def gap(stream: str, start: float, end: float | None, cause: str = "a reset") -> GapRow:
        return GapRow(
            stream=stream,
            cause=cause,
            from_sec=start,
            to_sec=end,
            from_rv=1,
            to_rv=2,
            closed=False,
            how="",
        )

    gaps = [gap("a", 1, 3), gap("b", 2, 4), gap("a", 3, 5), gap("a", 7, 8), gap("a", 2, None, "x")]
    found = [(one["stream"], one["from_sec"], one["to_sec"]) for one in _grouped(gaps)]
    assert found == [("a; b", 1, 5), ("a", 2, None), ("a", 7, 8)]
    assert gaps[0]["to_sec"] == 3
