"""Two entries: those that exclude each other, and those that are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Snapshot
from devops_bench.verification.base import Check, CheckNode
from devops_bench.verification.combinators import evaluate
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import parse_entries
from tests.unit.lint.helpers import (
    entry,
    found_in,
    lint_text,
    prop,
)


def scaling(**bounds: JsonValue) -> JsonObject:
    return {"type": "scaling_complete", "deployment": "web", "namespace": "shop", **bounds}


def images(op: str, value: JsonValue, across: str | None) -> JsonObject:
    return prop("spec.template.spec.containers[*].image", op, value, across_matches=across)


def both(left: JsonObject, right: JsonObject, tmp_path: Path) -> list[str]:
    return found_in(tmp_path, entry("a", left), entry("b", right, "safeguard"))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (prop("spec.replicas", "eq", 8), prop("spec.replicas", "eq", 4)),
        (prop("spec.replicas", "eq", 8), prop("spec.replicas", "ne", 8)),
        (prop("spec.replicas", "gte", 8), prop("spec.replicas", "lt", 8)),
        (prop("spec.replicas", "gt", 8), prop("spec.replicas", "lt", 4)),
        (prop("spec.replicas", "exists"), prop("spec.replicas", "absent")),
        (prop("spec.replicas", "eq", 4), prop("spec.replicas", "absent")),
        (
            prop("spec.strategy.type", "eq", "Recreate"),
            prop("spec.strategy.type", "matches", "^R.*g"),
        ),
        (
            prop("spec.replicas", "eq", 8),
            {"type": "all", "checks": [prop("spec.replicas", "eq", 4)]},
        ),
        (prop(None, "exists"), prop(None, "absent")),
        (prop(None, "exists", kind="deploy"), prop(None, "absent")),
        (prop("spec.replicas", "exists"), prop(None, "absent")),
        (prop("spec.paused", "absent"), prop(None, "absent")),
        (prop(None, "exists"), {"type": "none", "checks": [prop(None, "exists")]}),
        (prop(None, "exists"), prop(None, "absent", resource_name=None)),
        (
            prop(None, "exists", resource_name=None, selector="a=b,c=d"),
            prop(None, "absent", resource_name=None, selector="c=d,a=b"),
        ),
        (prop(None, "exists", kind="Node"), prop(None, "absent", kind="no", namespace="other")),
        (scaling(min_replicas=5), scaling(max_replicas=3)),
        (scaling(min_replicas=5), prop("status.readyReplicas", "lt", 5)),
        (scaling(max_replicas=3), prop("status.readyReplicas", "eq", 4)),
        (scaling(), prop(None, "absent")),
        (scaling(min_replicas=1), prop("status.readyReplicas", "absent")),
        (
            {"type": "pod_healthy", "selector": "app=web", "namespace": "shop"},
            prop(None, "absent", kind="po", resource_name=None, selector="app=web"),
        ),
        (images("eq", "a", "every"), images("eq", "a", "none")),
        (images("eq", "a", "every"), images("eq", "b", "every")),
        (images("eq", "a", "every"), images("matches", "^b", "every")),
        (images("matches", "^a", "every"), images("matches", "^a", "none")),
        (images("exists", None, "every"), images("exists", None, "none")),
        (images("eq", "a", "every"), images("absent", None, None)),
        (images("exists", None, None), images("absent", None, None)),
        (prop("spec.replicas", "eq", 3), prop("$.spec.replicas", "eq", 4)),
        (prop("spec.replicas", "eq", 3), prop("$['spec']['replicas']", "eq", 4)),
        (prop("spec.replicas", "gt", 3), prop("spec.replicas", "lt", 4)),  # whole numbers
        (prop("spec.paused", "ne", True), prop("spec.paused", "ne", False)),
        (prop("spec.replicas", "absent"), prop("spec.replicas", "gte", 0)),
        (prop("spec.strategy", "absent"), prop("spec.strategy.type", "eq", "Recreate")),
        (
            prop("spec.replicas", "eq", 4),
            {
                "type": "none",
                "checks": [{"type": "any", "checks": [prop("spec.replicas", "eq", 4)]}],
            },
        ),
        (
            prop("spec.replicas", "gte", 4),
            {"type": "none", "checks": [prop("spec.replicas", "gte", 2)]},
        ),
        (
            prop("spec.size", "eq", "1Gi", kind="Widget"),
            prop("spec.size", "ne", "1024Mi", kind="widget"),
        ),
        (
            {"type": "all", "checks": [prop("spec.replicas", "eq", 8)]},
            {
                "type": "sequence",
                "checks": [prop("spec.replicas", "gte", 1), prop("spec.replicas", "lt", 8)],
            },
        ),
    ],
)
def test_demands_that_exclude_each_other(
    tmp_path: Path, left: JsonObject, right: JsonObject
) -> None:
    assert "DB208" in both(left, right, tmp_path)
    assert "DB208" in both(right, left, tmp_path)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (prop("spec.replicas", "eq", 8), prop("spec.replicas", "eq", "8")),
        (prop("spec.replicas", "gte", 8), prop("spec.replicas", "lte", 8)),
        (prop("spec.replicas", "eq", 8), prop("spec.replicas", "eq", 4, resource_name="api")),
        (prop("spec.replicas", "eq", 8), prop("spec.replicas", "eq", 4, namespace="other")),
        (prop("spec.replicas", "eq", 8), prop("spec.replicas", "eq", 4, kubeconfig="/elsewhere")),
        (
            prop("spec.replicas", "eq", 8),
            {"type": "any", "checks": [prop("spec.replicas", "eq", 4)]},
        ),
        (
            prop("spec.replicas", "eq", 8),
            {"type": "none", "checks": [prop("spec.replicas", "eq", 4)]},
        ),
        (
            prop("spec.template.spec.containers[*].image", "eq", "a"),
            prop("spec.template.spec.containers[*].image", "eq", "b"),
        ),
        (prop("spec.replicas", "eq", "{{A}}"), prop("spec.replicas", "eq", "{{B}}")),
        (prop(None, "exists"), prop(None, "absent", resource_name="api")),
        (prop(None, "exists"), prop(None, "absent", namespace="other")),
        (prop(None, "absent"), {"type": "none", "checks": [prop("spec.replicas", "eq", 4)]}),
        (prop(None, "absent"), {"type": "none", "checks": [scaling()]}),
        (
            prop(None, "exists"),
            prop(None, "absent", resource_name=None, selector="app=other"),
        ),
        (scaling(min_replicas=3), scaling(max_replicas=3)),
        (scaling(min_replicas=0, max_replicas=3), prop("status.readyReplicas", "absent")),
        (images("eq", "a", "none"), images("ne", "a", "none")),  # without any image
        (images("eq", "a", "every"), images("eq", "b", "none")),
        (images("matches", "^a", "every"), images("matches", "^b", "none")),
        (
            prop("data.x", "eq", "1Gi", kind="ConfigMap"),
            prop("data.x", "matches", "^1024Mi$", kind="ConfigMap"),
        ),
        (
            {"type": "none", "checks": [prop("spec.paused", "eq", True)]},
            {"type": "none", "checks": [prop("spec.paused", "eq", False)]},
        ),
        (
            {"type": "none", "checks": [images("eq", "a", "every")]},
            images("eq", "b", "every"),
        ),
        (
            prop("spec.maxReplicas", "eq", 3, kind="hpa"),
            prop("spec.maxReplicas", "eq", 4, kind="horizontalpodautoscalers.v1.autoscaling"),
        ),
        (prop("spec.strategy", "absent"), prop("spec.strategyType.x", "eq", "a", kind="Widget")),
    ],
)
def test_demands_that_may_both_be_met(tmp_path: Path, left: JsonObject, right: JsonObject) -> None:
    assert "DB208" not in both(left, right, tmp_path)


VALUES = st.sampled_from([0, 1, 2, "1", "a", "1Gi", "1024Mi", True, False])
PATHS = st.sampled_from(["spec.replicas", "$.spec['x']", "spec.x", "spec.l[*].y", "spec.l[0].y"])
LEAVES = st.builds(
    lambda path, op, value, across: prop(
        path,
        op,
        None if op in ("exists", "absent") else value,
        across_matches=None if op == "absent" else across,
    ),
    PATHS,
    st.sampled_from(["eq", "ne", "gte", "lt", "contains", "exists", "absent"]),
    VALUES,
    st.sampled_from([None, "every", "none"]),
) | st.sampled_from(
    [prop(None, "exists"), prop(None, "absent"), scaling(max_replicas=1), scaling()]
)
CHECKS = LEAVES | st.builds(
    lambda kind, leaves: {"type": kind, "checks": leaves},
    st.sampled_from(["none", "all", "any"]),
    st.lists(LEAVES, min_size=1, max_size=2),
)
FIELDS = st.fixed_dictionaries(
    {"replicas": st.integers(0, 3)},
    optional={
        "x": VALUES,
        "l": st.lists(st.fixed_dictionaries({}, optional={"y": VALUES}), max_size=3),
    },
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHECKS, CHECKS, FIELDS | st.none(), st.integers(0, 3))
def test_what_an_object_satisfies_is_no_contradiction(
    tmp_path: Path, left: JsonObject, right: JsonObject, fields: JsonObject | None, ready: int
) -> None:
    """By the judgement itself, which the rules know nothing of."""
    entries, problems = parse_entries([entry("a", left), entry("b", right)])
    assume(not problems)
    obj: JsonObject = {"kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
    found = (
        () if fields is None else (KubeObject({**obj, "spec": fields, "status": _count(ready)}),)
    )

    def judge(node: CheckNode) -> VerificationResult:
        assert isinstance(node, Check)
        return node.judge(Snapshot(dict.fromkeys(node.queries(), Matched(found))))

    results = [evaluate(one.check, judge).status for one in entries]
    if results == ["pass", "pass"]:
        # A kind without a schema, so that nothing but the ops is known of its fields.
        assert "DB208" not in both(left, right, tmp_path)
        assert "DB208" not in both(_custom(left), _custom(right), tmp_path)
    if results[1] == "fail" and fields is not None:
        said = found_in(tmp_path, entry("b", right, "safeguard"))
        assert "DB202" not in said or "DB101" in said  # no Deployment has spec.x


def _count(ready: int) -> JsonObject:
    return {"readyReplicas": ready} if ready else {}


def _custom(check: JsonObject) -> JsonObject:
    below = check.get("checks")
    if isinstance(below, list):
        return {**check, "checks": [_custom(one) for one in below if isinstance(one, dict)]}
    return {**check, "kind": "Widget"} if check["type"] == "resource_property" else check


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (prop("spec.replicas", "eq", 4), prop("spec.replicas", "eq", 4, kind="deploy"), True),
        (prop("spec.replicas", "eq", 4), prop("$['spec'].replicas", "eq", 4), True),
        (prop("spec.replicas", "gte", "1Gi"), prop("spec.replicas", "gte", "1024Mi"), True),
        (prop("spec.replicas", "eq", 4), prop("spec.replicas", "eq", 4.0), True),
        (prop(None, "exists", namespace="default"), prop(None, "exists", namespace=None), True),
        (
            prop(None, "exists", resource_name=None, selector="a=b,c"),
            prop(None, "exists", resource_name=None, selector="c, a = b"),
            True,
        ),
        (scaling(), scaling(min_replicas=1), True),
        (
            prop("spec.replicas", "eq", 4),
            {"type": "all", "checks": [prop("spec.replicas", "eq", 4)]},
            True,
        ),
        (
            {"type": "any", "checks": [prop(None, "exists"), scaling()]},
            {"type": "any", "checks": [scaling(), prop(None, "exists")]},
            True,
        ),
        (
            prop("spec.template.spec.containers[?(@.name=='a')].image", "exists"),
            prop('$.spec.template.spec.containers[?(@.name == "a")].image', "exists"),
            True,
        ),
        (
            prop("spec.template.spec.containers[?(@.name=='a')].image", "exists"),
            prop("spec.template.spec.containers[?(@.name=='b')].image", "exists"),
            False,
        ),
        (
            {"type": "sequence", "checks": [prop(None, "exists"), scaling()]},
            {"type": "sequence", "checks": [scaling(), prop(None, "exists")]},
            False,
        ),
        (
            {"type": "none", "checks": [prop(None, "exists")]},
            prop(None, "exists"),
            False,
        ),
        (prop("metadata.labels.v", "eq", 4), prop("metadata.labels.v", "eq", "4"), False),
        (prop("metadata.labels.v", "eq", "1.20"), prop("metadata.labels.v", "eq", "1.2"), False),
        (prop("spec.replicas", "eq", 4), prop("spec.replicas", "gte", 4), False),
        (
            prop("spec.maxReplicas", "eq", 3, kind="hpa"),
            prop("spec.maxReplicas", "eq", 3, kind="horizontalpodautoscalers.v1.autoscaling"),
            False,
        ),
    ],
)
def test_checks_that_are_the_same(
    tmp_path: Path, left: JsonObject, right: JsonObject, same: bool
) -> None:
    found = found_in(tmp_path, entry("a", left), entry("b", right))
    assert ("DB207" in found) is same


def test_names_of_checks_do_not_make_them_different(tmp_path: Path) -> None:
    checks: list[JsonObject] = [
        {"type": "all", "checks": [prop("spec.replicas", "eq", 4, name=name)]} for name in "ab"
    ]
    assert found_in(tmp_path, *(entry(str(i), one) for i, one in enumerate(checks))) == ["DB207"]


OPS = st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "exists", "absent"])
ASKED = st.tuples(OPS, st.integers(0, 3), st.booleans())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ASKED, min_size=2, max_size=4))
def test_of_many_about_one_field_the_same_is_said_as_of_each_pair(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, int, bool]]
) -> None:
    def excluded(which: list[tuple[str, int, bool]]) -> list[bool]:
        entries = []
        for number, (op, value, negated) in enumerate(which):
            given = None if op in ("exists", "absent") else value
            check = prop("spec.replicas", op, given)
            if negated:
                check = {"type": "none", "checks": [check]}
            entries.append(entry(f"e{number}", check))
        text = json.dumps({"id": "web", "verification_spec": entries}, indent=1)
        found = lint_text(text, tmp_path_factory.getbasetemp())
        paths = [one.path for one in found if one.rule == "DB208"]
        return [any(f"spec[{at}]" in path for path in paths) for at in range(len(which))]

    together = excluded(asked)
    for later, one in enumerate(asked):
        pairs = [excluded([earlier, one])[1] for earlier in asked[:later]]
        assert together[later] == any(pairs), (asked, later)
