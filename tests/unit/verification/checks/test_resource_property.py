from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from devops_bench.core.json import JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import ResourceQuery, UnknownKind, Unreadable
from devops_bench.verification.base import CheckNode
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.combinators import NoneOf, judge
from devops_bench.verification.result import VerificationResult
from tests.unit.verification.helpers import kube_object, view_of, view_with


def _check(**fields: Any) -> ResourceProperty:
    return ResourceProperty.model_validate({"kind": "Deployment", "namespace": "shop", **fields})


def _judge(check: ResourceProperty, *objects: KubeObject) -> VerificationResult:
    return check.judge(view_of(check, *objects))


def _negated(check: ResourceProperty, *objects: KubeObject) -> VerificationResult:
    node: CheckNode = NoneOf(checks=(check,))
    return judge(node, view_of(check, *objects))


def _deployment(name: str = "web", **spec: JsonValue) -> KubeObject:
    return kube_object(name=name, spec=dict(spec))


def _with_containers(*containers: JsonValue, name: str = "web") -> KubeObject:
    return _deployment(name, containers=list(containers))


def test_the_reason_says_what_was_compared() -> None:
    check = _check(resource_name="web", path="spec.replicas", op="gte", value=4)
    failed = _judge(check, _deployment(replicas=2))
    assert failed.status == "fail"
    assert failed.reason == "spec.replicas is 2, not gte 4 (Deployment web in namespace shop)"
    passed = _judge(check, _deployment(replicas=4))
    assert passed.success
    assert passed.reason == (
        "spec.replicas is 4, which is gte 4 (Deployment web in namespace shop)"
    )


@pytest.mark.parametrize(
    ("op", "value", "said"),
    [
        ("matches", "^ng", 'is "nginx:1", which matches "^ng"'),
        ("matches", "^x", 'is "nginx:1", which does not match "^x"'),
        ("contains", "nginx", 'is "nginx:1", which contains "nginx"'),
        ("contains", "httpd", 'is "nginx:1", which does not contain "httpd"'),
        ("eq", "nginx:1", 'is "nginx:1", which is eq "nginx:1"'),
        ("eq", "httpd", 'is "nginx:1", not eq "httpd"'),
        ("ne", "httpd", 'is "nginx:1", which is ne "httpd"'),
    ],
)
def test_the_reason_is_a_sentence_with_every_op(op: str, value: str, said: str) -> None:
    result = _judge(_check(path="spec.image", op=op, value=value), _deployment(image="nginx:1"))
    assert result.reason.startswith(f"spec.image {said} (")


@pytest.mark.parametrize(
    ("op", "value", "said"),
    [
        ("matches", "^ng", 'so it does not match "^ng"'),
        ("contains", "ng", 'so it does not contain "ng"'),
        ("gte", 4, "so it is not gte 4"),
    ],
)
def test_the_reason_is_a_sentence_without_a_value(op: str, value: JsonValue, said: str) -> None:
    result = _judge(_check(path="spec.image", op=op, value=value), _deployment())
    assert f"spec.image has no value, {said} (" in result.reason


_OPS: list[dict[str, Any]] = [
    {"op": op, "value": 4, "path": "spec.replicas"} for op in ("eq", "ne", "gt", "gte", "lt", "lte")
] + [
    {"op": "contains", "value": "4", "path": "spec.replicas"},
    {"op": "matches", "value": "4", "path": "spec.replicas"},
    {"op": "exists", "path": "spec.replicas"},
    {"op": "absent", "path": "spec.replicas"},
    {"op": "exists"},
    {"op": "exists", "path": "spec.replicas", "across_matches": "none"},
    {"op": "eq", "value": 4, "path": "spec.replicas", "across_matches": "none"},
    {"op": "eq", "value": 4, "path": "spec.replicas", "across_matches": "every"},
]


@pytest.mark.parametrize("fields", _OPS, ids=str)
def test_no_object_fails_every_op_but_a_pathless_absent(fields: dict[str, Any]) -> None:
    result = _judge(_check(resource_name="web", **fields))
    assert result.status == "fail"
    assert not result.undecided
    assert "there is no Deployment web in namespace shop" in result.reason


def test_a_pathless_absent_passes_on_no_object_alone() -> None:
    check = _check(resource_name="web", op="absent")
    assert _judge(check).success
    assert not _judge(check, _deployment()).success


def test_a_pathless_exists_passes_on_one_object_or_more() -> None:
    check = _check(op="exists")
    assert _judge(check, _deployment()).success
    assert _judge(check, _deployment(), _deployment("api")).success


def test_absent_with_a_path_needs_an_object_and_no_value_in_any() -> None:
    check = _check(op="absent", path="spec.paused")
    assert _judge(check, _deployment(), _deployment("api")).success
    assert not _judge(check, _deployment(), _deployment("api", paused=False)).success


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "contains", "matches"])
def test_an_object_without_the_field_fails_every_comparison(op: str) -> None:
    result = _judge(_check(path="spec.paused", op=op, value="1"), _deployment())
    assert result.status == "fail"
    assert "spec.paused has no value" in result.reason


@pytest.mark.parametrize(
    "objects",
    [
        (_deployment(replicas=4), _deployment("api", replicas=4)),
        (_deployment(replicas=4), _deployment("api")),
    ],
)
def test_a_comparison_of_several_is_undecided_without_across_matches(
    objects: tuple[KubeObject, ...],
) -> None:
    check = _check(path="spec.replicas", op="eq", value=4)
    result = _judge(check, *objects)
    assert (result.status, result.undecided) == ("fail", True)
    assert "across_matches: every or none" in result.reason
    assert not _negated(check, *objects).success


_A: JsonValue = {"name": "a", "limits": {"cpu": "1"}}
_B: JsonValue = {"name": "b", "limits": {"cpu": "2"}}
_BARE: JsonValue = {"name": "c"}


@pytest.mark.parametrize(
    ("across", "value", "containers", "passes"),
    [
        ("every", "1", [_A, _A], True),
        ("every", "1", [_A, _B], False),
        ("every", "1", [_A, _BARE], False),
        ("every", "1", [], False),
        ("none", "3", [_A, _B], True),
        ("none", "2", [_A, _B], False),
        ("none", "1", [_BARE], True),
        ("none", "1", [], True),
    ],
)
def test_across_matches_judges_each_element(
    across: str, value: str, containers: list[JsonValue], passes: bool
) -> None:
    check = _check(
        path="spec.containers[*].limits.cpu", op="eq", value=value, across_matches=across
    )
    result = _judge(check, _with_containers(*containers))
    assert result.success is passes
    assert not result.undecided


def test_each_object_that_contributes_nothing_is_an_element_without_the_field() -> None:
    fields = {"path": "spec.containers[?(@.name=='a')].limits.cpu", "op": "eq", "value": "1"}
    objects = (_with_containers(_A), _with_containers(_B, name="api"))
    assert not _judge(_check(**fields, across_matches="every"), *objects).success
    only_b = _with_containers(_B, name="api")
    assert _judge(_check(**fields, across_matches="none"), only_b).success


def test_exists_across_every_and_none() -> None:
    path = "spec.containers[*].limits"
    every, none = (
        _check(path=path, op="exists", across_matches=across) for across in ("every", "none")
    )
    assert _judge(every, _with_containers(_A, _B)).success
    assert not _judge(every, _with_containers(_A, _BARE)).success
    assert _judge(none, _with_containers(_BARE)).success
    assert not _judge(none, _with_containers(_A, _BARE)).success


def test_a_failure_across_matches_names_the_object_that_broke_it() -> None:
    check = _check(path="spec.replicas", op="gte", value=2, across_matches="every")
    result = _judge(check, _deployment(replicas=3), _deployment("api", replicas=1))
    assert "spec.replicas is 1, not gte 2 (Deployment api in namespace shop)" in result.reason


def test_a_type_that_does_not_compare_is_undecided_and_no_negation_passes() -> None:
    for fields in (
        {"path": "spec.replicas", "op": "gt", "value": 1},
        {"path": "spec.replicas", "op": "gt", "value": 1, "across_matches": "none"},
        {"path": "spec.replicas", "op": "gt", "value": 1, "across_matches": "every"},
        {"path": "spec.items[?(@.x > 1)].y", "op": "absent"},
        {"path": "spec.items[?(@.x > 1)].y", "op": "exists", "across_matches": "none"},
    ):
        odd = _deployment(replicas="many", items=[{"x": "many", "y": 1}])
        result = _judge(_check(**fields), odd)
        assert (result.status, result.undecided) == ("fail", True), fields
        assert _negated(_check(**fields), odd).status == "fail", fields


def test_one_decided_violation_decides_across_matches() -> None:
    check = _check(path="spec.replicas", op="gt", value=1, across_matches="every")
    result = _judge(check, _deployment(replicas="many"), _deployment("api", replicas=1))
    assert (result.status, result.undecided) == ("fail", False)


@pytest.mark.parametrize(
    ("fields", "status", "undecided"),
    [
        ({"op": "exists"}, "fail", True),
        ({"op": "eq", "path": "spec.x", "value": 1}, "fail", True),
        ({"op": "absent", "path": "spec.x"}, "fail", True),
        ({"op": "absent"}, "error", False),
    ],
)
def test_a_kind_the_server_does_not_know_never_passes(
    fields: dict[str, Any], status: str, undecided: bool
) -> None:
    check = _check(**fields)
    view = view_with(check, UnknownKind("the server has no kind Widget"))
    result = check.judge(view)
    assert (result.status, result.undecided) == (status, undecided)
    assert "Widget" in result.reason
    assert not judge(NoneOf(checks=(check,)), view).success


@pytest.mark.parametrize("op", ["exists", "absent"])
def test_what_could_not_be_read_is_an_error(op: str) -> None:
    check = _check(op=op)
    assert check.judge(view_with(check, Unreadable("forbidden"))).status == "error"


def test_a_status_behind_its_generation_is_stale() -> None:
    behind = kube_object(
        metadata={"generation": 2}, status={"observedGeneration": 1, "readyReplicas": 4}
    )
    of_status = _check(path="status.readyReplicas", op="eq", value=4)
    assert _judge(of_status, behind).stale
    assert _judge(of_status, behind).success
    assert not _judge(_check(path="spec.replicas", op="exists"), behind).stale
    assert _judge(_check(path="$..readyReplicas", op="exists"), behind).stale


def test_a_status_that_nobody_wrote_is_stale_and_so_is_its_negation() -> None:
    fresh = kube_object(apiVersion="apps/v1", metadata={"generation": 1}, status={})
    absent = _check(path="status.unavailableReplicas", op="absent")
    assert _judge(absent, fresh).stale
    unavailable = _check(
        path='status.conditions[?(@.type == "Available")].status', op="eq", value="False"
    )
    negated = _negated(unavailable, fresh)
    assert negated.success
    assert negated.stale


@pytest.mark.parametrize("kind", ["Secret", "secrets", "secrets.v1."])
@pytest.mark.parametrize("value", ["aHVudGVyMg==", "b3RoZXI="])
def test_nothing_of_a_secret_is_shown(kind: str, value: str) -> None:
    secret = kube_object("Secret", "db", data={"password": "aHVudGVyMg=="})
    for fields in (
        {"op": "eq", "value": value},
        {"op": "matches", "value": f"^{value}$"},
        {"op": "exists"},
        {"op": "eq", "value": value, "across_matches": "none"},
    ):
        check = _check(kind=kind, path="data.password", **fields)
        assert "aHVudGVyMg" not in _judge(check, secret).model_dump_json()


def test_a_long_value_is_shown_in_part() -> None:
    check = _check(path="spec.text", op="eq", value="x")
    assert len(_judge(check, _deployment(text="a" * 100_000)).model_dump_json()) < 1000


@pytest.mark.parametrize(
    ("fields", "place", "message"),
    [
        ({"op": "exists", "resource_name": "a", "selector": "b=c"}, "selector", "both given"),
        ({"op": "eq", "path": "spec.x"}, "value", "required"),
        ({"op": "eq", "path": "spec.x", "value": None}, "value", "op: absent"),
        ({"op": "eq", "value": 4}, "path", "required"),
        ({"op": "exists", "value": 4}, "value", "of no use"),
        ({"op": "gt", "path": "spec.x", "value": "abc"}, "value", "not a quantity"),
        ({"op": "gt", "path": "spec.x", "value": True}, "value", "a boolean"),
        ({"op": "gt", "path": "spec.x", "value": [1]}, "value", "a list"),
        ({"op": "matches", "path": "spec.x", "value": "(?=a)"}, "value", "look-around"),
        ({"op": "matches", "path": "spec.x", "value": 4}, "value", "in quotes"),
        ({"op": "contains", "path": "spec.x", "value": {}}, "value", "a map"),
        ({"op": "absent", "across_matches": "every"}, "across_matches", "op: absent"),
        ({"op": "absent", "path": "spec.x", "across_matches": "none"}, "across_matches", "absent"),
        ({"op": "exists", "across_matches": "every"}, "across_matches", "without a path"),
        ({"op": "exists", "path": "{.spec.x}"}, "path", "write it without braces: spec.x"),
        ({"op": "exists", "selector": "a in"}, "selector", "not a label selector"),
        ({"op": "exists", "selector": ""}, "selector", "at least 1 character"),
        ({"op": "exists", "kind": ""}, "kind", "at least 1 character"),
        ({"op": "greater", "path": "spec.x", "value": 1}, "op", "'gt'"),
    ],
)
def test_what_is_refused_when_it_is_loaded(
    fields: dict[str, Any], place: str, message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        _check(**fields)
    assert place in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "exists", "resource_name": "{{APP}}"},
        {"op": "exists", "selector": "app={{APP}}"},
        {"op": "absent", "path": "spec.{{FIELD}}"},
        {"op": "gt", "path": "spec.x", "value": "{{LIMIT}}"},
        {"op": "absent", "namespace": "{{NAMESPACE}}"},
    ],
)
def test_a_variable_without_a_value_loads_and_is_never_judged(fields: dict[str, Any]) -> None:
    check = _check(**fields)
    assert _judge(check, _deployment()).status == "error"
    assert _judge(check).status == "error"


def test_braces_that_are_meant_literally_are_judged() -> None:
    check = _check(path="spec.text", op="contains", value="{{NAME}}")
    assert _judge(check, _deployment(text="a {{NAME}} b")).success


def test_it_reads_what_it_selects() -> None:
    assert _check(op="exists", selector="a=b").queries() == (
        ResourceQuery("Deployment", "shop", None, "a=b"),
    )
    default = ResourceProperty.model_validate({"kind": "pod", "op": "exists"})
    assert default.queries() == (ResourceQuery("pod", "default"),)


_ELEMENTS = st.lists(st.sampled_from(["1", "2", None, "many", True]), max_size=4)


@given(_ELEMENTS, st.sampled_from(["eq", "gt", "lte", "ne"]))
def test_every_and_none_never_both_pass_on_something(values: list[JsonValue], op: str) -> None:
    obj = _deployment(items=[{"v": v} if v is not None else {} for v in values])
    results = [
        _judge(_check(path="spec.items[*].v", op=op, value="1", across_matches=across), obj)
        for across in ("every", "none")
    ]
    assert not all(result.success for result in results)


def _issuer(name: str, namespace: str = "") -> KubeObject:
    metadata: dict[str, JsonValue] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return KubeObject({"kind": "ClusterIssuer", "metadata": metadata, "spec": {"n": 1}})


def test_a_custom_kind_that_may_have_no_namespace_is_not_placed_into_the_default_one() -> None:
    fields = {"kind": "ClusterIssuer", "resource_name": "ca", "path": "spec.n", "op": "exists"}
    check = ResourceProperty.model_validate(fields)
    assert _judge(check).reason == "there is no ClusterIssuer ca"
    chosen = ResourceProperty.model_validate({**fields, "namespace": "shop"})
    assert _judge(chosen).reason == "there is no ClusterIssuer ca in namespace shop"


@pytest.mark.parametrize(
    ("namespace", "said"),
    [("", "2 objects of ClusterIssuer"), ("shop", "2 objects of ClusterIssuer in namespace shop")],
)
def test_objects_that_have_no_namespace_are_not_told_with_one(namespace: str, said: str) -> None:
    check = _check(kind="ClusterIssuer", path="spec.n", op="eq", value=1, across_matches="every")
    result = _judge(check, _issuer("a", namespace), _issuer("b", namespace))
    assert result.success
    assert result.reason.endswith(f"({said})")


def test_what_is_there_is_told_without_a_namespace_that_it_has_not() -> None:
    named = _check(kind="ClusterIssuer", resource_name="a", op="absent")
    assert _judge(named, _issuer("a")).reason == "there is ClusterIssuer a"
    several = _check(kind="ClusterIssuer", op="absent")
    assert _judge(several, _issuer("a")).reason == "there is ClusterIssuer a"
    two = _judge(several, _issuer("a"), _issuer("b"))
    assert two.reason == "there are 2 objects of ClusterIssuer: a, b"
