"""A server that takes connections and answers nobody costs no more than the time allowed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from devops_bench.k8s.watch.results import FenceResult
from devops_bench.k8s.watch.types import Subscription
from tests.integration.watch.faultproxy import Answer, Request
from tests.integration.watch.observing import Bench

_FENCE_SEC = 2.0
_MUCH_LATER_SEC = 12.0
"""One answer that is waited for in vain costs ten seconds, so less than two of them."""


@pytest.fixture
def silence(at: Bench) -> Iterator[threading.Event]:
    """Set it, and the server answers nobody until the test is over."""
    silent, over = threading.Event(), threading.Event()

    def hang(_: Request) -> Answer | None:
        if silent.is_set():
            over.wait(60)
            return Answer(503)
        return None

    at.proxy.on_request = hang
    yield silent
    over.set()


def ended(work: Callable[[], FenceResult]) -> FenceResult:
    """Return what ``work`` returns, which must not take much longer than it was allowed to."""
    found: list[FenceResult] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(_MUCH_LATER_SEC)
    assert found, "the fence goes on"
    return found[0]


def test_a_fence_ends_although_nothing_is_answered(at: Bench, silence: threading.Event) -> None:
    at.put("good")
    later = Subscription("later", (at.query("gizmosthatneverare"),), may_appear=True)
    kinds = [Subscription(kind, (at.query(kind),)) for kind in ("configmaps", "secrets")]
    watcher, notes, _ = at.watch(*kinds, later)
    silence.set()
    fence = ended(lambda: watcher.fence(_FENCE_SEC))
    for name in ("configmaps", "secrets", "later"):
        assert fence.why_not(name) is not None
        assert notes.open_gaps(name)


def test_an_identity_that_is_not_answered_ends_it_too(at: Bench) -> None:
    """Every stream is fenced, and only what is looked at afterwards hangs."""
    at.put("good")
    watcher, notes, _ = at.watch(Subscription("it", (at.query(),)))
    over = threading.Event()

    def hang(request: Request) -> Answer | None:
        if request.path.endswith(("/kube-system", "/apiservices")):
            over.wait(60)
        return None

    at.proxy.on_request = hang
    try:
        why = ended(lambda: watcher.fence(_FENCE_SEC)).why_not("it")
    finally:
        over.set()
    assert "whether it is still the same could not be read" in (why or "")
    assert notes.open_gaps("it")
