"""What a setup creates, in which order, and what is recorded of it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from devops_bench.core.clock import SYSTEM_CLOCK, Clock, SystemClock
from devops_bench.core.errors import SetupError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.apply import CreatedObject, create_objects
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from tests.unit.k8s.stub import (
    APPS,
    CORE,
    EXISTS,
    Response,
    StubServer,
    created,
    group,
    groups,
    obj,
    resource,
    serve_discovery,
    status,
)

Create = Callable[..., list[CreatedObject]]


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
    post, patch = stub.requests[-2:]
    assert post.query["fieldValidation"] == patch.query["fieldValidation"] == "Strict"
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
