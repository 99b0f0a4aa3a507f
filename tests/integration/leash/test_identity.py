"""The agent can do what its task grants and nothing else, and nothing of that is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.core.errors import SetupError
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.selfcheck import SelfCheck
from devops_bench.k8s.client import ApiClient, load_connection
from devops_bench.k8s.identity import Identity, write_token_kubeconfig
from devops_bench.k8s.rbac import Grant, PolicyRule
from devops_bench.tasks.model import Access
from tests.integration.harness import Plane, deployment
from tests.integration.leash.yard import Hands, Yard, preset


def pod(name: str, **spec: object) -> JsonObject:
    body = {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}  # type: ignore[dict-item]


def leftovers(plane: Plane) -> str:
    kinds = "namespaces,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings"
    return plane.run_kubectl(
        *("get", kinds, "--all-namespaces", "-l", "app.kubernetes.io/managed-by=devops-bench"),
        *("-o", "jsonpath={.items[*].metadata.name}"),
    )


def test_an_agent_has_what_it_is_granted_and_nothing_else(yard: Yard, plane: Plane) -> None:
    seen: dict[str, object] = {}
    home = f"/api/v1/namespaces/{yard.namespace}"
    yard.quiet()

    def act(hands: Hands) -> None:
        whoami = json.loads(hands.kubectl("auth", "whoami", "-o", "json").stdout)
        seen["user"] = user = whoami["status"]["userInfo"]["username"]
        own = user.split(":")[2]
        config = yaml.safe_load(hands.config.read_text())
        seen["users"] = [list(item["user"]) for item in config["users"]]
        seen["config"] = hands.config
        seen["mode"] = hands.config.stat().st_mode & 0o777
        seen["granted"] = [
            hands.status_of("GET", f"{home}/pods"),
            hands.status_of("POST", f"{home}/configmaps", {"metadata": {"name": "c"}}),
            hands.status_of("POST", f"{home}/pods", pod("plain")),
        ]
        label: JsonObject = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": ""}}}
        token: JsonObject = {"spec": {}}
        seen["refused"] = [
            hands.status_of("GET", f"{home}/secrets"),
            hands.status_of("PUT", home, label),
            hands.status_of("POST", f"{home}/serviceaccounts/default/token", token),
            hands.status_of("GET", f"/api/v1/namespaces/{own}/secrets"),
            hands.status_of("POST", f"/api/v1/namespaces/{own}/serviceaccounts/agent/token", token),
            hands.status_of("GET", "/api/v1/namespaces/kube-system/secrets"),
            hands.status_of("GET", "/api/v1/namespaces/default/configmaps"),
            hands.status_of("GET", "/api/v1/nodes/node-0/proxy/pods"),
            # Pod Security, not RBAC:
            hands.status_of("POST", f"{home}/pods", pod("host", hostNetwork=True)),
        ]
        seen["as"] = hands.kubectl("--as=system:admin", "get", "pods").stderr

    result = yard.run(act, preset("edit", yard.namespace))

    assert result.status == "passed", result.reason
    assert seen["granted"] == [200, 200, 200]
    assert seen["refused"] == [403] * 9
    assert "(Forbidden)" in str(seen["as"])
    assert seen["users"] == [["token"]]
    assert seen["mode"] == 0o600
    report = result.access
    assert report is not None
    assert (report.kind, report.preset, report.account) == ("own", "edit", seen["user"])
    assert report.pod_security == {yard.namespace: "baseline"}
    assert {row.how for row in report.checks} == {"review", "request"}
    assert all(row.expected == row.observed for row in report.checks)
    assert {row.observed for row in report.checks if row.how == "request"} == {"allowed", "denied"}
    assert str(seen["user"]).split(":")[2] not in leftovers(plane)
    assert result.left_behind == []
    config = seen["config"]
    assert isinstance(config, Path)
    assert not config.is_relative_to(yard.folder / "results")
    assert not config.exists()


def test_the_token_ends_with_the_account(yard: Yard, tmp_path: Path) -> None:
    stolen = tmp_path / "stolen"

    def act(hands: Hands) -> None:
        stolen.write_text(hands.config.read_text())

    assert yard.run(act, preset("view", yard.namespace)).access is not None
    done = Hands.__new__(Hands)
    done.config = stolen
    done._kubectl = yard.plane.kubectl
    answer = done.kubectl("-n", yard.namespace, "get", "pods")
    assert answer.returncode != 0


def test_view_writes_nothing_and_needs_no_pod_security(yard: Yard) -> None:
    statuses: list[int] = []
    path = f"/api/v1/namespaces/{yard.namespace}/configmaps"

    def act(hands: Hands) -> None:
        statuses.append(hands.status_of("POST", path, {"metadata": {"name": "c"}}))

    result = yard.run(act, preset("view", yard.namespace))

    assert statuses == [403]
    assert result.access is not None
    assert result.access.pod_security == {}


def test_without_access_the_agent_has_all_and_the_report_says_so(yard: Yard) -> None:
    result = yard.run(lambda _: None, None)

    assert result.access is not None
    assert str(result.access) == "admin (no access: in the spec)"
    assert result.access.checks == []


def test_a_level_that_was_there_before_comes_back(yard: Yard, plane: Plane, namespace: str) -> None:
    plane.run_kubectl("label", "ns", namespace, "pod-security.kubernetes.io/enforce=privileged")
    yard.objects = []
    during: list[str] = []

    def level() -> str:
        metadata = plane.get("namespace", namespace)["metadata"]
        assert isinstance(metadata, dict)
        labels = metadata["labels"]
        assert isinstance(labels, dict)
        return str(labels["pod-security.kubernetes.io/enforce"])

    result = yard.run(lambda _: during.append(level()), preset("edit", namespace))

    assert during == ["baseline"], result.reason
    assert level() == "privileged"


def test_more_than_was_granted_keeps_the_agent_from_starting(
    yard: Yard, plane: Plane, namespace: str
) -> None:
    # Somebody has bound every account of the cluster to more: the leash would not hold.
    yard.objects = []
    plane.run_kubectl(
        *("-n", namespace, "create", "role", "minting", "--verb=create"),
        "--resource=serviceaccounts/token",
    )
    plane.run_kubectl(
        *("-n", namespace, "create", "rolebinding", "minting", "--role=minting"),
        "--group=system:serviceaccounts",
    )

    result = yard.run(lambda _: None, preset("edit", namespace))

    assert result.status == "error"
    assert yard.agent.turns == 0
    place = f"create serviceaccounts/token in namespace {namespace} must be denied: allowed"
    assert place in result.reason
    assert result.left_behind == []


def test_acting_as_somebody_else_by_the_newer_verbs_keeps_the_agent_from_starting(
    yard: Yard, plane: Plane, namespace: str
) -> None:
    yard.objects = []
    group = ("authentication.k8s.io",)
    where = (namespace,)
    granted = Access(
        None,
        (
            Grant((PolicyRule(group, ("users",), ("impersonate:user-info",)),)),
            Grant((PolicyRule(("",), ("secrets",), ("impersonate-on:user-info:list",)),), where),
        ),
    )

    result = yard.run(lambda _: None, granted)

    assert result.status == "error"
    assert yard.agent.turns == 0
    named = "impersonate:user-info users.authentication.k8s.io in the whole cluster"
    assert f"{named} must be denied: allowed" in result.reason
    what = f"impersonate-on:user-info:list secrets in namespace {namespace}"
    assert f"{what} must be denied: allowed" in result.reason
    assert result.left_behind == []


def test_a_dead_token_is_not_denied(plane: Plane, tmp_path: Path) -> None:
    config = tmp_path / "dead"
    write_token_kubeconfig(config, plane.kubeconfig, "dead")
    client = ApiClient(load_connection(config))
    grants = [Grant((PolicyRule(("",), ("pods",), ("list",)),), ("default",))]
    identity = Identity("devops-bench-none", "agent", "devops-bench-none", ())

    with pytest.raises(SetupError) as caught:
        SelfCheck(client, identity, grants, SYSTEM_CLOCK).run(5)

    client.close()
    assert "list secrets of namespace devops-bench-none must be denied: no answer" in str(
        caught.value
    )
    assert "does not accept the credentials" in str(caught.value)


def test_a_namespace_that_is_not_there_is_a_broken_task(yard: Yard, plane: Plane) -> None:
    result = yard.run(lambda _: None, preset("edit", f"{yard.namespace}-other"))

    assert result.status == "error"
    assert yard.agent.turns == 0
    assert "the agent's account could not be made" in result.reason
    assert result.left_behind == []


def test_a_rule_of_ones_own_is_all_there_is(yard: Yard) -> None:
    yard.objects.append(deployment("web", yard.namespace))
    scale = PolicyRule(("apps",), ("deployments/scale",), ("get", "patch"), ("web",))
    answers: list[int] = []

    def act(hands: Hands) -> None:
        answers.append(
            hands.kubectl(
                *("-n", yard.namespace, "patch", "deployment", "web", "--subresource=scale"),
                *("--type=merge", "-p", '{"spec":{"replicas":2}}'),
            ).returncode
        )
        answers.append(hands.kubectl("-n", yard.namespace, "get", "pods").returncode)

    result = yard.run(act, Access(None, (Grant((scale,), (yard.namespace,)),)))

    assert result.access is not None, result.reason
    assert result.access.rules == [f"get,patch deployments/scale.apps web in {yard.namespace}"]
    assert [code == 0 for code in answers] == [True, False]
