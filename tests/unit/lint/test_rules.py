"""What the rules say beyond their two examples: the cases that would be false alarms, or missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Snapshot
from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.engine import LintOptions, lint_paths
from devops_bench.tasks.yaml import parse
from devops_bench.verification.base import Check, CheckNode
from devops_bench.verification.combinators import evaluate
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import parse_entries
from tests.unit.lint.helpers import ids, lint_text

DEPLOYMENT: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "generation": 7},
    "spec": {
        "replicas": 4,
        "paused": False,
        "minReadySeconds": 0,
        "strategy": {"type": "Recreate"},
        "template": {
            "spec": {
                "containers": [{"image": "a", "resources": {"limits": {"memory": "1024Mi"}}}],
                "volumes": [{"name": "x"}],
            }
        },
    },
}
SECRET: JsonObject = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "shop"},
    "data": {"old": "b2\nxk", "both": "b2xk"},
    "stringData": {"token": "abc", "both": "new", "open": "{{OPEN}}"},
}
"""Read as data: old = "old", both = "new", token = "abc"."""
OTHERS: list[JsonValue] = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "shop"},
        "data": {"empty": ""},
    },
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "empty", "namespace": "shop"},
        "data": {},
    },
    {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "shop"},
        "spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 50},
    },
]
SHOP: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def prop(path: str | None, op: str, value: JsonValue = None, **more: JsonValue) -> JsonObject:
    check: JsonObject = {
        "type": "resource_property",
        "kind": "Deployment",
        "resource_name": "web",
        "namespace": "shop",
        "op": op,
        **more,
    }
    if path is not None:
        check["path"] = path
    if value is not None:
        check["value"] = value
    return {key: one for key, one in check.items() if one is not None}


def entry(name: str, check: JsonObject, role: str = "objective", **more: JsonValue) -> JsonObject:
    fields: JsonObject = {"name": name, "role": role, "check": check, **more}
    if role == "safeguard":
        fields.setdefault("severity", "recoverable")
        fields.setdefault("mode", "hold")
    return fields


def found_in(tmp_path: Path, *entries: JsonObject, **task: JsonValue) -> list[str]:
    text = json.dumps({"id": "web", "verification_spec": list(entries), **task})
    return ids(lint_text(text, tmp_path))


def with_setup(tmp_path: Path, *entries: JsonObject, objects: JsonValue = None) -> list[str]:
    made: JsonValue = objects if objects is not None else [SHOP, DEPLOYMENT, SECRET, *OTHERS]
    found = found_in(tmp_path, *entries, setup={"objects": made})
    return [one for one in found if one != "DB303"]  # {{OPEN}} of the Secret


@pytest.mark.parametrize(
    "check",
    [
        prop("spec.replicas", "eq", 4),
        prop("spec.replicas", "gte", 2),
        prop(None, "exists"),
        prop(None, "absent", resource_name="other"),
        prop(None, "exists", resource_name=None, selector="app=web"),
        {"type": "none", "checks": [prop("spec.replicas", "eq", 8)]},
        {"type": "any", "checks": [prop("status.readyReplicas", "eq", 8), prop(None, "exists")]},
        prop("metadata.labels.app", "matches", "^web$"),
        prop("$['spec'].replicas", "eq", 4),
        prop("data.token", "eq", "YWJj", kind="Secret", resource_name="s"),
        prop("data.token", "matches", "^YWJj$", kind="Secret", resource_name="s"),
        prop("data.old", "eq", "b2xk", kind="Secret", resource_name="s"),
        prop("data.both", "eq", "bmV3", kind="Secret", resource_name="s"),  # stringData wins
        prop("type", "eq", "Opaque", kind="Secret", resource_name="s"),
        prop("data.empty", "eq", "", kind="ConfigMap", resource_name="c"),
    ],
)
def test_what_the_setup_satisfies_passes_already(tmp_path: Path, check: JsonObject) -> None:
    assert with_setup(tmp_path, entry("x", check)) == ["DB201"]


@pytest.mark.parametrize(
    "check",
    [
        prop("spec.replicas", "eq", 8),
        prop("status.readyReplicas", "eq", 4),
        prop("spec.paused", "absent"),  # the server may fill a field in
        prop("spec.revisionHistoryLimit", "exists"),
        {"type": "none", "checks": [prop("spec.revisionHistoryLimit", "eq", 10)]},
        {"type": "all", "checks": [prop(None, "exists"), prop("status.replicas", "eq", 4)]},
        prop(None, "absent", kind="Pod"),  # controllers make pods
        prop(None, "absent", kind="ReplicaSet"),
        prop(None, "exists", kubeconfig="/elsewhere"),
        prop(None, "exists", resource_name="{{NAME}}", namespace="shop"),
        # The server keeps its own, drops most of what is 0 or false, fills in and rewrites.
        prop("metadata.generation", "eq", 7),
        prop("spec.paused", "eq", False),
        prop("spec.minReadySeconds", "lte", 0),
        prop("spec.strategy", "eq", {"type": "Recreate"}),
        prop("spec.template.spec.containers", "ne", []),
        prop("spec.template.spec.containers[0].resources.limits.memory", "matches", "^1024Mi$"),
        prop("spec..image", "eq", "a", across_matches="every"),
        prop("$..replicas", "eq", 4),
        prop("spec.template.spec.volumes[*].name", "eq", "x", across_matches="every"),
        prop("stringData.token", "eq", "abc", kind="Secret", resource_name="s"),
        prop("data.token", "eq", "abc", kind="Secret", resource_name="s"),
        prop("data.open", "ne", "x", kind="Secret", resource_name="s"),  # {{OPEN}} has no value
        prop("data", "exists", kind="ConfigMap", resource_name="empty"),
        prop("spec.targetCPUUtilizationPercentage", "eq", 50, kind="hpa", resource_name="h"),
        prop("spec.maxReplicas", "eq", 5, kind="hpa", resource_name="h"),  # of another version
    ],
)
def test_what_the_setup_does_not_decide_is_left_alone(tmp_path: Path, check: JsonObject) -> None:
    assert "DB201" not in with_setup(tmp_path, entry("x", check))


@pytest.mark.parametrize(
    ("check", "fails"),
    [
        (prop("spec.replicas", "gte", 5), True),
        (prop("metadata.labels.app", "eq", "api"), True),
        (prop(None, "exists", resource_name="wbe"), True),  # in a namespace of the setup's own
        (prop("data.token", "eq", "abc", kind="Secret", resource_name="s"), True),
        (prop("data.gone", "exists", kind="Secret", resource_name="s"), True),
        ({"type": "all", "checks": [prop("spec.replicas", "gte", 5), prop(None, "exists")]}, True),
        ({"type": "none", "checks": [prop("spec.replicas", "eq", 4)]}, True),
        (prop("spec.replicas", "gte", 4), False),
        (prop("status.readyReplicas", "gte", 5), False),
        (prop("spec.paused", "eq", True), False),  # whether false is returned is the server's
        (prop("spec.revisionHistoryLimit", "eq", 3), False),  # filled in, perhaps with it
        (
            {"type": "any", "checks": [prop("spec.replicas", "gte", 5), prop("status", "exists")]},
            False,
        ),
        (prop(None, "exists", resource_name="coredns", namespace="kube-system"), False),
        (prop(None, "exists", kind="StorageClass", resource_name="fast"), False),
        (prop(None, "exists", kind="Pod", resource_name="web-0"), False),
        (prop(None, "exists", kind="Widget", resource_name="w"), False),
        (prop("spec.replicas", "gte", 5, kubeconfig="/elsewhere"), False),
        (prop("spec.replicas", "gte", "{{N}}"), False),
    ],
)
@pytest.mark.parametrize("mode", ["hold", "assert"])
def test_a_safeguard_that_fails_already(
    tmp_path: Path, check: JsonObject, fails: bool, mode: str
) -> None:
    found = with_setup(tmp_path, entry("x", check, "safeguard", mode=mode))
    assert ("DB209" in found) is fails
    assert "DB209" not in with_setup(tmp_path, entry("x", check))
    may_appear = entry("x", check, "safeguard", mode=mode, may_appear=True)
    assert "DB209" not in with_setup(tmp_path, may_appear)


def test_a_safeguard_has_to_pass_already(tmp_path: Path) -> None:
    assert with_setup(tmp_path, entry("x", prop("spec.replicas", "eq", 4), "safeguard")) == []


def test_without_a_setup_nothing_is_known(tmp_path: Path) -> None:
    assert found_in(tmp_path, entry("x", prop(None, "absent"))) == []


@pytest.mark.parametrize(
    ("check", "level"),
    [
        (prop("metadata.name", "exists"), True),
        (prop("spec.replicas", "gte", 0), True),
        ({"type": "none", "checks": [prop("spec.replicas", "lt", 0)]}, True),
        ({"type": "none", "checks": [prop("metadata.uid", "absent")]}, True),
        (
            {
                "type": "any",
                "checks": [prop("spec.replicas", "gte", 0), prop("spec.paused", "exists")],
            },
            True,
        ),
        # By what the server fills in and refuses, for every mode of looking at one field.
        (prop("spec.replicas", "exists"), True),
        (prop("$['spec']['replicas']", "exists"), True),
        (prop("spec.replicas", "ne", -1), True),
        (prop("spec.replicas", "lte", 2147483647), True),
        (prop("spec.replicas", "lt", "2Gi"), True),
        (prop("spec.replicas", "gte", "-1k"), True),
        (prop("spec.replicas", "gt", -0.5), True),
        ({"type": "none", "checks": [prop("spec.replicas", "eq", -1)]}, True),
        (prop("spec.replicas", "eq", -1, across_matches="none"), True),
        (
            {
                "type": "any",
                "checks": [prop("spec.replicas", "gte", 2), prop("$.spec.replicas", "lt", 2)],
            },
            True,
        ),
        (
            {
                "type": "any",
                "checks": [
                    prop("spec.strategy.type", "eq", "Recreate"),
                    prop("spec.strategy.type", "ne", "Recreate"),
                ],
            },
            True,
        ),
        (
            {
                "type": "any",
                "checks": [prop("spec.paused", "absent"), prop("spec.paused", "exists")],
            },
            True,
        ),
        (prop("spec.suspend", "exists", kind="CronJob"), True),
        (
            {
                "type": "any",
                "checks": [
                    prop("spec.suspend", "eq", True, kind="cj"),
                    prop("spec.suspend", "eq", False, kind="CronJob"),
                ],
            },
            True,
        ),
        ({"type": "none", "checks": [prop("status.readyReplicas", "lt", 0)]}, True),
        (prop("stringData", "absent", kind="Secret"), True),
        (prop("stringData.token", "absent", kind="Secret"), True),
        (prop("metadata.namespace", "exists", kind="ConfigMap"), True),
        (prop("metadata.namespace", "exists", kind="Node"), False),
        (prop("spec.replicas", "lte", 2147483646), False),
        (prop("spec.replicas", "ne", 0), False),
        (prop("spec.suspend", "eq", False, kind="CronJob"), False),
        (prop("spec.paused", "exists"), False),
        (prop("spec.minReadySeconds", "exists"), False),
        (prop("spec.strategy.type", "matches", "R"), False),  # nothing is known about patterns
        (
            {
                "type": "any",
                "checks": [prop("spec.replicas", "gte", 3), prop("spec.replicas", "lt", 2)],
            },
            False,
        ),
        (
            {
                "type": "any",
                "checks": [
                    prop("spec.replicas", "gte", 2),
                    prop("spec.replicas", "lt", 2, resource_name="api"),
                ],
            },
            False,
        ),
        # Of several objects none may be compared, and each check may be about another one.
        (prop("spec.replicas", "gte", 0, resource_name=None, selector="app=web"), False),
        (
            {
                "type": "any",
                "checks": [
                    prop(
                        "spec.replicas",
                        op,
                        2,
                        resource_name=None,
                        selector="a",
                        across_matches="every",
                    )
                    for op in ("gte", "lt")
                ],
            },
            False,
        ),
        (
            prop(
                "spec.replicas",
                "gte",
                0,
                resource_name=None,
                selector="app=web",
                across_matches="every",
            ),
            True,
        ),
        (prop("spec.replicas", "exists", kind="Widget"), False),
        (prop("spec.replicas", "ne", "{{N}}"), False),
        (prop("spec.replicas", "gte", 0, kubeconfig="/elsewhere"), False),
        (prop("spec.replicas", "gte", 1), False),
        (prop(None, "exists"), False),
        (prop(None, "absent"), False),
        (prop("status.readyReplicas", "gte", 0), False),  # left out when it is 0
        (prop("metadata.labels", "exists"), False),
        (
            {
                "type": "all",
                "checks": [prop("metadata.name", "exists"), prop("spec.replicas", "eq", 4)],
            },
            False,
        ),
        ({"type": "any", "checks": [prop(None, "absent"), prop("spec.replicas", "eq", 4)]}, False),
    ],
)
def test_a_safeguard_that_cannot_fail(tmp_path: Path, check: JsonObject, level: bool) -> None:
    found = found_in(tmp_path, entry("x", check, "safeguard"))
    assert ("DB202" in found) is level
    assert "DB202" not in found_in(tmp_path, entry("x", check))


@pytest.mark.parametrize("path", ["stringData", "stringData.token", "$['stringData']['token']"])
def test_what_can_only_be_written_is_never_read(tmp_path: Path, path: str) -> None:
    check = prop(path, "exists", kind="secrets", resource_name="s")
    text = json.dumps({"id": "web", "verification_spec": [entry("x", check)]})
    (found,) = lint_text(text, tmp_path)
    assert (found.rule, found.level) == ("DB101", Level.ERROR)
    assert "never returns it" in found.message
    assert found.hint.startswith("read data.token" if "token" in path else "read data,")
    assert found_in(tmp_path, entry("x", prop("metadata.selfLink", "exists"))) == ["DB101"]


def test_absent_of_a_field_that_there_is_not_cannot_fail_either(tmp_path: Path) -> None:
    found = found_in(tmp_path, entry("x", prop("spec.replica", "absent"), "safeguard"))
    assert found == ["DB202", "DB101"]


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


def test_a_thousand_equal_entries_are_not_light(tmp_path: Path) -> None:
    entries = [entry(f"{i}", prop("spec.replicas", "eq", i)) for i in range(200)]
    for i, one in enumerate(entries):
        one["check"] = prop("spec.replicas", "eq", 4, resource_name=f"web-{i}")
    assert found_in(tmp_path, *entries) == []


def test_weights_of_the_other_role_do_not_count(tmp_path: Path) -> None:
    heavy = entry("a", prop("spec.replicas", "eq", 4), "safeguard", weight=1000)
    assert found_in(tmp_path, heavy, entry("b", prop("spec.replicas", "eq", 4))) == []


def test_to_wait_until_it_passes_sees_no_more(tmp_path: Path) -> None:
    one = entry("x", prop("spec.replicas", "gte", 2), "safeguard", mode="converge")
    (found,) = lint_text(json.dumps({"id": "web", "verification_spec": [one]}), tmp_path)
    assert (found.rule, found.level) == ("DB203", Level.NOTICE)
    assert "after the turn, until it passes" in found.message
    remembered = entry("x", prop("metadata.uid", "eq", "1"), "safeguard", mode="converge")
    assert found_in(tmp_path, remembered) == []


@pytest.mark.parametrize("mode", ["assert", None])
def test_a_mode_that_is_written_out_is_meant(tmp_path: Path, mode: str | None) -> None:
    one = entry("x", prop("spec.replicas", "eq", 4), "safeguard")
    one["mode"] = mode
    text = json.dumps({"id": "web", "verification_spec": [one]})
    (found,) = lint_text(text, tmp_path)
    assert (found.rule, found.level) == ("DB203", Level.NOTICE if mode else Level.WARNING)


@pytest.mark.parametrize(
    "path",
    ["metadata.uid", "metadata.generation", "status.containerStatuses[0].restartCount"],
)
def test_what_the_object_remembers_may_be_read_at_the_end(tmp_path: Path, path: str) -> None:
    check = prop(path, "ne", "1" if path.endswith("uid") else 9, kind="Pod")
    one = entry("x", check, "safeguard")
    one["mode"] = None
    assert found_in(tmp_path, one) == []


@pytest.mark.parametrize(
    ("namespace", "more", "expected"),
    [
        ("shop", {}, []),
        ("kube-system", {}, []),
        ("default", {}, []),
        ("{{NAMESPACE}}", {}, []),
        ("shpo", {}, ["DB108"]),
        ("shpo", {"may_appear": True}, []),
    ],
)
def test_namespaces(tmp_path: Path, namespace: str, more: JsonObject, expected: list[str]) -> None:
    check: JsonObject = {"type": "pod_healthy", "selector": "app=web", "namespace": namespace}
    assert with_setup(tmp_path, entry("x", check, "safeguard", **more)) == expected


def test_a_kind_without_namespaces_needs_none(tmp_path: Path) -> None:
    check = prop(None, "exists", kind="Node", namespace="nowhere")
    assert with_setup(tmp_path, entry("x", check, "safeguard")) == []


@pytest.mark.parametrize(
    ("kind", "right"),
    [
        ("apps/v1/Deployment", "write deployments.v1.apps"),
        ("apps/Deployment", "write deployments.apps"),
        ("v1/Pod", "write pods"),
        ("/v1/pods", "write pods"),
        ("networking.k8s.io/v1/NetworkPolicy", "write networkpolicies.v1.networking.k8s.io"),
        ("deployments/web", "write kind: deployments and resource_name: web"),
        ("example.com/v1/Widget", "write the kind alone"),
    ],
)
def test_a_kind_with_a_slash_is_an_error(tmp_path: Path, kind: str, right: str) -> None:
    check = prop("spec.replicas", "eq", 4, kind=kind)
    (found,) = lint_text(
        json.dumps({"id": "web", "verification_spec": [entry("x", check)]}), tmp_path
    )
    assert (found.rule, found.level) == ("DB103", Level.ERROR)
    assert found.hint.startswith(right)


def test_a_namespace_that_the_prompt_names_is_the_agents_to_make(tmp_path: Path) -> None:
    check: JsonObject = {"type": "pod_healthy", "selector": "app=web", "namespace": "web"}
    setup: JsonObject = {"objects": [SHOP]}
    for prompt, expected in (("Deploy to web.", []), ("Deploy to web-2.", ["DB108"])):
        assert found_in(tmp_path, entry("x", check), setup=setup, prompt=prompt) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("app=web", ["DB106"]),
        ("app in (web)", ["DB106"]),
        ("app=web,tier!=db", ["DB106"]),
        ("web", []),
        ("{{NAME}}", ["DB303"]),
    ],
)
def test_a_selector_in_the_name(tmp_path: Path, name: str, expected: list[str]) -> None:
    assert found_in(tmp_path, entry("x", prop(None, "exists", resource_name=name))) == expected
    check: JsonObject = {"type": "scaling_complete", "deployment": name}
    assert found_in(tmp_path, entry("x", check)) == expected


def test_the_name_of_a_role_may_hold_anything(tmp_path: Path) -> None:
    check = prop(None, "exists", kind="clusterrole", resource_name="system:a=b")
    assert found_in(tmp_path, entry("x", check)) == []


@pytest.mark.parametrize(
    ("pattern", "everything"),
    [
        (".*", True),
        ("", True),
        ("^", True),
        ("a*", True),
        ("|x", True),
        (".", True),
        ("^.+$", True),
        ("^$", False),
        ("[^x]", False),
        (r"\S", False),
        ("^nginx:", False),
        ("{{PATTERN}}", False),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, everything: bool) -> None:
    path = "spec.template.spec.containers[0].image"
    check = prop(path, "matches", pattern)
    found = found_in(tmp_path, entry("x", check))
    assert ("DB105" in found) is everything


def test_patterns_in_filters(tmp_path: Path) -> None:
    check = prop("spec.template.spec.containers[?(@.name =~ '.*' && @.image)].image", "exists")
    assert found_in(tmp_path, entry("x", check)) == ["DB105"]


def test_types_in_filters(tmp_path: Path) -> None:
    check = prop("status.conditions[?(@.status == true)].type", "exists")
    assert found_in(tmp_path, entry("x", check)) == ["DB102"]


def test_the_oracles_script_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "solve.sh").write_text("#!/bin/sh\nkubectl rollout undo deployment/web\n")
    controls: JsonObject = {"oracle": {"script": "solve.sh"}}
    check = prop("spec.replicas", "eq", 4)
    for prompt, expected in (
        ("Run kubectl rollout   undo deployment/web.", ["DB301"]),
        ("Undo the rollout of web.", []),
    ):
        found = found_in(tmp_path, entry("x", check), controls=controls, prompt=prompt)
        assert found == expected


EXAMPLES = [example.spec for rule in all_rules() for example in (rule.fires, rule.near_miss)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.just("{{X}}"),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)


def mutated(value: JsonValue, data: st.DataObject) -> JsonValue:
    """Replace one value somewhere below."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: mutated(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        index = data.draw(st.integers(0, len(value) - 1))
        return [mutated(one, data) if i == index else one for i, one in enumerate(value)]
    return data.draw(JSON)


@settings(max_examples=150)
@given(st.sampled_from(EXAMPLES), st.data())
def test_no_spec_makes_a_rule_fall_over(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    document, _ = parse(text)
    value = mutated(document.value if document is not None else {}, data)
    file = tmp_path_factory.getbasetemp() / "mutated.yaml"
    file.write_text(json.dumps(value))
    found = lint_paths([file], LintOptions())
    assert all(one.rule and one.message for one in found.diagnostics)
