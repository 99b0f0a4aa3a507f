"""What manifests show without a server."""

from __future__ import annotations

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.k8s.offline import ManifestView, same_kind
from devops_bench.k8s.view import Matched, ResourceQuery, Unreadable


def obj(kind: str, name: str, api_version: str = "v1", **metadata: object) -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **metadata},  # type: ignore[dict-item]
    }


VIEW = ManifestView(
    [
        obj("Deployment", "web", "apps/v1", namespace="shop", labels={"app": "web"}),
        obj("Deployment", "db", "apps/v1", namespace="shop"),
        obj("Pod", "p"),
        obj("Namespace", "shop"),
        obj("Gizmo", "g", "example.com/v1", namespace="shop"),
        obj("Policy", "p", "example.com/v1"),
        obj("Deployment", "other", "example.com/v1", namespace="shop"),
        {
            **obj("CustomResourceDefinition", "foos.example.org", "apiextensions.k8s.io/v1"),
            "spec": {
                "group": "example.org",
                "scope": "Cluster",
                "names": {"kind": "Foo", "plural": "foozes", "shortNames": ["fz"]},
                "versions": [{"name": "v1"}],
            },
        },
        obj("Foo", "f", "example.org/v1"),
    ],
    "objects.yaml",
)


def names(query: ResourceQuery) -> list[str]:
    reading = VIEW.view([query], 1.0).read(query)
    assert isinstance(reading, Matched), reading
    return [f"{found.namespace}/{found.name}" for found in reading.objects]


@pytest.mark.parametrize("kind", ["Deployment", "deployments", "deploy", "deployments.apps"])
def test_built_in_kinds_are_found_by_every_name(kind: str) -> None:
    assert names(ResourceQuery(kind, "shop")) == ["shop/db", "shop/web"]


@pytest.mark.parametrize(
    ("kind", "readable"),
    [
        ("horizontalpodautoscalers.v1.autoscaling", True),
        ("HorizontalPodAutoscaler.v1.autoscaling", True),
        ("horizontalpodautoscalers.v2.autoscaling", False),
        ("hpa", False),
        ("hpa.v1.autoscaling", False),  # kubectl reads the preferred version by a short name
    ],
)
def test_what_only_a_server_converts_is_not_read(kind: str, readable: bool) -> None:
    view = ManifestView([obj("HorizontalPodAutoscaler", "h", "autoscaling/v1")], "o.yaml")
    query = ResourceQuery(kind, "default")
    reading = view.view([query], 1.0).read(query)
    if readable:
        assert isinstance(reading, Matched)
        assert [found.name for found in reading.objects] == ["h"]
    else:
        assert isinstance(reading, Unreadable)
        assert "is of autoscaling/v1" in reading.reason
        assert "reads autoscaling/v2" in reading.reason


def test_a_secret_is_shown_as_a_server_keeps_it() -> None:
    secret: JsonObject = {**obj("Secret", "s"), "stringData": {"token": "abc"}}
    query = ResourceQuery("secrets", "default", name="s")
    reading = ManifestView([secret], "o.yaml").view([query], 1.0).read(query)
    assert isinstance(reading, Matched)
    (found,) = reading.objects
    assert found.data["data"] == {"token": "YWJj"}
    assert "stringData" not in found.data


def test_every_version_of_a_custom_kind_reads_the_same() -> None:
    view = ManifestView(
        [
            {
                **obj("CustomResourceDefinition", "foos.example.org", "apiextensions.k8s.io/v1"),
                "spec": {
                    "group": "example.org",
                    "names": {"kind": "Foo", "plural": "foos"},
                    "versions": [{"name": "v1"}, {"name": "v2"}],
                },
            },
            obj("Foo", "f", "example.org/v2"),
        ],
        "o.yaml",
    )
    for kind in ("foos", "foos.v1.example.org", "foos.v2.example.org"):
        query = ResourceQuery(kind, "default", name="f")
        assert isinstance(view.view([query], 1.0).read(query), Matched)


def test_names_selectors_and_namespaces_select() -> None:
    assert names(ResourceQuery("deploy", "shop", name="web")) == ["shop/web"]
    assert names(ResourceQuery("deploy", "shop", selector="app=web")) == ["shop/web"]
    assert names(ResourceQuery("deploy", "elsewhere")) == []
    assert names(ResourceQuery("deploy", None, name="db")) == ["shop/db"]


def test_an_object_without_a_namespace_is_in_the_default_one() -> None:
    assert names(ResourceQuery("pods", "default")) == ["default/p"]


def test_of_a_cluster_scoped_kind_the_namespace_means_nothing() -> None:
    assert names(ResourceQuery("ns", "default", name="shop")) == ["/shop"]


@pytest.mark.parametrize("kind", ["Gizmo", "gizmos", "gizmo", "gizmos.example.com"])
def test_kinds_of_the_objects_themselves_are_found(kind: str) -> None:
    assert names(ResourceQuery(kind, "shop")) == ["shop/g"]


@pytest.mark.parametrize("kind", ["policies", "Policy"])
def test_plurals_are_guessed_as_kubectl_does(kind: str) -> None:
    assert names(ResourceQuery(kind, "default")) == ["default/p"]


@pytest.mark.parametrize("kind", ["Foo", "foozes", "fz"])
def test_a_definition_says_what_its_kind_is_called(kind: str) -> None:
    assert names(ResourceQuery(kind, "default")) == ["/f"]


def test_a_kind_without_objects_is_empty_only_when_it_is_known() -> None:
    assert names(ResourceQuery("services", "shop")) == []
    unknown = ResourceQuery("widgets", "shop")
    reading = VIEW.view([unknown], 1.0).read(unknown)
    assert isinstance(reading, Unreadable)
    assert "'widgets'" in reading.reason
    assert "objects.yaml" in reading.reason


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("Deployment", "deployments.apps", True),
        ("po", "Pod", True),
        ("Gizmo", "gizmo", True),
        ("Gizmo", "gizmos", False),
        ("pods", "services", False),
    ],
)
def test_words_for_the_same_kind(left: str, right: str, same: bool) -> None:
    assert same_kind(left, right) is same


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ClusterRole", "ClusterRole x"),
        ("nodes", "nodes x"),
        ("ConfigMap", "ConfigMap x in namespace default"),
        ("Gizmo", "Gizmo x in namespace default"),
    ],
)
def test_a_kind_without_namespaces_is_told_without_one(kind: str, text: str) -> None:
    assert str(ResourceQuery(kind, "default", "x")) == text


@pytest.mark.parametrize(
    ("kind", "text"),
    [("ConfigMap", "ConfigMap x in namespace default"), ("Gizmo", "Gizmo x")],
)
def test_a_default_namespace_is_told_only_where_the_kind_is_known_to_have_one(
    kind: str, text: str
) -> None:
    query = ResourceQuery(kind, "default", "x", namespace_chosen=False)
    assert str(query) == text
    assert query == ResourceQuery(kind, "default", "x")
