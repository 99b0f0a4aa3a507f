"""What a recording answers: narrower questions than were asked, and the past step by step."""

from __future__ import annotations

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.evalharness.leaves import leaf_results
from devops_bench.evalharness.recorded import Cursor, Rejudge
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, ResourceQuery, Snapshot
from devops_bench.k8s.watch.tables import Update
from devops_bench.k8s.watch.types import Origin
from devops_bench.results.evidence.records import Step
from devops_bench.verification.base import CheckNode
from devops_bench.verification.combinators import leaves_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.tree import read_check

ALL_PODS = ResourceQuery("Pod", "shop")
ERROR = VerificationResult.errored("recorded")


def pod(name: str, phase: str = "Running", **labels: str) -> KubeObject:
    metadata: JsonObject = {"name": name, "namespace": "shop", "labels": dict(labels)}
    return KubeObject({"kind": "Pod", "metadata": metadata, "status": {"phase": phase}})


def check(**fields: object) -> CheckNode:
    raw = {"type": "resource_property", "kind": "pods", "namespace": "shop", **fields}
    node, problems = read_check(raw)
    assert node is not None, problems
    return node


VIEW = Snapshot({ALL_PODS: Matched((pod("a", app="web"), pod("b", "Failed", app="db")))})


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"op": "exists", "resource_name": "a"}, "pass"),
        ({"op": "exists", "resource_name": "c"}, "fail"),
        ({"selector": "app=web", "path": "status.phase", "op": "eq", "value": "Running"}, "pass"),
        ({"selector": "app=db", "path": "status.phase", "op": "eq", "value": "Running"}, "fail"),
        ({"op": "exists", "namespace": "elsewhere"}, "error"),
        ({"op": "exists", "kind": "services"}, "error"),
        ({"path": "spec.nodeName", "op": "exists"}, "error"),
    ],
)
def test_narrower_questions_are_answered_and_others_are_not(
    fields: dict[str, object], status: str
) -> None:
    judge = Rejudge(check(**fields), None, None, {ALL_PODS: (("status", "phase"),)})
    assert judge.judge(VIEW, ERROR).status == status
    assert bool(judge.lacks) == (status == "error")


def test_a_narrow_recording_does_not_answer_a_broad_question() -> None:
    judge = Rejudge(check(op="absent"), None, None, {ResourceQuery("Pod", "shop", name="a"): None})
    assert judge.judge(VIEW, ERROR).status == "error"


def step(rv: int, *updates: tuple[str, str | None], origin: Origin = "event") -> Step:
    made = tuple(
        Update(ALL_PODS, ("shop", name), None if phase is None else pod(name, phase))
        for name, phase in updates
    )
    return Step("turn", "pods", rv, 0.0, origin, made)


def shown(cursor: Cursor, rv: int) -> list[str]:
    reading = cursor.move_to(rv).read(ALL_PODS)
    assert isinstance(reading, Matched)
    return [f"{obj.name} {obj.data['status']['phase']}" for obj in reading.objects]  # type: ignore[index,call-overload]


def test_a_cursor_shows_each_state_as_it_was() -> None:
    cursor = Cursor([ALL_PODS])
    cursor.add(step(1, ("a", "Running"), origin="baseline"))
    cursor.add(step(3, ("b", "Pending")))
    cursor.add(step(5, ("a", None), ("b", "Running")))
    assert shown(cursor, 2) == ["a Running"]
    assert shown(cursor, 3) == ["a Running", "b Pending"]
    assert shown(cursor, 9) == ["b Running"]


def test_a_second_baseline_begins_anew() -> None:
    cursor = Cursor([ALL_PODS])
    cursor.add(step(1, ("a", "Running"), ("b", "Running"), origin="baseline"))
    cursor.add(step(4, ("b", "Running"), origin="baseline"))
    assert shown(cursor, 1) == ["a Running", "b Running"]
    assert shown(cursor, 4) == ["b Running"]


def test_leaves_that_a_sequence_did_not_reach_have_no_result() -> None:
    node, _ = read_check(
        {
            "type": "all",
            "checks": [
                {
                    "type": "sequence",
                    "checks": [
                        {"type": "pod_healthy", "selector": "a=b"},
                        {"type": "all", "checks": [{"type": "pod_healthy", "selector": "c=d"}]},
                    ],
                },
                {"type": "pod_healthy", "selector": "e=f"},
            ],
        }
    )
    assert node is not None
    failed, passed = VerificationResult.failed("no"), VerificationResult.passed("yes")
    sequence = VerificationResult.failed("no", children=[failed])
    result = VerificationResult.failed("no", children=[sequence, passed])
    assert list(leaf_results(node, result)) == [
        (leaf, found) for leaf, found in zip(leaves_of(node), [failed, None, passed], strict=True)
    ]
