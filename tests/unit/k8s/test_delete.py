"""What a setup created is deleted by uid; what is left of it is said."""

from __future__ import annotations

from devops_bench.core.clock import SystemClock
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.delete import CreatedObject, delete_objects
from tests.unit.k8s.stub import GONE, Response, StubServer, status


def made(kind: str, name: str, namespace: str = "shop") -> CreatedObject:
    collection = "namespaces" if kind == "Namespace" else f"namespaces/{namespace}/configmaps"
    return CreatedObject("v1", kind, f"/api/v1/{collection}/{name}", namespace, name, f"uid-{name}")


def with_uid(uid: str) -> JsonObject:
    return {"metadata": {"name": "a", "uid": uid}}


def test_deletion_is_by_uid_the_newest_first_and_namespaces_last(
    stub: StubServer, client: ApiClient
) -> None:
    items = [made("Namespace", "shop", ""), made("ConfigMap", "a"), made("ConfigMap", "b")]
    for item in items:
        stub.on("DELETE", item.path, {})
        stub.on("GET", item.path, GONE)
    assert delete_objects(client, items, 10) == []
    assert stub.paths("DELETE") == [items[2].path, items[1].path, items[0].path]
    for request in stub.requests:
        if request.method == "DELETE":
            assert isinstance(request.body, dict)
            name = request.path.rpartition("/")[2]
            assert request.body["preconditions"] == {"uid": f"uid-{name}"}


def test_what_is_gone_or_another_object_is_left_alone(stub: StubServer, client: ApiClient) -> None:
    gone, replaced = made("ConfigMap", "gone"), made("ConfigMap", "replaced")
    stub.on("DELETE", gone.path, GONE)
    stub.on("GET", gone.path, GONE)
    stub.on("DELETE", replaced.path, status(409, "Conflict", "Precondition failed: UID"))
    stub.on("GET", replaced.path, with_uid("another"))
    assert delete_objects(client, [gone, replaced], 10) == []


def test_a_deletion_is_waited_for(stub: StubServer, client: ApiClient) -> None:
    item = made("ConfigMap", "a")
    stub.on("DELETE", item.path, {})
    stub.on("GET", item.path, with_uid("uid-a"), with_uid("uid-a"), GONE)
    assert delete_objects(client, [item], 10) == []


def test_what_could_not_be_deleted_is_returned_with_its_reason(
    stub: StubServer, client: ApiClient
) -> None:
    refused, stuck = made("ConfigMap", "refused"), made("ConfigMap", "stuck")
    stub.on("DELETE", refused.path, status(403, "Forbidden", "cannot delete"))
    stub.on("GET", refused.path, with_uid("uid-refused"))
    stub.on("DELETE", stuck.path, {})
    stub.on("GET", stuck.path, with_uid("uid-stuck"))
    left = delete_objects(client, [refused, stuck], 0.3)
    assert {(item.object.name, item.reason) for item in left} == {
        ("refused", "cannot delete"),
        ("stuck", "it was asked to go and is still there"),
    }


def test_what_goes_with_its_namespace_is_not_left_over(stub: StubServer, client: ApiClient) -> None:
    namespace, inside = made("Namespace", "shop", ""), made("ConfigMap", "inside")
    stub.on("DELETE", inside.path, status(403, "Forbidden", "cannot delete"))
    stub.on("GET", inside.path, GONE)
    stub.on("DELETE", namespace.path, {})
    stub.on("GET", namespace.path, with_uid("uid-shop"), GONE)
    assert delete_objects(client, [namespace, inside], 10) == []


def test_a_dead_cluster_is_reported_and_nothing_is_raised(
    stub: StubServer, client: ApiClient
) -> None:
    stub.on("DELETE", made("ConfigMap", "a").path, Response(b"bad gateway", 502))
    stub.on("GET", made("ConfigMap", "a").path, Response(b"bad gateway", 502))
    (left,) = delete_objects(client, [made("ConfigMap", "a")], 0.3)
    assert left.reason == "bad gateway"


class Impatient(SystemClock):
    """Ten seconds go by with every look at it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += 10.0
        return self._now


def test_a_server_that_answers_nothing_is_not_asked_about_every_object(
    stub: StubServer, client: ApiClient
) -> None:
    """Each look past the deadline is short, but a hundred of them are not."""
    objects = [made("ConfigMap", f"a{number}") for number in range(100)]
    for item in objects:
        stub.on("DELETE", item.path, Response(b"etcd is away", 500))
        stub.on("GET", item.path, Response(b"etcd is away", 500))
    left = delete_objects(client, objects, 60, clock=Impatient())
    assert [item.object for item in left] == list(reversed(objects))
    assert left[-1].reason == "the server did not answer in time, so it was not asked"
    assert len(stub.paths()) < 20
