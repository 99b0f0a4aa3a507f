from __future__ import annotations

import datetime as dt

from devops_bench.results.model import TaskResult
from devops_bench.results.trust import (
    AccessReport,
    Attribution,
    IntegrityFinding,
    IntegrityReport,
    RequestReport,
    ViolationCause,
)
from devops_bench.results.trust_text import access_lines, attribution_lines, integrity_lines

AT = dt.datetime(2026, 1, 1, 12, 0, 1, 250000, tzinfo=dt.UTC)
BY = RequestReport(
    who="controller",
    user="system:kube-x",
    verb="update",
    resource="pods/status",
    object="shop/web",
    at=AT,
    matched_by="resourceVersion",
)
LED = BY.model_copy(
    update={"who": "agent", "user": "me", "verb": "delete", "tool_call": "bash (1)"}
)


def task(**fields: object) -> TaskResult:
    return TaskResult(id="t", status="failed", **fields)


def attributed(source: str, why: str, *causes: ViolationCause) -> list[str]:
    found = Attribution(entry="guard", source=source, why_source=why, violations=list(causes))
    return [line.strip() for line in attribution_lines(task(attribution=[found]), "guard")]


def test_nothing_is_said_of_what_there_is_not() -> None:
    assert [*access_lines(task()), *integrity_lines(task()), *attribution_lines(task(), "x")] == []


def test_what_the_agent_could_do() -> None:
    own = AccessReport(kind="own", preset="edit", account="sa", rules=["a"])
    assert list(access_lines(task(access=own))) == [
        "  agent access: preset edit, as sa; 0 checks passed"
    ]
    all_of_it = task(access=AccessReport(kind="harness"))
    assert list(access_lines(all_of_it)) == ["  agent access: admin (no access: in the spec)"]


def test_who_did_it_and_who_made_them() -> None:
    cause = ViolationCause(at_sec=1, object="pod shop/web", change="deleted", written_by=BY)
    assert attributed("audit", "", cause.model_copy(update={"led_by": LED})) == [
        "pod shop/web deleted by controller (system:kube-x): update pods/status shop/web"
        " at 12:00:01.250",
        "which the agent made it do: agent (me): delete pods/status shop/web"
        " at 12:00:01.250, tool call bash (1)",
    ]
    somebody = LED.model_copy(update={"who": "other", "user": "mallory", "tool_call": None})
    assert attributed("audit", "", cause.model_copy(update={"led_by": somebody}))[1].startswith(
        "which somebody else made it do: other (mallory): delete"
    )
    nobody = BY.model_copy(update={"who": "unknown", "user": "kubectl"})
    assert attributed("managedFields", "no log", cause.model_copy(update={"written_by": nobody}))[
        0
    ].startswith("pod shop/web deleted by unknown (calls itself kubectl): update")
    unknown = ViolationCause(at_sec=1, object="pod shop/web", change="deleted", note="no trace")
    assert attributed("none", "no log", unknown) == [
        "pod shop/web deleted by nobody known: no trace",
        "whose doing it was is not known: no log",
    ]
    assert attributed("managedFields", "no log")[-1].startswith("told by managedFields, not by")
    assert attributed("audit", "", *[unknown] * 6)[-1] == "and 2 more, see result.json"


def test_whether_it_can_be_trusted() -> None:
    findings = [
        IntegrityFinding(rule="files", status="contaminated", evidence=["cat opened x"]),
        IntegrityFinding(rule="canaries", status="no data", why_no_data="nothing to search"),
        IntegrityFinding(rule="other", status="clean"),
    ]
    report = IntegrityReport(status="contaminated", findings=findings)
    assert list(integrity_lines(task(integrity=report))) == [
        "  integrity: CONTAMINATED",
        "    files: cat opened x",
        "    canaries: no data, nothing to search",
    ]
