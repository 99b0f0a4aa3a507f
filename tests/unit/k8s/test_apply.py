from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from devops_bench.core.clock import SYSTEM_CLOCK, Clock, SystemClock
from devops_bench.core.errors import SetupError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.apply import CreatedObject, create_objects, delete_objects
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from tests.unit.k8s.stub import (
    APPS,
    CORE,
    Request,
    Response,
    StubServer,
    group,
    groups,
    resource,
    serve_discovery,
    status,
)

Create = Callable[..., list[CreatedObject]]
EXISTS = status(409, "AlreadyExists", "already exists")


def obj(kind: str, name: str, api_version: str = "v1", namespace: str = "") -> JsonObject:
    metadata: JsonObject = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def created(request: Request) -> Response:
    """Answer a POST as the server does: what was sent, with a uid."""
    body = request.body
    assert isinstance(body, dict)
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    name = metadata.get("name") or f"{metadata['generateName']}x7"
    return Response({**body, "metadata": {**metadata, "name": name, "uid": f"uid-{name}"}}, 201)


class Patient(SystemClock):
    """Time goes by in waiting alone, without any wait."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        self._now += timeout_sec
        return event.is_set()


@pytest.fixture
def create(stub: StubServer, client: ApiClient) -> Create:
    serve_discovery(stub)
    discovery = Discovery(client)
    for path in (
        "/api/v1/namespaces",
        "/api/v1/namespaces/shop/configmaps",
        "/api/v1/namespaces/other/configmaps",
        "/api/v1/namespaces/shop/pods",
        "/apis/apps/v1/namespaces/shop/deployments",
    ):
        stub.routes[("POST", path)] = created
    stub.on("GET", "/api/v1/namespaces/shop/serviceaccounts/default", {"kind": "ServiceAccount"})

    def run(
        *objects: JsonObject, adopt: bool = False, clock: Clock = SYSTEM_CLOCK
    ) -> list[CreatedObject]:
        recorded: list[CreatedObject] = []
        try:
            create_objects(
                client,
                discovery,
                objects,
                default_namespace="shop",
                adopt=adopt,
                record=recorded.append,
                timeout_sec=30,
                clock=clock,
            )
        except SetupError as exc:
            exc.add_note(", ".join(str(item) for item in recorded))
            raise
        return recorded

    return run


def test_namespaces_come_first_and_names_without_one_get_the_default(
    stub: StubServer, create: Create
) -> None:
    config_map = obj("ConfigMap", "a")
    recorded = create(
        obj("Deployment", "web", "apps/v1"),
        config_map,
        obj("ConfigMap", "b", namespace="other"),
        obj("Namespace", "shop"),
    )
    assert [str(item) for item in recorded] == [
        "Namespace shop",
        "ConfigMap shop/a",
        "ConfigMap other/b",
        "Deployment shop/web",
    ]
    assert recorded[3] == CreatedObject(
        "apps/v1",
        "Deployment",
        "/apis/apps/v1/namespaces/shop/deployments/web",
        "shop",
        "web",
        "uid-web",
    )
    assert config_map == obj("ConfigMap", "a"), "what was given is not changed"


def test_a_generated_name_is_recorded_as_the_server_made_it(create: Create) -> None:
    body: JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"generateName": "g-"},
    }
    (recorded,) = create(body)
    assert recorded.path == "/api/v1/namespaces/shop/configmaps/g-x7"


def test_an_object_that_is_there_already_is_named(stub: StubServer, create: Create) -> None:
    stub.on("POST", "/api/v1/namespaces/shop/configmaps", EXISTS)
    with pytest.raises(SetupError, match=r"ConfigMap shop/a is there already.*--adopt") as caught:
        create(obj("ConfigMap", "a"), obj("Namespace", "shop"))
    assert caught.value.__notes__ == ["Namespace shop"], "what was created is recorded"
    assert stub.paths("PATCH") == []


def test_an_adopted_object_is_patched_and_not_recorded(stub: StubServer, create: Create) -> None:
    stub.on("POST", "/api/v1/namespaces/shop/configmaps", EXISTS)
    stub.on("PATCH", "/api/v1/namespaces/shop/configmaps/a", obj("ConfigMap", "a"))
    assert create(obj("ConfigMap", "a"), adopt=True) == []
    patch = stub.requests[-1]
    assert patch.query["fieldManager"] == "devops-bench"
    assert patch.headers["Content-Type"] == "application/apply-patch+yaml"
    stub.on("PATCH", "/api/v1/namespaces/shop/configmaps/a", status(422, "Invalid", "immutable"))
    with pytest.raises(SetupError, match=r"ConfigMap shop/a .* was not adopted: immutable"):
        create(obj("ConfigMap", "a"), adopt=True)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (status(422, "Invalid", "data: Invalid value"), "ConfigMap shop/a was not created: data"),
        (status(403, "Forbidden", "cannot create"), "cannot create"),
        (status(409, "Conflict", "quota was changed"), "quota was changed"),
        (status(503, "ServiceUnavailable", "down"), "down"),
        (Response(b"gone"), "whether ConfigMap shop/a was created is not known"),
    ],
)
def test_a_refusal_is_the_servers_own_sentence(
    stub: StubServer, create: Create, answer: Response, says: str
) -> None:
    stub.on("POST", "/api/v1/namespaces/shop/configmaps", answer)
    with pytest.raises(SetupError, match=says):
        create(obj("ConfigMap", "a"))


def test_a_server_that_asks_for_patience_gets_it(stub: StubServer, create: Create) -> None:
    busy = Response(status(429, "TooManyRequests", "slow down").body, 429, {"Retry-After": "0"})
    stub.on("POST", "/api/v1/namespaces/shop/configmaps", busy, obj("ConfigMap", "a"))
    assert len(create(obj("ConfigMap", "a"))) == 1
    late = Response(status(429, "TooManyRequests", "slow down").body, 429, {"Retry-After": "60"})
    stub.on("POST", "/api/v1/namespaces/shop/configmaps", late)
    with pytest.raises(SetupError, match="time for the setup ran out: slow down"):
        create(obj("ConfigMap", "a"))


def test_an_unknown_kind_is_named(create: Create) -> None:
    with pytest.raises(
        SetupError, match=r"Widget w was not created: .* no kind Widget of ex\.io/v1"
    ):
        create(obj("Widget", "w", "ex.io/v1"))


def test_the_default_service_account_is_waited_for(stub: StubServer, create: Create) -> None:
    account = "/api/v1/namespaces/shop/serviceaccounts/default"
    stub.on("GET", account, status(404, "NotFound", "no"), {"kind": "ServiceAccount"})
    stub.on("GET", "/api/v1/namespaces/shop", {"kind": "Namespace"})
    create(obj("Pod", "a"), obj("Pod", "b"))
    assert stub.paths("GET").count(account) == 2
    posted = stub.paths().index("/api/v1/namespaces/shop/pods")
    assert account in stub.paths()[:posted]


def test_a_namespace_that_is_not_there_is_not_waited_in(stub: StubServer, create: Create) -> None:
    account = "/api/v1/namespaces/shop/serviceaccounts/default"
    gone = status(404, "NotFound", 'namespaces "shop" not found')
    stub.on("GET", account, gone)
    stub.on("POST", "/api/v1/namespaces/shop/pods", gone)
    with pytest.raises(SetupError, match='namespaces "shop" not found'):
        create(obj("Pod", "a"))
    assert stub.paths("GET").count(account) == 1


CRD = "CustomResourceDefinition"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_a_definition_is_waited_for_until_it_is_served(stub: StubServer, create: Create) -> None:
    extensions = group(
        "apiextensions.k8s.io", v1=[resource("customresourcedefinitions", CRD, namespaced=False)]
    )
    widgets = group("ex.io", v1=[resource("wids", "Widget")])
    stub.on("GET", "/api", groups(CORE))
    stub.on("GET", "/apis", groups(APPS, extensions), groups(APPS, extensions, widgets))
    stub.routes[("POST", CRDS)] = created
    stub.routes[("POST", "/apis/ex.io/v1/namespaces/shop/wids")] = created
    definition = obj(CRD, "wids.ex.io", "apiextensions.k8s.io/v1")
    definition["spec"] = {
        "group": "ex.io",
        "names": {"kind": "Widget"},
        "versions": [{"name": "v1", "served": True}, {"name": "v0", "served": False}],
    }
    established: JsonObject = {"conditions": [{"type": "Established", "status": "True"}]}
    stub.on("GET", f"{CRDS}/wids.ex.io", definition, {**definition, "status": established})
    recorded = create(obj("Widget", "w", "ex.io/v1"), definition)
    assert [str(item) for item in recorded] == [f"{CRD} wids.ex.io", "Widget shop/w"]
    assert stub.paths().count(f"{CRDS}/wids.ex.io") >= 2
    stub.on("GET", f"{CRDS}/wids.ex.io", definition)
    with pytest.raises(SetupError, match=r"ran out: .*wids\.ex\.io: it is not established"):
        create(definition, clock=Patient())


def made(kind: str, name: str, namespace: str = "shop") -> CreatedObject:
    collection = "namespaces" if kind == "Namespace" else f"namespaces/{namespace}/configmaps"
    return CreatedObject("v1", kind, f"/api/v1/{collection}/{name}", namespace, name, f"uid-{name}")


def with_uid(uid: str) -> JsonObject:
    return {"metadata": {"name": "a", "uid": uid}}


GONE = status(404, "NotFound", "not found")


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


A = "/api/v1/namespaces/shop/configmaps/a"


def stored(
    *, manager: str = "devops-bench", created_at: str = "2999-01-01T00:00:00Z", uid: str = "u"
) -> JsonObject:
    """The object as a GET finds it, made after any test began unless it is said otherwise."""
    fields: JsonObject = {
        "uid": uid,
        "creationTimestamp": created_at,
        "managedFields": [{"manager": manager, "operation": "Update"}],
    }
    return with_metadata(obj("ConfigMap", "a"), fields)


def with_metadata(body: JsonObject, more: JsonObject) -> JsonObject:
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    return {**body, "metadata": {**metadata, **more}}


def attempt(
    stub: StubServer, client: ApiClient, *, interrupted: bool = False
) -> tuple[list[CreatedObject], list[CreatedObject]]:
    """Create one object whose creation goes wrong; returns what was announced and recorded."""
    serve_discovery(stub)
    announced: list[CreatedObject] = []
    recorded: list[CreatedObject] = []
    interrupts = [KeyboardInterrupt()] if interrupted else []

    def record(item: CreatedObject) -> None:
        if interrupts:
            raise interrupts.pop()
        recorded.append(item)

    with pytest.raises(KeyboardInterrupt if interrupted else SetupError):
        create_objects(
            client,
            Discovery(client),
            [obj("ConfigMap", "a")],
            default_namespace="shop",
            adopt=False,
            record=record,
            announce=announced.append,
            timeout_sec=30,
        )
    return announced, recorded


@pytest.mark.parametrize(
    "answer", [Response(b"gone"), status(504, "Timeout", "request did not complete")]
)
@pytest.mark.parametrize(
    ("found", "uids"),
    [
        (Response(stored()), ["u"]),
        (Response(stored(manager="kubectl")), [""]),
        (Response(stored(created_at="2020-01-01T00:00:00Z")), [""]),
        (Response(with_metadata(stored(), {"creationTimestamp": "soon"})), [""]),
        (status(403, "Forbidden", "cannot get"), [""]),
        (Response(b"gone"), [""]),
        (GONE, []),
    ],
)
def test_what_a_lost_answer_made_is_found_out(
    stub: StubServer, client: ApiClient, answer: Response, found: Response, uids: list[str]
) -> None:
    stub.on("POST", "/api/v1/namespaces/shop/configmaps", answer)
    stub.on("GET", A, found)
    announced, recorded = attempt(stub, client)
    assert [(item.path, item.uid) for item in announced] == [(A, "")]
    assert [(item.path, item.uid) for item in recorded] == [(A, uid) for uid in uids]


def test_an_interrupt_between_the_answer_and_the_record_loses_nothing(
    stub: StubServer, client: ApiClient
) -> None:
    stub.routes[("POST", "/api/v1/namespaces/shop/configmaps")] = created
    stub.on("GET", A, stored(uid="uid-a"))
    _, recorded = attempt(stub, client, interrupted=True)
    assert [(item.path, item.uid) for item in recorded] == [(A, "uid-a")]


@pytest.mark.parametrize("answer", [EXISTS, status(403, "Forbidden", "no")])
def test_what_the_server_refused_is_not_looked_for(
    stub: StubServer, client: ApiClient, answer: Response
) -> None:
    stub.on("POST", "/api/v1/namespaces/shop/configmaps", answer)
    assert attempt(stub, client)[1] == []
    assert A not in stub.paths("GET")


def test_what_may_be_somebody_elses_is_told_and_not_deleted(
    stub: StubServer, client: ApiClient
) -> None:
    doubtful = CreatedObject("v1", "ConfigMap", A, "shop", "a", "")
    stub.on("GET", A, stored())
    (left,) = delete_objects(client, [doubtful], 10)
    assert "may be of this run, or somebody else's" in left.reason
    stub.on("GET", A, GONE)
    assert delete_objects(client, [doubtful], 10) == []
    assert stub.paths("DELETE") == []
