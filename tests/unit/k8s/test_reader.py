from __future__ import annotations

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.reader import LiveReader
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, UnknownKind, Unreadable
from tests.unit.k8s.stub import (
    APPS,
    CORE,
    NO_SUCH_PATH,
    Request,
    Response,
    StubServer,
    group,
    groups,
    resource,
    serve_discovery,
    status,
)

PODS = "/api/v1/namespaces/shop/pods"


def obj(name: str, namespace: str = "shop", **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": namespace, "labels": {**labels}}}


def listing(*items: JsonObject, more: str = "") -> JsonObject:
    return {"kind": "PodList", "metadata": {"continue": more}, "items": [*items]}


def missing(name: str) -> Response:
    return status(404, "NotFound", f'pods "{name}" not found')


@pytest.fixture
def reader(stub: StubServer, client: ApiClient) -> LiveReader:
    serve_discovery(stub)
    return LiveReader(client, Discovery(client))


def read(reader: LiveReader, query: ResourceQuery) -> Reading:
    return reader.view([query], 10).read(query)


def names(reading: Reading) -> list[str]:
    assert isinstance(reading, Matched), reading
    return [found.name for found in reading.objects]


def reason(reading: Reading) -> str:
    assert isinstance(reading, Unreadable), reading
    return reading.reason


def test_queries_share_one_list(stub: StubServer, reader: LiveReader) -> None:
    stub.on("GET", PODS, listing(obj("b", app="web"), obj("a", app="db")))
    everything = ResourceQuery("Pod", "shop")
    web = ResourceQuery("po", "shop", selector="app=web")
    named = ResourceQuery("pods", "shop", name="a")
    gone = ResourceQuery("pods", "shop", name="z")
    view = reader.view([named, gone, web, everything], 10)
    assert names(view.read(everything)) == ["a", "b"]
    assert names(view.read(web)) == ["b"]
    assert names(view.read(named)) == ["a"]
    assert view.read(gone) == Matched(())
    assert stub.paths() == ["/api", "/apis", PODS]
    (asked,) = [request for request in stub.requests if request.path == PODS]
    assert asked.query == {"limit": "500"}, "no resourceVersion: the newest state is meant"


def test_the_items_of_a_list_are_complete_objects(stub: StubServer, reader: LiveReader) -> None:
    stub.on("GET", PODS, listing(obj("a")))
    reading = read(reader, ResourceQuery("pods", "shop"))
    assert isinstance(reading, Matched)
    assert reading.objects[0].data["kind"] == "Pod"
    assert reading.objects[0].data["apiVersion"] == "v1"


def test_one_object_is_got_by_its_name(stub: StubServer, reader: LiveReader) -> None:
    stub.on("GET", f"{PODS}/a", obj("a"))
    stub.on("GET", f"{PODS}/b", missing("b"))
    assert names(read(reader, ResourceQuery("pods", "shop", name="a"))) == ["a"]
    assert read(reader, ResourceQuery("pods", "shop", name="b")) == Matched(())


def test_a_name_is_still_got_when_the_list_is_forbidden(
    stub: StubServer, reader: LiveReader
) -> None:
    stub.on("GET", PODS, status(403, "Forbidden", 'User "x" cannot list resource "pods"'))
    stub.on("GET", f"{PODS}/a", obj("a"))
    named, everything = ResourceQuery("pods", "shop", name="a"), ResourceQuery("pods", "shop")
    view = reader.view([named, everything], 10)
    assert names(view.read(named)) == ["a"]
    assert 'forbidden: User "x" cannot list resource "pods"' in reason(view.read(everything))


def test_all_namespaces_and_cluster_scoped_kinds(stub: StubServer, reader: LiveReader) -> None:
    stub.on("GET", "/api/v1/pods", listing(obj("a", "y"), obj("b", "x"), obj("a", "x")))
    stub.on("GET", "/api/v1/namespaces/shop", {"metadata": {"name": "shop"}})
    reading = read(reader, ResourceQuery("pods"))
    assert isinstance(reading, Matched)
    assert [(item.namespace, item.name) for item in reading.objects] == [
        ("x", "a"),
        ("x", "b"),
        ("y", "a"),
    ]
    assert names(read(reader, ResourceQuery("pods", name="a"))) == ["a", "a"]
    assert names(read(reader, ResourceQuery("ns", "default", name="shop"))) == ["shop"]


def paged(stub: StubServer, expire_first: int) -> None:
    expired = [expire_first]

    def route(request: Request) -> Response:
        if "continue" not in request.query:
            return Response(listing(obj("a"), more="page2"))
        if expired[0] > 0:
            expired[0] -= 1
            return status(410, "Expired", "The provided continue parameter is too old")
        return Response(listing(obj("b")))

    stub.routes[("GET", PODS)] = route


def test_pages_are_read_to_the_end(stub: StubServer, reader: LiveReader) -> None:
    paged(stub, expire_first=0)
    assert names(read(reader, ResourceQuery("pods", "shop"))) == ["a", "b"]


def test_a_list_that_expired_between_pages_starts_again_once(
    stub: StubServer, reader: LiveReader
) -> None:
    paged(stub, expire_first=1)
    assert names(read(reader, ResourceQuery("pods", "shop"))) == ["a", "b"]
    paged(stub, expire_first=2)
    assert "too old" in reason(read(reader, ResourceQuery("pods", "shop")))


@pytest.mark.parametrize(
    "answer",
    [
        status(500, "InternalError", "etcdserver: request timed out"),
        status(429, "TooManyRequests", "too many requests"),
        Response(b"not json"),
        Response({"kind": "PodList"}),
        Response({"items": {}}),
        Response({"items": ["a"]}),
    ],
)
def test_what_is_no_list_is_unreadable_and_never_empty(
    stub: StubServer, reader: LiveReader, answer: Response
) -> None:
    stub.on("GET", PODS, answer)
    assert reason(read(reader, ResourceQuery("pods", "shop")))


def test_an_empty_list_may_be_null(stub: StubServer, reader: LiveReader) -> None:
    stub.on("GET", PODS, {"kind": "PodList", "items": None})
    assert read(reader, ResourceQuery("pods", "shop")) == Matched(())


@pytest.mark.parametrize("answer", [Response({}), Response(obj("other"))])
def test_an_answer_that_is_not_the_object(
    stub: StubServer, reader: LiveReader, answer: Response
) -> None:
    stub.on("GET", f"{PODS}/a", answer)
    assert "not that object" in reason(read(reader, ResourceQuery("pods", "shop", name="a")))


def test_a_kind_whose_definition_was_deleted(stub: StubServer, reader: LiveReader) -> None:
    widgets = group("ex.io", v1=[resource("wids", "Widget")])
    path = "/apis/ex.io/v1/namespaces/shop/wids"
    stub.on("GET", "/apis", groups(APPS, widgets), groups(APPS))
    stub.on("GET", path, listing(obj("w")), NO_SUCH_PATH)
    query = ResourceQuery("Widget", "shop")
    assert names(read(reader, query)) == ["w"]
    assert read(reader, query) == UnknownKind("the server has no kind Widget")


def test_a_kind_that_moved_to_another_version(stub: StubServer, reader: LiveReader) -> None:
    before, after = (group("ex.io", **{v: [resource("wids", "Widget")]}) for v in ("v1", "v2"))
    stub.on("GET", "/apis", groups(before), groups(after))
    stub.on("GET", "/apis/ex.io/v2/namespaces/shop/wids/w", obj("w"))
    assert names(read(reader, ResourceQuery("Widget", "shop", name="w"))) == ["w"]


def test_a_kind_that_is_told_of_but_not_served(stub: StubServer, reader: LiveReader) -> None:
    for name in (None, "a"):
        assert "does not serve it" in reason(read(reader, ResourceQuery("pods", "shop", name=name)))


def test_queries_that_cannot_be_asked(stub: StubServer, reader: LiveReader) -> None:
    stub.on("GET", PODS, listing())
    assert "cannot be the name" in reason(read(reader, ResourceQuery("pods", "shop", name="a/log")))
    assert "cannot be the name" in reason(read(reader, ResourceQuery("pods", "")))
    assert "label selector" in reason(read(reader, ResourceQuery("pods", "shop", selector="a b")))


def test_one_kind_that_fails_leaves_the_others(stub: StubServer, reader: LiveReader) -> None:
    stub.on("GET", PODS, listing(obj("a")))
    queries = [ResourceQuery("pods", "shop"), ResourceQuery("Foo"), ResourceQuery("cm", "shop")]
    view = reader.view(queries, 10)
    assert names(view.read(queries[0])) == ["a"]
    assert isinstance(view.read(queries[1]), UnknownKind)
    assert isinstance(view.read(queries[2]), Unreadable)


def test_no_time_and_no_server_are_unreadable(stub: StubServer, reader: LiveReader) -> None:
    query = ResourceQuery("pods", "shop")
    assert "no time was left" in reason(reader.view([query], 0).read(query))
    stub.on("GET", "/api", groups(CORE))
    stub.on("GET", PODS, listing())
    assert read(reader, query) == Matched(())
    assert "no time was left" in reason(reader.view([query], 0).read(query))


def test_a_fault_of_our_own_is_unreadable_too(stub: StubServer, client: ApiClient) -> None:
    class Broken(Discovery):
        def resolve_all(self, *_: object, **__: object) -> None:  # type: ignore[override]
            raise RuntimeError("a bug")

    query = ResourceQuery("pods", "shop")
    view = LiveReader(client, Broken(client)).view([query], 10)
    assert "RuntimeError: a bug" in reason(view.read(query))
