"""What entries can come to: on the setup's objects, and by all that is known of a kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonObject, JsonValue
from tests.unit.lint.helpers import (
    SHOP,
    entry,
    found_in,
    lint_text,
    prop,
    with_setup,
)


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


STORAGE: JsonObject = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "x.example.com",
}
IN_SYSTEM: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "agent", "namespace": "kube-system", "labels": {"app": "agent"}},
    "spec": {"replicas": 1},
}
WIDGETS: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}
OTHER_OBJECTS: list[JsonValue] = [SHOP, STORAGE, IN_SYSTEM, WIDGETS]


def gone(kind: str, **more: JsonValue) -> JsonObject:
    return prop(None, "absent", kind=kind, **more)


@pytest.mark.parametrize(
    "check",
    [
        gone("Deployment", namespace="kube-system", resource_name="coredns"),
        gone(
            "Deployment", namespace="kube-system", resource_name=None, selector="k8s-app=kube-dns"
        ),
        gone("DaemonSet", namespace="kube-system", resource_name="kube-proxy"),
        gone("PodDisruptionBudget", namespace="kube-public"),
        gone("NetworkPolicy", namespace="monitoring"),
        gone("StorageClass", resource_name="standard"),
        *(
            gone(kind, resource_name="x")
            for kind in ("IngressClass", "CSIDriver", "RuntimeClass", "CustomResourceDefinition")
        ),
        gone("ValidatingWebhookConfiguration", resource_name="x"),
        gone("Service", namespace="default", resource_name="kubernetes"),
        gone("Deployment", namespace="default", resource_name="x"),  # nothing of the setup is there
        {
            "type": "none",
            "checks": [prop(None, "exists", kind="StorageClass", resource_name="standard")],
        },
        # Of several those that the cluster brings are judged, too.
        prop(
            "provisioner",
            "ne",
            "y",
            kind="StorageClass",
            resource_name=None,
            across_matches="every",
        ),
        prop(
            "spec.replicas",
            "eq",
            1,
            namespace="kube-system",
            resource_name=None,
            across_matches="every",
        ),
    ],
)
@pytest.mark.parametrize("role", ["objective", "safeguard"])
def test_what_a_cluster_brings_by_itself_is_not_decided_by_the_setup(
    tmp_path: Path, check: JsonObject, role: str
) -> None:
    setup: JsonObject = {"objects": OTHER_OBJECTS}
    found = found_in(
        tmp_path, entry("x", check, role), entry("y", {"type": "none", "checks": [check]}, role),
        setup=setup,
    )  # fmt: skip
    assert not {"DB201", "DB209"} & set(found)


@pytest.mark.parametrize(
    "check",
    [
        gone("Deployment", resource_name="x"),
        gone("NetworkPolicy", resource_name=None),
        gone("Widget", resource_name="x"),
        gone("Widget", resource_name=None),
        prop("provisioner", "eq", "x.example.com", kind="StorageClass", resource_name="fast"),
        prop("spec.replicas", "eq", 1, namespace="kube-system", resource_name="agent"),
    ],
)
def test_what_only_the_setup_makes_is_still_decided(tmp_path: Path, check: JsonObject) -> None:
    setup: JsonObject = {"objects": OTHER_OBJECTS}
    assert "DB201" in found_in(tmp_path, entry("x", check), setup=setup)


def test_default_is_the_setups_where_its_objects_are(tmp_path: Path) -> None:
    check = gone("NetworkPolicy", namespace="default", resource_name=None)
    objects: list[JsonValue] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {}}
    ]
    assert found_in(tmp_path, entry("x", check), setup={"objects": objects}) == ["DB201"]
    assert found_in(tmp_path, entry("x", check), setup={"objects": [STORAGE]}) == []
