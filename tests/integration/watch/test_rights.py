"""What is read must stay readable: rights that are missing, or taken away."""

from __future__ import annotations

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.control_plane import until
from tests.integration.watch.observing import Bench

RBAC = "/apis/rbac.authorization.k8s.io/v1"


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
