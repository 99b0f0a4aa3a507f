from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.resources import ApiResource, Catalogue
from devops_bench.k8s.view import UnknownKind, Unreadable
from tests.unit.k8s.stub import APPS, CORE, StubServer, group, groups, resource, status


def found(answer: object) -> ApiResource:
    assert isinstance(answer, ApiResource), answer
    return answer


CATALOGUE = Catalogue(
    (
        ApiResource("", "v1", "pods", "Pod", True, (), "pod", ("po",)),
        ApiResource("", "v1", "events", "Event", True, (), "event", ("ev",)),
        ApiResource("apps", "v1", "deployments", "Deployment", True, (), "deployment", ("deploy",)),
        ApiResource("events.k8s.io", "v1", "events", "Event", True, (), "event", ("ev",)),
        ApiResource("autoscaling", "v2", "hpas", "HPA", True, (), "hpa", ("as",)),
        ApiResource("autoscaling", "v1", "hpas", "HPA", True, (), "hpa", ("as",)),
        ApiResource("storage.k8s.io", "v1", "classes", "Class", False, (), "class", ("cl",)),
        ApiResource("ex.io", "v1", "wids", "Widget", True, (), "wdg", ("pods", "wd")),
        ApiResource("", "v1", "lates", "Late", True, (), "late", ()),
    )
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        # Every row without a comment is what `kubectl get` of 1.36 asks the server for.
        ("pods", "/api/v1/pods"),
        ("Pod", "/api/v1/pods"),
        ("PODS", "/api/v1/pods"),
        ("po", "/api/v1/pods"),
        ("pods.v1.", "/api/v1/pods"),
        ("pod.", "/api/v1/pods"),
        ("deploy.apps", "/apis/apps/v1/deployments"),
        ("deploy.app", "/apis/apps/v1/deployments"),
        ("Deployment.v1.apps", "/apis/apps/v1/deployments"),
        ("events", "/api/v1/events"),
        ("event.events.k8s.io", "/apis/events.k8s.io/v1/events"),
        ("ev.events", "/apis/events.k8s.io/v1/events"),
        ("hpas", "/apis/autoscaling/v2/hpas"),
        ("hpas.v1.autoscaling", "/apis/autoscaling/v1/hpas"),
        ("as.v1.autoscaling", "/apis/autoscaling/v2/hpas"),
        ("class.storage", "/apis/storage.k8s.io/v1/classes"),
        ("Widget.ex.io", "/apis/ex.io/v1/wids"),
        ("Widget.v1.ex.io", "/apis/ex.io/v1/wids"),
        ("wdg", "/apis/ex.io/v1/wids"),
        ("Widget", "/apis/ex.io/v1/wids"),  # kubectl wants the group here
        ("PO", None),
        ("DEPLOY", None),
        ("pods.v1", None),
        ("deployment.v1beta1.apps", None),
        ("Foo", None),
        ("", None),
        (".", None),
        (".apps", None),
    ],
)
def test_names_mean_what_kubectl_means(text: str, path: str | None) -> None:
    resource = CATALOGUE.find(text)
    assert (resource.path() if resource else None) == path


@given(st.text(alphabet="pods.v1aeiux", max_size=15))
def test_whatever_is_found_can_be_found_by_its_full_name(text: str) -> None:
    resource = CATALOGUE.find(text)
    if resource is not None:
        full = f"{resource.resource}.{resource.version}.{resource.group}"
        assert CATALOGUE.find(full) == resource


def test_paths() -> None:
    pods = found(CATALOGUE.find("pods"))
    assert pods.path("shop", "a:b c") == "/api/v1/namespaces/shop/pods/a:b%20c"
    assert pods.path("shop") == "/api/v1/namespaces/shop/pods"
    assert found(CATALOGUE.find("cl")).path("shop", "x") == "/apis/storage.k8s.io/v1/classes/x"


@pytest.mark.parametrize("name", ["", ".", "..", "web/status", "a%2fb"])
def test_a_name_that_would_be_another_path_is_refused(name: str) -> None:
    pods = found(CATALOGUE.find("pods"))
    with pytest.raises(ValueError, match="cannot be the name"):
        pods.path("shop", name)
    with pytest.raises(ValueError, match="cannot be the name"):
        pods.path(name, "web")


def test_aggregated_discovery_is_asked_for_once(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/api", groups(CORE))
    scale: JsonObject = {"resource": "only-subresources", "scope": "Namespaced"}
    stub.on("GET", "/apis", groups(APPS, group("g", v1=[resource("cls", "Cl", namespaced=False)])))
    stub.on("GET", "/apis", groups(APPS, group("g", v1=[scale, resource("cls", "Cl", "c")])))
    discovery = Discovery(client)
    deployment = found(discovery.resolve("Deployment", 10))
    assert deployment == ApiResource(
        "apps", "v1", "deployments", "Deployment", True, ("get", "list", "watch"), "deployment",
        ("deploy",),
    )  # fmt: skip
    assert found(discovery.resolve("c", 10)).kind == "Cl"
    assert stub.paths() == ["/api", "/apis"]
    assert "apidiscovery.k8s.io" in stub.requests[0].headers["Accept"]


def test_an_unknown_kind_is_looked_up_anew_each_time(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/api", groups(CORE))
    stub.on("GET", "/apis", groups(), groups(), groups(APPS))
    discovery = Discovery(client)
    assert discovery.resolve("Deployment", 10) == UnknownKind("the server has no kind Deployment")
    assert isinstance(discovery.resolve("Deployment", 10), UnknownKind)
    assert found(discovery.resolve("Deployment", 10)).group == "apps"


def test_a_stale_group_leaves_unknown_kinds_undecided(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/api", groups(CORE))
    stub.on("GET", "/apis", groups(APPS, group("metrics.k8s.io", v1beta1=None)))
    answers = Discovery(client).resolve_all(["pods", "PodMetrics"], 10)
    assert found(answers["pods"]).kind == "Pod"
    unreadable = answers["PodMetrics"]
    assert isinstance(unreadable, Unreadable)
    assert "metrics.k8s.io/v1beta1" in unreadable.reason
    assert len(stub.requests) == 2


def test_servers_without_aggregated_discovery(stub: StubServer, client: ApiClient) -> None:
    pods: JsonObject = {"name": "pods", "kind": "Pod", "namespaced": True, "shortNames": ["po"]}
    log: JsonObject = {"name": "pods/log", "kind": "Pod", "namespaced": True}
    stub.on("GET", "/api", {"kind": "APIVersions", "versions": ["v1"]})
    stub.on("GET", "/api/v1", {"kind": "APIResourceList", "resources": [pods, log]})
    versions: list[JsonObject] = [{"version": "v1"}, {"version": "v2"}]
    group_list: JsonObject = {
        "kind": "APIGroupList",
        "groups": [
            {"name": "g", "versions": [*versions], "preferredVersion": {"version": "v2"}},
            {"name": "down", "versions": [{"version": "v1"}]},
        ],
    }
    stub.on("GET", "/apis", group_list)
    hpa: JsonObject = {"name": "hpas", "kind": "Hpa", "namespaced": False}
    stub.on("GET", "/apis/g/v1", {"kind": "APIResourceList", "resources": [hpa]})
    stub.on("GET", "/apis/g/v2", {"kind": "APIResourceList", "resources": [hpa]})
    stub.on("GET", "/apis/down/v1", status(503, "ServiceUnavailable", "no endpoints"))
    discovery = Discovery(client)
    assert found(discovery.resolve("po", 10)).path("a") == "/api/v1/namespaces/a/pods"
    assert found(discovery.resolve("hpa", 10)).path() == "/apis/g/v2/hpas"
    missing = discovery.resolve("Foo", 10)
    assert isinstance(missing, Unreadable)
    assert "down/v1: no endpoints" in missing.reason


def test_a_server_that_fails_decides_nothing(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/api", groups(CORE), status(500, "InternalError", "boom"))
    stub.on("GET", "/apis", groups(APPS))
    discovery = Discovery(client)
    assert found(discovery.resolve("pods", 10)).kind == "Pod"
    answers = discovery.resolve_all(["pods", "Foo"], 10)
    assert found(answers["pods"]).kind == "Pod"
    assert answers["Foo"] == Unreadable("the kinds of the server could not be read: boom")
    fresh = discovery.resolve_all(["pods"], 10, fresh=True)
    assert isinstance(fresh["pods"], Unreadable)
    assert isinstance(discovery.resource_for("x/v1", "Foo", 10), Unreadable)


def test_an_objects_own_kind_is_matched_exactly(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/api", groups(CORE))
    stub.on("GET", "/apis", groups(APPS))
    discovery = Discovery(client)
    assert found(discovery.resource_for("apps/v1", "Deployment", 10)).resource == "deployments"
    assert isinstance(discovery.resource_for("apps/v1", "deployment", 10), UnknownKind)
    assert isinstance(discovery.resource_for("v1", "Deployment", 10), UnknownKind)


def test_a_document_that_is_no_discovery_decides_nothing(
    stub: StubServer, client: ApiClient
) -> None:
    stub.on("GET", "/api", groups(CORE))
    stub.on("GET", "/apis", {})
    assert isinstance(Discovery(client).resolve("Foo", 10), Unreadable)


def test_strange_items_do_not_break_it(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/api", {"kind": "APIGroupDiscoveryList", "items": [1, {}, None]})
    stub.on("GET", "/apis", groups())
    assert isinstance(Discovery(client).resolve("pods", 10), UnknownKind)
