"""Watching: what is seen, how soon, and what it costs. The core alone, without entries on it."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Iterator, Sequence

from bench.figures import Figure, cpu_of_self
from bench.plane import NAMESPACE, plane
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import Matched, ResourceQuery, View
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.events import ObjectList
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.repair import Hole, Repair, RepairLimits
from devops_bench.k8s.watch.types import Held, StateInfo, Subscription
from devops_bench.k8s.watch.watcher import Watcher

_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_QUERY = ResourceQuery("configmaps", NAMESPACE, name="it")
_IT = Subscription("it", (_QUERY,))
_MERGE = "application/merge-patch+json"

RECALL = {0.0: 100, 0.01: 100, 0.1: 100, 1.0: 100}
"""How long violations last, in seconds, and how many of each; fewer where each takes a second."""


class _Eye:
    """Notes when each value was first seen."""

    def __init__(self) -> None:
        self.seen: dict[str, float] = {}
        self.states = 0
        self.gaps: list[Gap] = []

    def on_state(self, subscription: str, view: View, state: StateInfo) -> None:  # noqa: ARG002
        self.states += 1
        reading = view.read(_QUERY)
        if isinstance(reading, Matched) and reading.objects:
            data = reading.objects[0].data.get("data")
            if isinstance(data, dict):
                self.seen.setdefault(str(data.get("v")), time.monotonic())

    def on_gap(self, subscription: str, gap: Gap) -> None:  # noqa: ARG002
        self.gaps.append(gap)


def measure() -> Sequence[Figure]:
    """Measure everything on one plane."""
    with plane() as (_, client, _reader):
        client.request("POST", _MAPS, body=_body("start"), timeout_sec=10)
        return [
            *[_recall(client, span, times) for span, times in RECALL.items()],
            *_barrier_and_fence(client),
            *_burst(client),
            *_repair(client),
        ]


def _body(v: str, name: str = "it") -> JsonObject:
    return {"metadata": {"name": name}, "data": {"v": v}}


def _put(client: ApiClient, v: str, name: str = "it") -> int:
    answer = client.request(
        "PATCH", f"{_MAPS}/{name}", body=_body(v, name), content_type=_MERGE, timeout_sec=10
    )
    return int(KubeObject(answer).resource_version)


@contextlib.contextmanager
def _watching(client: ApiClient, eye: _Eye, *subscriptions: Subscription) -> Iterator[Watcher]:
    watcher = Watcher(client, Discovery(client), eye)
    try:
        started = watcher.start(subscriptions or (_IT,), 30)
        assert not started.sampled, started.sampled
        yield watcher
    finally:
        watcher.stop()


def _recall(client: ApiClient, span: float, times: int) -> Figure:
    eye = _Eye()
    pause = threading.Event()
    with _watching(client, eye) as watcher:
        for number in range(times):
            _put(client, f"bad-{span}-{number}")
            if span:
                pause.wait(span)
            _put(client, "good")
        assert watcher.fence(20).why_not("it") is None
    found = sum(1 for value in eye.seen if value.startswith("bad-"))
    # A sample every 5 s sees a violation if one falls into it: its length and the 8 ms of a write.
    sampled = (span + 0.008) / 5.0 * 100
    return Figure(
        f"violations of {span * 1000:.0f} ms found",
        f"{found} of {times}",
        f"sampling every 5 s would see {sampled:.2g} %",
        f"{found / times:.0%}",
        "100%",
        found == times,
    )


def _barrier_and_fence(client: ApiClient) -> list[Figure]:
    kinds = ("configmaps", "secrets", "deployments", "services")
    subscriptions = [Subscription(kind, (ResourceQuery(kind, NAMESPACE),)) for kind in kinds]
    eye = _Eye()
    barriers: list[float] = []
    fences: list[float] = []
    requests: list[float] = []
    identity: list[float] = []
    for _ in range(5):
        with _watching(client, eye, *subscriptions) as watcher:
            started = time.monotonic()
            other = Watcher(client, Discovery(client), eye)
            barriers.append(other.start(subscriptions, 30).elapsed_sec)
            other.stop()
            while time.monotonic() - started < 2:
                _put(client, f"{time.monotonic()}")
            fence = watcher.fence(20)
            assert all(fence.why_not(kind) is None for kind in kinds)
            fences.append(fence.elapsed_sec)
            spent = watcher.requests() + sum(item.requests for item in fence.streams.values())
            identity.append(watcher.identity_requests())
            requests.append((spent - identity[-1]) / len(kinds))
    return [
        _plain("start barrier, 4 kinds", statistics.median(barriers) * 1000, "ms"),
        _plain("end fence, 4 kinds", statistics.median(fences) * 1000, "ms"),
        _plain("requests per kind: baseline, watch, fence", statistics.median(requests), "", 4.0),
        _plain("requests for the identity, all kinds together", statistics.median(identity), ""),
    ]


def _burst(client: ApiClient) -> list[Figure]:
    eye = _Eye()
    everything = Subscription("all", (ResourceQuery("configmaps", NAMESPACE),))
    for worker in range(8):
        client.request("POST", _MAPS, body=_body("0", f"w{worker}"), timeout_sec=10)

    def write(worker: int) -> None:
        for number in range(1, 1_251):
            _put(client, str(number), f"w{worker}")

    with _watching(client, eye, everything) as watcher:
        before = eye.states
        started, cpu = time.monotonic(), cpu_of_self()
        threads = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wrote = time.monotonic() - started
        assert watcher.fence(60).why_not("all") is None
        done = time.monotonic() - started
    shown = eye.states - before
    return [
        Figure(
            "a burst of 10,000 writes, all judged",
            f"{shown} states in {done:.1f} s",
            f"writing took {wrote:.1f} s, {cpu_of_self() - cpu:.1f} s CPU with the writers",
            f"{done - wrote:.2f} s behind",
            "nothing lost",
            shown == 8 * 1_250,
        )
    ]


class _Count:
    def __init__(self) -> None:
        self.states = 0

    def known(self, listing: ObjectList) -> None:  # noqa: ARG002
        self.states += 1

    def behind_hole(self, listing: ObjectList, hole: Hole) -> None:  # noqa: ARG002
        raise AssertionError("there is no hole")


def _repair(client: ApiClient) -> list[Figure]:
    start = _put(client, "repair")
    end = start
    number = 0
    while end < start + 1_000:
        number += 1
        end = _put(client, f"r{number}", "w0")
    resource = ApiResource("", "v1", "configmaps", "ConfigMap", namespaced=True)
    held = KubeObject(client.request("GET", f"{_MAPS}/it", timeout_sec=10))
    named = {(NAMESPACE, "it"): (held.uid, held.resource_version)}
    figures = []
    for what, known in (("all objects", None), ("a named object", named)):
        count = _Count()
        connection = Connection(client.config, 10)
        path = resource.path(NAMESPACE)
        repair = Repair(connection, path, Held(start, known), count, RepairLimits(), time.monotonic)
        started = time.monotonic()
        done = repair.run()
        took = time.monotonic() - started
        connection.close()
        text = f"repair of {done.rv - start} revisions, {what} ({done.requests} LISTs)"
        figures.append(_plain(text, took, "s"))
    return figures


def _plain(what: str, value: float, unit: str, aim: float | None = None) -> Figure:
    text = f"{value:,.0f} {unit}" if value >= 100 else f"{value:.2f} {unit}"
    wanted = "" if aim is None else f"<= {aim:g}"
    reached = None if aim is None else value <= aim
    return Figure(what, text.strip(), "", text.strip(), wanted, reached)
