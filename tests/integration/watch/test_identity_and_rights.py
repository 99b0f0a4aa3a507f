"""What is read must stay what it was, and stay readable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.core.errors import ClusterError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.control_plane import ControlPlane, until
from tests.integration.watch.faultproxy import Answer
from tests.integration.watch.observing import ABSENT, Bench, bench

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"


@pytest.fixture
def at(own_plane: ControlPlane, tmp_path: Path) -> Iterator[Bench]:
    with bench(own_plane, tmp_path) as made:
        yield made


class Kind:
    """A custom kind of the test's own, under the same name in whatever group."""

    def __init__(self, at: Bench, group: str = "example.org") -> None:
        self._admin = at.plane.admin
        self.plural = f"gizmos{at.namespace.removeprefix('watch-')}"
        self.group = f"{at.namespace}.{group}"
        self.path = f"/apis/{self.group}/v1/namespaces/{at.namespace}/{self.plural}"

    def create(self, **spec_properties: JsonObject) -> None:
        names: JsonObject = {"plural": self.plural, "kind": self.plural.title()}
        version: JsonObject = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": _schema(spec_properties or {"v": {"type": "string"}})},
        }
        body: JsonObject = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        }
        self._admin.request("POST", CRDS, body=body, timeout_sec=10)
        until("the kind is served", self._served)

    def change(self, patch: list[JsonObject]) -> None:
        # A JSON patch is a list, which the client's type does not allow for: one merge at a time.
        for operation in patch:
            self._admin.request(
                "PATCH",
                f"{CRDS}/{self.plural}.{self.group}",
                body=operation,
                content_type=MERGE,
                timeout_sec=10,
            )

    def put(self, v: str, name: str = "it") -> None:
        body: JsonObject = {
            "apiVersion": f"{self.group}/v1",
            "kind": self.plural.title(),
            "metadata": {"name": name},
            "spec": {"v": v},
        }
        self._admin.request(
            "PATCH",
            f"{self.path}/{name}?fieldManager=test&force=true",
            body=body,
            content_type="application/apply-patch+yaml",
            timeout_sec=10,
        )

    def delete(self, name: str = "it") -> None:
        self._admin.request("DELETE", f"{self.path}/{name}", timeout_sec=10)

    def undefine(self) -> None:
        """Delete the kind itself."""
        path = f"{CRDS}/{self.plural}.{self.group}"
        self._admin.request("DELETE", path, timeout_sec=10)
        until("the kind is gone", lambda: not self._served())

    def _served(self) -> bool:
        try:
            self._admin.request("GET", self.path, timeout_sec=5)
        except ClusterError:
            return False
        return True


def _schema(properties: dict[str, JsonObject]) -> JsonObject:
    spec: JsonObject = {"type": "object", "properties": dict(properties)}
    return {"type": "object", "properties": {"spec": spec}}


def test_a_custom_kind_is_watched(at: Bench) -> None:
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.put("bad")
    kind.put("good")
    assert watcher.fence(20).why_not("it") is None
    assert notes.values("it") == ["good", "bad", "good"]


def test_a_harmless_change_of_the_definition_leaves_no_gap(at: Bench) -> None:
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    kind.change([{"spec": {"names": {"shortNames": [f"g{kind.plural[6:]}"]}}}])
    notes.wait("the stream was mended", lambda: bool(notes.gaps("it")))
    kind.put("bad")
    kind.put("good")
    assert watcher.fence(20).why_not("it") is None
    assert "bad" in notes.values("it")
    assert notes.open_gaps("it") == []


def test_a_write_around_a_change_of_the_schema_is_found_or_a_gap(at: Bench) -> None:
    """The new schema drops the field, so the history cannot be read as it was."""
    kind = Kind(at)
    kind.create()
    kind.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(kind.plural),)))
    at.proxy.on_request = lambda _: Answer(503)
    for relay in at.proxy.open_watches(kind.plural):
        relay.cut()
    kind.put("bad")
    kind.put("good")
    new_schema = _schema({"w": {"type": "string"}})
    version: JsonObject = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": new_schema},
    }
    kind.change([{"spec": {"versions": [version]}}])
    at.proxy.on_request = lambda _: None
    watcher.fence(20)
    assert "schema" in notes.open_gaps("it")[0].how


def test_a_kind_that_appears_is_judged_from_its_first_object_on(at: Bench) -> None:
    kind = Kind(at)
    later = Subscription("later", (at.query(kind.plural),), may_appear=True)
    watcher, notes, started = at.watch(later)
    assert "later" in started.watched, started.sampled
    assert notes.values("later") == [ABSENT]
    kind.create()
    kind.put("bad")
    kind.delete()
    kind.put("good")
    assert watcher.fence(30).why_not("later") is None
    notes.wait("the kind is watched", lambda: notes.values("later")[-1:] == ["good"])
    assert "bad" in notes.values("later")
    assert notes.open_gaps("later") == []


def test_a_kind_that_never_appears_is_fenced(at: Bench) -> None:
    later = Subscription("later", (at.query("gizmosthatneverare"),), may_appear=True)
    watcher, notes, _ = at.watch(later)
    assert watcher.fence(20).why_not("later") is None
    assert notes.values("later") == [ABSENT]


def test_an_api_service_that_was_pointed_elsewhere_is_a_gap(at: Bench) -> None:
    query = ResourceQuery("jobs.batch", namespace=at.namespace)
    watcher, notes, _ = at.watch(Subscription("it", (query,)))
    admin = at.plane.admin
    away: JsonObject = {
        "spec": {
            "service": {"name": "mine", "namespace": at.namespace, "port": 443},
            "insecureSkipTLSVerify": True,
        }
    }
    back: JsonObject = {"spec": {"service": None, "insecureSkipTLSVerify": None}}
    path = f"{SERVICES}/v1.batch"
    admin.request("PATCH", path, body=away, content_type=MERGE, timeout_sec=10)
    try:
        fence = watcher.fence(5)
        why = fence.why_not("it")
        assert why is not None
        assert "v1.batch" in why
        assert notes.open_gaps("it")
    finally:
        admin.request("PATCH", path, body=back, content_type=MERGE, timeout_sec=10)
    again = watcher.fence(5)
    assert "v1.batch" in (again.why_not("it") or "")


def test_a_kind_that_another_server_serves_is_not_watched(at: Bench) -> None:
    admin = at.plane.admin
    service: JsonObject = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.autoscaling"},
        "spec": {"service": {"name": "x", "namespace": at.namespace, "port": 443}},
    }
    path = f"{SERVICES}/v1.autoscaling"
    patch: JsonObject = {"spec": service["spec"]}
    admin.request("PATCH", path, body=patch, content_type=MERGE, timeout_sec=10)
    try:
        query = ResourceQuery("horizontalpodautoscalers.v1.autoscaling", at.namespace)
        _, _, started = at.watch(Subscription("it", (query,)))
        assert "it" in started.sampled
    finally:
        admin.request(
            "PATCH", path, body={"spec": {"service": None}}, content_type=MERGE, timeout_sec=10
        )


def _restricted(at: Bench, *verbs: str) -> str:
    """Return the token of an account that may only do some things with configmaps."""
    admin, namespace = at.plane.admin, at.namespace
    metadata: JsonObject = {"name": "reader", "namespace": namespace}
    admin.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/serviceaccounts",
        body={"metadata": metadata},
        timeout_sec=10,
    )
    rules: JsonObject = {"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs)}
    admin.request(
        "POST",
        f"{RBAC}/namespaces/{namespace}/roles",
        body={"metadata": metadata, "rules": [rules]},
        timeout_sec=10,
    )
    subject: JsonObject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    role: JsonObject = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "reader",
    }
    admin.request(
        "POST",
        f"{RBAC}/namespaces/{namespace}/rolebindings",
        body={"metadata": metadata, "subjects": [subject], "roleRef": role},
        timeout_sec=10,
    )
    # The authorizer learns of a binding a moment after it was stored.
    until("the rights are there", lambda: all(_may(at, verb) for verb in verbs), 30)
    discovery: JsonObject = {"nonResourceAttributes": {"verb": "get", "path": "/api"}}
    until("the kinds may be read", lambda: _allowed(at, discovery), 30)
    return at.plane.token_of(namespace, "reader")


def _may(at: Bench, verb: str) -> bool:
    attributes: JsonObject = {"namespace": at.namespace, "verb": verb, "resource": "configmaps"}
    return _allowed(at, {"resourceAttributes": attributes})


def _allowed(at: Bench, spec: JsonObject) -> bool:
    user = f"system:serviceaccount:{at.namespace}:reader"
    review = at.plane.admin.request(
        "POST",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        body={"spec": {**spec, "user": user, "groups": ["system:authenticated"]}},
        timeout_sec=10,
    )
    status = review["status"]
    return isinstance(status, dict) and status.get("allowed") is True


def test_rights_that_are_taken_away_end_in_a_gap_when_the_watch_must_be_opened_again(
    at: Bench,
) -> None:
    token = _restricted(at, "get", "list", "watch")
    at.put("good")
    watcher, notes, started = at.watch(Subscription("it", (at.query(),)), token=token)
    assert started.unverified
    path = f"{RBAC}/namespaces/{at.namespace}/rolebindings/reader"
    at.plane.admin.request("DELETE", path, timeout_sec=10)
    at.put("bad")
    notes.wait("the open stream goes on", lambda: notes.values("it")[-1:] == ["bad"])
    for relay in at.proxy.open_watches("configmaps"):
        relay.cut()
    at.put("worse")
    assert watcher.fence(3).why_not("it") is not None
    assert notes.open_gaps("it")


@pytest.mark.parametrize("verbs", [("get",), ("get", "list")])
def test_without_the_rights_an_entry_is_sampled_and_says_why(
    at: Bench, verbs: tuple[str, ...]
) -> None:
    token = _restricted(at, *verbs)
    _, _, started = at.watch(Subscription("it", (at.query(),)), token=token)
    assert "forbidden" in started.sampled["it"]


def test_namespaces_are_watched_one_by_one_where_all_of_them_are_forbidden(at: Bench) -> None:
    token = _restricted(at, "get", "list", "watch")
    elsewhere = tuple(ResourceQuery("configmaps", f"{at.namespace}-{n}") for n in range(3))
    wide = Subscription("wide", (at.query(), *elsewhere))
    own = Subscription("own", (at.query(),))
    _, _, started = at.watch(wide, own, token=token)
    assert list(started.watched) == ["own"]
    assert "forbidden" in started.sampled["wide"]
