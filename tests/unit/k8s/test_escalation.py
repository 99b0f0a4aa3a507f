from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.k8s.escalation import DANGERS, escalations
from devops_bench.k8s.rbac import POD_MAKERS, Grant, PolicyRule, makes_pods, role_objects

WORDS = st.sampled_from(
    [
        "*",
        "get",
        "create",
        "patch",
        "impersonate",
        "impersonate-on:user-info:list",
        "bind",
        "delete",
    ]
)
GROUPS = st.sampled_from(["*", "", "apps", "rbac.authorization.k8s.io", "shop.example.com"])
RESOURCES = st.sampled_from(
    ["*", "pods", "secrets", "roles", "*/token", "serviceaccounts", "nodes/proxy"]
)
RULES = st.builds(
    PolicyRule,
    st.lists(GROUPS, min_size=1, max_size=2).map(tuple),
    st.lists(RESOURCES, min_size=1, max_size=3).map(tuple),
    st.lists(WORDS, min_size=1, max_size=3).map(tuple),
)
PLACES = st.sampled_from([(), ("a",), ("a", "kube-system")])


@given(RULES, PLACES)
def test_no_danger_is_passed_over(rule: PolicyRule, places: tuple[str, ...]) -> None:
    found = list(escalations(rule, places))
    for danger in DANGERS:
        if danger.scope == "anywhere" and any(
            rule.allows(danger.group, danger.resource, verb) for verb in danger.verbs
        ):
            assert found


@given(RULES, PLACES, st.text("abc:-", max_size=8))
def test_no_verb_that_impersonates_is_passed_over(
    rule: PolicyRule, places: tuple[str, ...], rest: str
) -> None:
    verbs = (*rule.verbs, f"impersonate{rest}")
    assert list(escalations(PolicyRule(rule.api_groups, rule.resources, verbs), places))


@given(RULES, st.sampled_from(["kube-system", "kube-flannel", "devops-bench-1"]))
def test_only_reading_may_be_granted_where_the_cluster_lives(rule: PolicyRule, place: str) -> None:
    if place.startswith("devops-bench") or not set(rule.verbs) <= {"get", "list", "watch"}:
        assert list(escalations(rule, (place,)))


@given(RULES, RULES, PLACES)
def test_more_rights_never_escalate_less(
    rule: PolicyRule, other: PolicyRule, places: tuple[str, ...]
) -> None:
    wider = PolicyRule(
        rule.api_groups + other.api_groups,
        rule.resources + other.resources,
        rule.verbs + other.verbs,
    )
    if list(escalations(rule, places)):
        assert list(escalations(wider, places))


@given(RULES)
def test_everything_is_more_than_anything(rule: PolicyRule) -> None:
    assert list(escalations(PolicyRule(("*",), ("*",), ("*",)), ()))
    everything = PolicyRule(("*",), ("*",), ("*",))
    for group in ("", "apps"):
        for resource in ("pods", "pods/log"):
            for verb in ("get", "create"):
                if rule.allows(group, resource, verb):
                    assert everything.allows(group, resource, verb)


def test_a_subresource_is_not_its_resource() -> None:
    rule = PolicyRule(("apps",), ("deployments",), ("get",))
    assert rule.allows("apps", "deployments", "get")
    assert not rule.allows("apps", "deployments/scale", "get")
    assert PolicyRule(("apps",), ("*/scale",), ("get",)).allows("apps", "deployments/scale", "get")
    assert not PolicyRule(("apps",), ("*/scale",), ("get",)).allows("apps", "deployments", "get")


def test_whoever_writes_what_pods_come_from_makes_pods() -> None:
    for group, resource in POD_MAKERS:
        assert makes_pods([PolicyRule((group,), (resource,), ("patch",))])
        assert not makes_pods([PolicyRule((group,), (resource,), ("get", "list", "delete"))])


def test_roles_are_made_per_namespace_and_bound_to_the_one_account() -> None:
    rule = PolicyRule(("",), ("pods",), ("get",), ("web",))
    objects = role_objects(
        "r", [Grant((rule,), ("a", "b")), Grant((rule,)), Grant((rule,), ("a",))], "h", "agent"
    )
    assert [str(item["kind"]) for item in objects] == [
        *("Role", "RoleBinding") * 2,
        *("ClusterRole", "ClusterRoleBinding"),
    ]
    assert objects[0]["rules"] == [rule.as_json(), rule.as_json()]
    for binding in objects[1::2]:
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": "agent", "namespace": "h"}
        ]
