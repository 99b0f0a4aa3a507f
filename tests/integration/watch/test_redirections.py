"""Kinds that are pointed at another server.

Discovery of a group stays incomplete once it was pointed elsewhere, so each test has a group of its
own, and all of them a control plane of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.control_plane import ControlPlane
from tests.integration.watch.faultproxy import Answer, Request
from tests.integration.watch.kinds import BACK, patch_service, pointed_at
from tests.integration.watch.observing import Bench, bench


@pytest.fixture
def at(own_plane: ControlPlane, tmp_path: Path) -> Iterator[Bench]:
    with bench(own_plane, tmp_path) as made:
        yield made


def test_an_api_service_that_was_pointed_elsewhere_is_a_gap(at: Bench) -> None:
    query = ResourceQuery("poddisruptionbudgets.policy", namespace=at.namespace)
    watcher, notes, _ = at.watch(Subscription("it", (query,)))
    patch_service(at, "v1.policy", pointed_at(at))
    try:
        why = watcher.fence(5).why_not("it")
        assert why is not None
        assert "v1.policy" in why
        assert notes.open_gaps("it")
    finally:
        patch_service(at, "v1.policy", BACK)
    again = watcher.fence(5)
    assert f"in between it was pointed at the Service {at.namespace}/mine" in (
        again.why_not("it") or ""
    )


@pytest.mark.parametrize(
    ("kind", "service", "away"),
    [
        ("cronjobs.batch", "v1.batch", False),
        ("ingresses.networking.k8s.io", "v1.networking.k8s.io", True),
    ],
)
def test_what_the_server_has_forgotten_of_an_api_service_is_listed(
    at: Bench, kind: str, service: str, away: bool
) -> None:
    query = ResourceQuery(kind, namespace=at.namespace)
    watcher, _, started = at.watch(Subscription("it", (query,)))
    assert "it" in started.watched, started.sampled
    old_watches = Forgetful()
    at.proxy.on_request = old_watches
    patch_service(at, service, {"metadata": {"labels": {"turn": at.namespace}}})
    if away:
        patch_service(at, service, pointed_at(at))
        patch_service(at, service, BACK)
    for n in range(20):
        at.put(str(n))
    why = watcher.fence(20).why_not("it")
    assert old_watches.asked
    assert ("pointed at the Service" in (why or "")) == away
    assert (why is None) != away


class Forgetful:
    """Answers watches of APIServices as a server that has just been started."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Request) -> Answer | None:
        if not request.watch or "apiservices" not in request.path:
            return None
        self.asked += 1
        return Answer(410)


def test_a_kind_that_another_server_serves_is_not_watched(at: Bench) -> None:
    patch_service(at, "v1.autoscaling", pointed_at(at))
    try:
        query = ResourceQuery("horizontalpodautoscalers.v1.autoscaling", at.namespace)
        _, _, started = at.watch(Subscription("it", (query,)))
        assert "it" in started.sampled
    finally:
        patch_service(at, "v1.autoscaling", BACK)
