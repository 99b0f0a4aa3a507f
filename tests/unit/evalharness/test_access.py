"""How a view is read for entries whose kind may appear later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from devops_bench.clusters.base import Cluster
from devops_bench.clusters.leftovers import OBJECTS_FILE
from devops_bench.core.errors import ApiError
from devops_bench.core.files import read_log
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.access import AbsentKinds, KubeAccess
from devops_bench.k8s.delete import CreatedObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import (
    Matched,
    Reading,
    ResourceQuery,
    Snapshot,
    UnknownKind,
    Unreadable,
    View,
)
from devops_bench.verification.runner import VerifierAgent
from tests.unit.evalharness.helpers import make_entry
from tests.unit.k8s.stub import StubServer, client_of, serve_discovery, status

QUERY = ResourceQuery("widgets")
ONE = Matched((KubeObject({"metadata": {"name": "w"}}),))


class Recorded:
    """A source that always answers the same."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> View:
        return Snapshot(dict.fromkeys(queries, self._reading))


@pytest.mark.parametrize(
    ("reading", "seen"),
    [
        (UnknownKind("the server has no kind Widget"), Matched(())),
        (Unreadable("an APIService is down"), Unreadable("an APIService is down")),
        (Matched(()), Matched(())),
        (ONE, ONE),
    ],
)
def test_only_an_unknown_kind_is_read_as_no_objects(reading: Reading, seen: Reading) -> None:
    view = AbsentKinds(Recorded(reading)).view([QUERY], 1.0)
    assert view.read(QUERY) == seen


@pytest.mark.parametrize(("op", "verdict"), [("absent", "pass"), ("exists", "fail")])
def test_no_objects_are_judged_as_ever(op: str, verdict: str) -> None:
    check = {"type": "resource_property", "kind": "Widget", "op": op}
    entry = make_entry("w", "safeguard", "assert", may_appear=True, check=check)
    agent = VerifierAgent(AbsentKinds(Recorded(UnknownKind("no kind Widget"))))
    assert agent.run_entry(entry, 1.0).status == verdict


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    serve_discovery(server)
    yield server
    server.close()


def _ground(stub: StubServer, tmp_path: Path, namespace: str = "shop") -> str | None:
    check = {
        "type": "resource_property",
        "kind": "ConfigMap",
        "resource_name": "evil",
        "namespace": namespace,
        "op": "absent",
    }
    with client_of(stub) as client:
        access = KubeAccess(client, kubeconfig=tmp_path / "kubeconfig", work_dir=tmp_path)
        return access.missing_ground(make_entry("e", "safeguard", "assert", check=check))


FORBIDDEN = status(403, "Forbidden", "namespaces is forbidden")


def test_a_namespace_that_cannot_be_read_is_not_taken_to_be_there(
    stub: StubServer, tmp_path: Path
) -> None:
    stub.on("GET", "/api/v1/namespaces/shop", FORBIDDEN)
    stub.on("GET", "/api/v1/namespaces/shop/configmaps", {"items": []})
    stub.on("GET", "/api/v1/namespaces/shop/serviceaccounts", FORBIDDEN)
    why = _ground(stub, tmp_path)
    assert why is not None
    assert why.startswith("could not be told whether namespace 'shop' exists: ")
    assert "forbidden" in why


@pytest.mark.parametrize("resource", ["configmaps", "serviceaccounts"])
def test_an_object_inside_proves_a_namespace_that_cannot_be_read(
    stub: StubServer, tmp_path: Path, resource: str
) -> None:
    inside = "/api/v1/namespaces/shop/"
    stub.on("GET", "/api/v1/namespaces/shop", FORBIDDEN)
    for name in ("configmaps", "serviceaccounts"):
        stub.on("GET", inside + name, {"items": []})
    stub.on("GET", inside + resource, {"items": [{"metadata": {"name": "default"}}]})
    assert _ground(stub, tmp_path) is None


def test_a_namespace_that_is_not_there_is_missing(stub: StubServer, tmp_path: Path) -> None:
    missing = status(404, "NotFound", 'namespaces "shop" not found')
    stub.on("GET", "/api/v1/namespaces/shop", missing)
    stub.on("GET", "/api/v1/namespaces", {"items": []})
    assert _ground(stub, tmp_path) == "there is no namespace 'shop'"


def test_a_namespace_that_is_there_is_ground(stub: StubServer, tmp_path: Path) -> None:
    stub.on("GET", "/api/v1/namespaces/shop", {"metadata": {"name": "shop"}})
    assert _ground(stub, tmp_path) is None


def test_what_is_created_on_an_existing_cluster_is_noted_and_named_by_the_users_file(
    stub: StubServer, tmp_path: Path
) -> None:
    user = {"name": "c", "cluster": {"server": stub.url}}
    contexts = [{"name": "c", "context": {"cluster": "c"}}]
    document = {"clusters": [user], "contexts": contexts, "users": [], "current-context": "c"}
    copy = tmp_path / "copy"
    copy.write_text(json.dumps(document))
    stub.on("GET", "/version", {"gitVersion": "v1.36.3"})
    stub.on(
        "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a", "uid": "u"}}
    )
    cluster = Cluster(
        "c", "kubeconfig", copy, "", "", kubeconfig_files=(Path("mine.kc"),), objects_in=tmp_path
    )
    made: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    recorded: list[CreatedObject] = []

    access = KubeAccess.connect(cluster, tmp_path)
    access.create([made], adopt=False, record=recorded.append, timeout_sec=10)
    access.close()

    notes = read_log(tmp_path / OBJECTS_FILE)
    assert [note.get("uid") for note in notes] == ["", "u", None]
    assert [item.uid for item in recorded] == ["u"]
    stub.on("GET", "/version", status(401, "Unauthorized", "Unauthorized"))
    with pytest.raises(ApiError, match=r"of context 'c' of mine\.kc"):
        KubeAccess.connect(cluster, tmp_path)
