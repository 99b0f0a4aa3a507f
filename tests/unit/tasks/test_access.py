from __future__ import annotations

import pytest

from devops_bench.k8s.escalation import escalations
from devops_bench.k8s.rbac import makes_pods
from devops_bench.tasks.access import presets
from tests.unit.tasks.helpers import TASK, good, lines, load

SETUP = """
setup:
  objects:
    - {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: store}}
"""


def messages(text: str) -> list[str]:
    return [f"{one.path}: {one.message}" for one in load(TASK + text).diagnostics]


def test_a_task_need_not_say_it() -> None:
    assert good(TASK).access is None


def test_a_preset_holds_in_the_namespaces_of_the_setup() -> None:
    access = good(f"{TASK}{SETUP}access: {{preset: edit}}\n").access
    assert access is not None
    cluster, inside = access.grants
    assert (access.preset, cluster.namespaces) == ("edit", ())
    assert inside.namespaces == ("shop", "store")
    assert inside.allows("apps", "deployments", "patch")
    assert not cluster.allows("apps", "deployments", "get")


def test_namespaces_that_are_named_go_before_those_of_the_setup() -> None:
    access = good(f"{TASK}{SETUP}access: {{preset: view, namespaces: [other]}}\n").access
    assert access is not None
    assert access.grants[1].namespaces == ("other",)


def test_rules_of_ones_own() -> None:
    text = """
access:
  rules:
    - {apiGroups: [apps], resources: [deployments/scale], verbs: [patch], namespaces: [shop]}
    - {resources: [nodes], verbs: [get], cluster: true}
    - {resources: [secrets], resourceNames: [db], verbs: [get, patch], namespaces: [shop]}
"""
    access = good(TASK + text).access
    assert access is not None
    scale, nodes, secret = access.grants
    assert scale.allows("apps", "deployments/scale", "patch")
    assert not scale.allows("apps", "deployments", "patch")
    assert (nodes.namespaces, nodes.allows("", "nodes", "get")) == ((), True)
    assert secret.rules[0].as_json()["resourceNames"] == ["db"]


@pytest.mark.parametrize("name", ["view", "edit", "admin"])
def test_no_rule_of_a_preset_escalates(name: str) -> None:
    cluster, inside = presets()[name]
    assert [why for rule in cluster.rules for why in escalations(rule, ())] == []
    assert [why for rule in inside.rules for why in escalations(rule, ("shop",))] == []
    for verb in ("impersonate", "create"):
        assert not inside.allows("", "serviceaccounts/token", verb)
        assert not inside.allows("rbac.authorization.k8s.io", "rolebindings", verb)
        assert not inside.allows("", "secrets", verb)
    assert not inside.allows("", "serviceaccounts", "impersonate")
    assert not inside.allows("", "secrets", "get")
    assert makes_pods(inside.rules) == (name != "view")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("{resources: [serviceaccounts], verbs: [impersonate], namespaces: [a]}", "somebody else"),
        ("{resources: [serviceaccounts], verbs: ['*'], namespaces: [a]}", "somebody else"),
        ("{resources: [serviceaccounts/token], verbs: [create], namespaces: [a]}", "mint tokens"),
        ("{resources: ['*/token'], verbs: [create], namespaces: [a]}", "mint tokens"),
        ("{resources: ['*'], verbs: [create], namespaces: [a]}", "mint tokens"),
        ("{resources: [secrets], verbs: [create], namespaces: [a]}", "token of any account"),
        (
            "{resources: [secrets], resourceNames: [db], verbs: [create], namespaces: [a]}",
            "token of any account",
        ),
        (
            "{resources: [secrets], resourceNames: [db], verbs: ['*'], namespaces: [a]}",
            "token of any account",
        ),
        ("{resources: [secrets], verbs: [list], cluster: true}", "credentials"),
        ("{resources: [secrets], verbs: [get], namespaces: [kube-system]}", "credentials"),
        (
            "{apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create],"
            " namespaces: [a]}",
            "what accounts may do",
        ),
        (
            "{apiGroups: ['*'], resources: [clusterroles], verbs: [escalate], cluster: true}",
            "what accounts may do",
        ),
        ("{resources: [nodes/proxy], verbs: [get], cluster: true}", "run commands"),
        ("{resources: [namespaces], verbs: [patch], cluster: true}", "Pod Security"),
        ("{resources: [namespaces], verbs: [patch], namespaces: [a]}", "Pod Security"),
        ("{resources: [persistentvolumes], verbs: [create], cluster: true}", "host folders"),
        ("{resources: [configmaps], verbs: [update], cluster: true}", "whole cluster"),
        (
            "{apiGroups: [apps], resources: [deployments], verbs: [patch],"
            " namespaces: [kube-system]}",
            "own accounts",
        ),
        (
            "{apiGroups: [apiregistration.k8s.io], resources: [apiservices], verbs: [update],"
            " cluster: true}",
            "answer for the server",
        ),
        (
            "{apiGroups: [admissionregistration.k8s.io], verbs: [create],"
            " resources: [mutatingwebhookconfigurations], cluster: true}",
            "requests of everybody",
        ),
        (
            "{apiGroups: [certificates.k8s.io], verbs: [update],"
            " resources: [certificatesigningrequests/approval], cluster: true}",
            "client certificates",
        ),
        (
            "{apiGroups: [authentication.k8s.io], verbs: [impersonate],"
            " resources: [userextras/scopes], cluster: true}",
            "somebody else",
        ),
        (
            "{apiGroups: [authentication.k8s.io], resources: [serviceaccounts],"
            " verbs: ['impersonate:serviceaccount'], namespaces: [a]}",
            "somebody else",
        ),
        (
            "{apiGroups: [authentication.k8s.io], resources: [users],"
            " verbs: ['impersonate:user-info'], cluster: true}",
            "somebody else",
        ),
        (
            "{resources: [pods], verbs: ['impersonate-on:user-info:list'], namespaces: [a]}",
            "somebody else",
        ),
        (
            "{apiGroups: [authentication.k8s.io], resources: [nodes], verbs: ['*'], cluster: true}",
            "somebody else",
        ),
        ("{resources: [namespaces], verbs: [delete], cluster: true}", "harness's own"),
        (
            "{resources: [namespaces], verbs: [delete], resourceNames: [devops-bench-1],"
            " cluster: true}",
            "harness's own",
        ),
        ("{resources: [namespaces/status], verbs: [patch], cluster: true}", "harness's own"),
        ("{resources: [configmaps], verbs: [update], namespaces: [kube-system]}", "works by"),
        ("{resources: [pods], verbs: [delete], namespaces: [kube-flannel]}", "works by"),
        ("{resources: [configmaps], verbs: [patch], namespaces: [kube-public]}", "works by"),
        (
            "{apiGroups: [coordination.k8s.io], resources: [leases], verbs: ['*'],"
            " namespaces: [kube-system]}",
            "works by",
        ),
        ("{resources: [services/proxy], verbs: [get], namespaces: [kube-system]}", "own accounts"),
        *(
            (f"{{resources: [{name}], verbs: [{verb}], cluster: true}}", "enter pods")
            for name in ("pods/exec", "pods/attach", "pods/portforward", "pods/proxy")
            for verb in ("get", "create")
        ),
        ("{resources: [services/proxy], verbs: [get], cluster: true}", "enter pods"),
        (
            "{apiGroups: [certificates.k8s.io], resources: [podcertificaterequests],"
            " verbs: [create], namespaces: [a]}",
            "client certificates",
        ),
        (
            "{apiGroups: [certificates.k8s.io], resources: [clustertrustbundles],"
            " verbs: [create], cluster: true}",
            "pods trust",
        ),
    ],
)
def test_a_rule_that_escalates_is_an_error_at_its_place(rule: str, why: str) -> None:
    result = load(f"{TASK}access:\n  rules:\n    - {rule}\n")
    (found,) = result.diagnostics
    assert result.task is None
    assert found.path == "access.rules[0]"
    assert (found.line, found.column) == (9, 7)
    assert found.message.startswith("this rule escalates: ")
    assert why in found.message


@pytest.mark.parametrize(
    "rule",
    [
        "{resources: [secrets], verbs: [get, list, watch, patch, delete], namespaces: [a]}",
        "{resources: [secrets], verbs: [get, patch], resourceNames: [db], namespaces: [a]}",
        "{resources: [pods, configmaps], verbs: ['*'], namespaces: [a]}",
        "{resources: [pods], verbs: [get, list], cluster: true}",
        "{resources: [nodes], verbs: [patch], cluster: true}",
        "{apiGroups: [apps], resources: ['*'], verbs: ['*'], namespaces: [a]}",
        "{apiGroups: [shop.example.com], resources: [carts], verbs: ['*'], cluster: true}",
        "{resources: [pods], verbs: [get], namespaces: [kube-system]}",
        "{resources: [namespaces], verbs: [delete], namespaces: [a]}",
        "{resources: [namespaces], verbs: [delete], resourceNames: [shop], cluster: true}",
        "{resources: [pods/exec], verbs: [get, create], namespaces: [a]}",
    ],
)
def test_what_does_not_escalate_may_be_granted(rule: str) -> None:
    assert messages(f"access:\n  rules:\n    - {rule}\n") == []


def test_what_is_wrong_is_said() -> None:
    assert messages(f"{SETUP}access: {{preset: edti}}\n") == [
        "access.preset: there is no preset 'edti'"
    ]
    assert "where the preset view holds is not said" in messages("access: {preset: view}\n")[0]
    assert "it grants nothing" in messages("access: {}\n")[0]
    assert (
        "'Shop' cannot be the name" in messages("access: {preset: view, namespaces: [Shop]}\n")[0]
    )
    assert (
        "the preset edit escalates here"
        in messages("access: {preset: edit, namespaces: [kube-system]}\n")[0]
    )
    assert "verbs is missing" in " ".join(
        messages("access: {rules: [{resources: [pods], namespaces: [a]}]}\n")
    )
    assert "a list is needed here" in " ".join(
        messages("access: {preset: view, namespaces: shop}\n")
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("access:", "access: it has no value"),
        ("access: ~", "access: it has no value"),
        ("access: {preset: view, namespaces: }", "access.namespaces: namespaces has no value"),
        (
            "access: {rules: [{resources: [configmaps], verbs: [get], namespaces: [a],"
            " resourceNames: }]}",
            "access.rules[0].resourceNames: resourceNames has no value",
        ),
        ("access: {rules: [~]}", "access.rules[0]: a mapping is needed here"),
    ],
)
def test_a_key_without_a_value_never_grants_more(text: str, said: str) -> None:
    assert load(f"{TASK}{SETUP}{text}\n").task is None
    assert [one for one in messages(f"{SETUP}{text}\n") if one.startswith(said)]


def test_an_unknown_key_of_a_rule_is_told_from_the_keys_of_rules() -> None:
    rule = "{resource: [pods], resources: [pods], verbs: [get], namespaces: [a]}"
    (found,) = load(f"{TASK}access: {{rules: [{rule}]}}\n").diagnostics
    assert found.message == "unknown key 'resource'"
    assert found.hint == "did you mean 'resources'?"


def test_lint_says_nothing_about_a_namespace_that_is_an_unset_variable() -> None:
    text = f'{TASK}access: {{preset: edit, namespaces: ["{{{{NS}}}}"]}}\n'
    assert lines(load(text, mode="lint")) == []
