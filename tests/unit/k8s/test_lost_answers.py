"""A creation whose answer is lost: what it made is found out, and nothing else is touched."""

from __future__ import annotations

import pytest

from devops_bench.core.errors import SetupError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.apply import CreatedObject, create_objects, delete_objects
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from tests.unit.k8s.stub import (
    EXISTS,
    GONE,
    Response,
    StubServer,
    created,
    obj,
    serve_discovery,
    status,
)

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
