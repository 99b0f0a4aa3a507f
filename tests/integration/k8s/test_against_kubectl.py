"""Rules that are kubectl's or the server's, checked against both."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from devops_bench.core.errors import ApiError, SetupError
from devops_bench.core.json import JsonObject
from devops_bench.k8s import discovery as discovery_module
from devops_bench.k8s import reader as reader_module
from devops_bench.k8s.apply import CreatedObject, create_objects, delete_objects
from devops_bench.k8s.client import ApiClient, connect, minimal_kubeconfig
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.manifests import read_manifests
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.reader import LiveReader
from devops_bench.k8s.selectors import parse_selector
from devops_bench.k8s.view import Matched, ResourceQuery, UnknownKind, Unreadable
from tests.integration.harness import Plane
from tests.unit.k8s.test_manifests import MEASURED


@pytest.fixture
def client(plane: Plane) -> Iterator[ApiClient]:
    connected = connect(plane.kubeconfig)
    yield connected
    connected.close()


@pytest.fixture
def discovery(client: ApiClient) -> Discovery:
    return Discovery(client)


def config_map(name: str, namespace: str = "", **labels: str) -> JsonObject:
    metadata: JsonObject = {"name": name, "labels": {**labels}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def create(
    client: ApiClient, discovery: Discovery, namespace: str, *objects: JsonObject
) -> list[CreatedObject]:
    recorded: list[CreatedObject] = []
    create_objects(
        client,
        discovery,
        objects,
        default_namespace=namespace,
        adopt=False,
        record=recorded.append,
    )
    return recorded


@pytest.mark.parametrize(
    "kind",
    [
        *("po", "PO", "pods", "Pod", "PODS", "pod.", "pods.v1.", "pods.v1", "svc", "ns", "no"),
        *("deploy", "DEPLOY", "deploy.apps", "deploy.app", "deploy.v1.apps", "Deployment.apps"),
        *("Deployment.v1.apps", "deployment.v1beta1.apps", "events", "ev", "events.events.k8s.io"),
        *("hpa", "hpa.v1.autoscaling", "horizontalpodautoscalers.v1.autoscaling", "rs.extensions"),
        *("HorizontalPodAutoscaler.v1.autoscaling", "hpa.v2.autoscaling", "deploy.v1beta1.apps"),
        *("ev.v1.events.k8s.io", "apps/v1/Deployment"),
        *("storageclass.storage", "sc.storage", "Ingress", "crd", "Foo", "scale", ".apps", "."),
    ],
)
def test_a_kind_is_resolved_as_kubectl_resolves_it(
    plane: Plane, discovery: Discovery, kind: str
) -> None:
    shown = subprocess.run(
        [plane.kubectl, "--kubeconfig", plane.kubeconfig, "get", kind, "-A", "-v6"],
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    asked = re.findall(r'(/apis?/[^ "?]*)\?limit', shown)
    found = discovery.refresh(30).find(kind)
    assert (found.path() if found else None) == (asked[-1] if asked else None), shown


def test_plain_discovery_tells_the_same(
    client: ApiClient, discovery: Discovery, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests add and remove kinds of their own meanwhile.
    def built_in() -> list[object]:
        return [item for item in discovery.refresh(30).resources if "ex.test" not in item.group]

    aggregated = built_in()
    monkeypatch.setattr(discovery_module, "_ACCEPT", "application/json")
    plain = built_in()
    assert len(aggregated) > 40
    assert {str(item) for item in plain} == {str(item) for item in aggregated}


def test_manifests_are_read_as_kubectl_reads_them(plane: Plane) -> None:
    items = "\n".join(f"- {text}" for text, _ in MEASURED)
    text = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: a, namespace: default}}
values:
{items}
keys: {{1: a, 0x10: b, 1.50: c, yes: d, 1e3: e, 1234567.5: f, 1.23456789: g, 0.00001: h}}
base: &base {{k: 1, a: 1}}
before: {{k: 0, <<: *base}}
after: {{<<: *base, k: 0}}
twice: {{a: 1, a: 2}}
block: |
  a
   b
folded: >-
  a
  b
"""
    shown = plane.run_kubectl(
        *("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-"), stdin=text
    )
    (read,) = read_manifests(text)
    # kubectl prints the nearest decimal of what Go holds as a float.
    assert read == json.loads(shown, parse_int=lambda text: _as_go_holds_it(int(text)))


def _as_go_holds_it(number: int) -> float:
    return number if -(2**63) <= number < 2**63 else float(number)


SELECTORS = [
    *("app", "!app", "app=web", "app==web", "app!=web", "app=", "app in (web,db)", "app in ()"),
    *("app notin (web)", "size>5", "size<5", "app=web,size", "app in (web),!size", "in in (in)"),
    *("size>5,size<20", "", "app in (,web)", "ex.test/role=x"),
]


def test_selectors_match_what_the_server_matches(
    client: ApiClient, discovery: Discovery, namespace: str
) -> None:
    objects = [
        config_map("t-none"),
        config_map("t-web", app="web", size="5"),
        config_map("t-db", app="db", size="10"),
        config_map("t-empty", app="", size="six"),
        config_map("t-in", **{"in": "in", "ex.test/role": "x"}),
    ]
    create(client, discovery, namespace, *objects)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    reader = LiveReader(client, discovery)
    for selector in SELECTORS:
        listed = client.request("GET", path, query={"labelSelector": selector}, timeout_sec=30)
        items = listed["items"]
        assert isinstance(items, list)
        query = ResourceQuery("cm", namespace, selector=selector)
        reading = reader.view([query], 30).read(query)
        assert isinstance(reading, Matched)
        matched = {KubeObject(item).name for item in items if isinstance(item, dict)}
        assert {found.name for found in reading.objects} == matched, selector


@pytest.mark.parametrize("selector", ["a b", "a in x", "a,", "!a=b", "a>x", "-a", "a=b/c", "A/b/c"])
def test_what_the_server_refuses_is_no_selector(client: ApiClient, selector: str) -> None:
    with pytest.raises(ApiError):
        client.request(
            "GET", "/api/v1/configmaps", query={"labelSelector": selector}, timeout_sec=30
        )
    with pytest.raises(ValueError, match="is not a label selector"):
        parse_selector(selector)


def test_pages_missing_objects_and_missing_namespaces(
    client: ApiClient, discovery: Discovery, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(client, discovery, namespace, *(config_map(f"t-{n}", page="x") for n in range(5)))
    monkeypatch.setattr(reader_module, "PAGE_SIZE", 2)
    every = ResourceQuery("cm", namespace, selector="page=x")
    missing = ResourceQuery("cm", namespace, name="nope")
    nowhere = ResourceQuery("cm", "no-such-namespace", name="t-0")
    unknown = ResourceQuery("Foo", namespace)
    view = LiveReader(client, discovery).view([every, missing, nowhere, unknown], 30)
    reading = view.read(every)
    assert isinstance(reading, Matched)
    assert [found.name for found in reading.objects] == [f"t-{n}" for n in range(5)]
    assert reading.objects[0].data["kind"] == "ConfigMap"
    assert view.read(missing) == Matched(())
    assert view.read(nowhere) == Matched(())
    assert isinstance(view.read(unknown), UnknownKind)


def test_what_may_not_be_read_says_so(plane: Plane, namespace: str, tmp_path: Path) -> None:
    plane.run_kubectl("-n", namespace, "create", "serviceaccount", "nobody")
    token = plane.run_kubectl("-n", namespace, "create", "token", "nobody").strip()
    config = yaml.safe_load(minimal_kubeconfig(plane.kubeconfig))
    config["users"][0]["user"] = {"token": token}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    client = connect(file)
    queries = [ResourceQuery("cm", namespace), ResourceQuery("cm", namespace, name="a")]
    view = LiveReader(client, Discovery(client)).view(queries, 30)
    client.close()
    for query in queries:
        reading = view.read(query)
        assert isinstance(reading, Unreadable)
        assert f'in the namespace "{namespace}"' in reading.reason
        assert "forbidden" in reading.reason
    config["users"][0]["user"] = {"token": "not-a-token"}
    file.write_text(yaml.safe_dump(config))
    with pytest.raises(ApiError, match="does not accept the credentials") as caught:
        connect(file)
    assert "not-a-token" not in str(caught.value)


def test_a_kind_comes_and_goes_with_its_definition(
    client: ApiClient, discovery: Discovery, namespace: str
) -> None:
    group = f"{namespace}.ex.test"
    definition: JsonObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    widget: JsonObject = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
    }
    query = ResourceQuery(f"widgets.{group}", namespace)
    reader = LiveReader(client, discovery)
    assert isinstance(reader.view([query], 30).read(query), UnknownKind)
    recorded = create(client, discovery, namespace, widget, definition)
    assert [item.kind for item in recorded] == ["CustomResourceDefinition", "Widget"]
    reading = reader.view([query], 30).read(query)
    assert isinstance(reading, Matched)
    assert [found.name for found in reading.objects] == ["w"]
    assert delete_objects(client, recorded, 60) == []
    assert not isinstance(reader.view([query], 30).read(query), Matched)


def test_only_what_was_created_is_deleted(
    plane: Plane, client: ApiClient, discovery: Discovery, namespace: str
) -> None:
    plane.run_kubectl("-n", namespace, "create", "configmap", "before")
    with pytest.raises(SetupError, match=f"ConfigMap {namespace}/before is there already"):
        create(client, discovery, namespace, config_map("before"))
    own = create(client, discovery, namespace, config_map("kept"), config_map("replaced"))
    plane.run_kubectl("-n", namespace, "delete", "configmap", "replaced")
    plane.run_kubectl("-n", namespace, "create", "configmap", "replaced")
    assert delete_objects(client, own, 60) == []
    assert plane.exists("-n", namespace, "configmap", "before")
    assert plane.exists("-n", namespace, "configmap", "replaced")
    assert not plane.exists("-n", namespace, "configmap", "kept")


def test_a_pod_in_a_new_namespace_and_all_of_it_gone_again(
    plane: Plane, client: ApiClient, discovery: Discovery, namespace_name: str
) -> None:
    pod: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]},
    }
    namespace: JsonObject = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace_name},
    }
    recorded = create(client, discovery, namespace_name, pod, namespace)
    assert [item.kind for item in recorded] == ["Namespace", "Pod"]
    assert delete_objects(client, recorded, 120) == []
    assert not plane.exists("namespace", namespace_name)


def test_an_adopted_object_becomes_what_the_setup_says(
    plane: Plane, client: ApiClient, discovery: Discovery, namespace: str
) -> None:
    plane.run_kubectl("-n", namespace, "create", "configmap", "a", "--from-literal=k=old")
    body: JsonObject = {**config_map("a"), "data": {"k": "new"}}
    create_objects(
        client,
        discovery,
        [body],
        default_namespace=namespace,
        adopt=True,
        record=lambda item: pytest.fail(f"{item} was recorded as created"),
    )
    assert plane.get("-n", namespace, "configmap", "a")["data"] == {"k": "new"}


def test_a_field_that_the_server_does_not_know_is_refused_not_dropped(
    plane: Plane, client: ApiClient, discovery: Discovery, namespace: str
) -> None:
    wrong: JsonObject = {**config_map("slip"), "dat": {"a": "b"}}
    with pytest.raises(SetupError, match=r'ConfigMap .*/slip was not created: .*"dat"'):
        create(client, discovery, namespace, config_map("before"), wrong)
    shown = plane.run_kubectl("--namespace", namespace, "get", "configmaps", "--output=name")
    assert "configmap/before" in shown
    assert "configmap/slip" not in shown
