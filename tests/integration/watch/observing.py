"""What the tests of watching share: a listener that keeps everything, and a bench to run one on."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient, load_connection
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, ResourceQuery, View
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import Started, WatchOptions
from devops_bench.k8s.watch.types import StateInfo, Subscription
from devops_bench.k8s.watch.watcher import Watcher
from tests.integration.watch.control_plane import ControlPlane
from tests.integration.watch.faultproxy import FaultProxy

_names = itertools.count(1)

ABSENT = "absent"
FENCE_SEC = 20.0


@dataclass(frozen=True)
class Seen:
    """One state: what the first query matched, by object name, as ``data.v`` (or ``spec.v``)."""

    rv: int
    origin: str
    values: tuple[dict[str, str], ...]


class Notes:
    """A listener that writes down everything."""

    def __init__(self, subscriptions: list[Subscription]) -> None:
        self._queries = {item.id: item.queries for item in subscriptions}
        self.states: dict[str, list[Seen]] = {item.id: [] for item in subscriptions}
        self.gap_notes: dict[str, dict[tuple[str, int], Gap]] = {
            item.id: {} for item in subscriptions
        }
        self.changed = threading.Condition()

    def on_state(self, subscription: str, view: View, state: StateInfo) -> None:
        values = tuple(_values(view, query) for query in self._queries[subscription])
        with self.changed:
            self.states[subscription].append(Seen(state.rv, state.origin, values))
            self.changed.notify_all()

    def on_gap(self, subscription: str, gap: Gap) -> None:
        with self.changed:
            self.gap_notes[subscription][gap.stream, gap.number] = gap
            self.changed.notify_all()

    def values(self, subscription: str, name: str = "it") -> list[str]:
        """Return every value that the object had, ``absent`` where it did not exist."""
        with self.changed:
            return [seen.values[0].get(name, ABSENT) for seen in self.states[subscription]]

    def gaps(self, subscription: str) -> list[Gap]:
        with self.changed:
            return list(self.gap_notes[subscription].values())

    def open_gaps(self, subscription: str) -> list[Gap]:
        return [gap for gap in self.gaps(subscription) if not gap.closed]

    def wait(self, what: str, done: Callable[[], bool], timeout_sec: float = 30.0) -> None:
        with self.changed:
            assert self.changed.wait_for(done, timeout_sec), f"not in time: {what}"


def _values(view: View, query: ResourceQuery) -> dict[str, str]:
    reading = view.read(query)
    assert isinstance(reading, Matched), reading
    return {obj.name: _value(obj) for obj in reading.objects}


def _value(obj: KubeObject) -> str:
    data = obj.data.get("data") or obj.data.get("spec")
    return str(data.get("v", "")) if isinstance(data, dict) else ""


class Bench:
    """A namespace on the plane, a watcher that goes through a proxy, and a way past it."""

    def __init__(self, plane: ControlPlane, folder: Path, token: str | None = None) -> None:
        self.plane = plane
        self.namespace = f"watch-{next(_names)}"
        self.proxy = FaultProxy(plane.api_port, plane.pki.ca)
        self._folder = folder
        self._token = token
        self._watchers: list[Watcher] = []
        self.create_namespace()

    def create_namespace(self) -> None:
        metadata: JsonObject = {"name": self.namespace}
        body: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self.plane.admin.request("POST", "/api/v1/namespaces", body=body, timeout_sec=10)

    def delete_namespace(self) -> None:
        """Delete the namespace, which is empty: no controller runs here that would end it."""
        path = f"/api/v1/namespaces/{self.namespace}"
        admin = self.plane.admin
        admin.request("DELETE", path, timeout_sec=10)
        namespace = admin.request("GET", path, timeout_sec=10)
        namespace["spec"] = {"finalizers": []}
        admin.request("PUT", f"{path}/finalize", body=namespace, timeout_sec=10)

    def query(self, kind: str = "configmaps", name: str | None = "it") -> ResourceQuery:
        return ResourceQuery(kind, namespace=self.namespace, name=name)

    def watch(
        self,
        *subscriptions: Subscription,
        token: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
        options: WatchOptions | None = None,
    ) -> tuple[Watcher, Notes, Started]:
        """Start a watcher through the proxy."""
        path = self._folder / f"{self.namespace}.kubeconfig"
        self.plane.kubeconfig(path, self.proxy.url, token or self._token)
        client = ApiClient(load_connection(path))
        notes = Notes(list(subscriptions))
        watcher = Watcher(client, Discovery(client), notes, clock=clock, options=options)
        self._watchers.append(watcher)
        started = watcher.start(subscriptions, 30)
        return watcher, notes, started

    def put(self, v: str, name: str = "it", kind: str = "configmaps") -> int:
        """Store a value, creating the object if it is not there; return its revision."""
        path = f"/api/v1/namespaces/{self.namespace}/{kind}"
        body: JsonObject = {"metadata": {"name": name}}
        body["stringData" if kind == "secrets" else "data"] = {"v": v}
        try:
            answer = self.plane.admin.request(
                "PATCH",
                f"{path}/{name}",
                body=body,
                content_type="application/merge-patch+json",
                timeout_sec=10,
            )
        except ApiError as exc:
            if exc.status != 404:
                raise
            answer = self.plane.admin.request("POST", path, body=body, timeout_sec=10)
        return int(KubeObject(answer).resource_version)

    def delete(self, name: str = "it", kind: str = "configmaps") -> None:
        path = f"/api/v1/namespaces/{self.namespace}/{kind}/{name}"
        self.plane.admin.request("DELETE", path, timeout_sec=10)

    def close(self) -> None:
        for watcher in self._watchers:
            assert watcher.stop(10), "a thread of the watcher did not end"
        self.proxy.close()


@contextlib.contextmanager
def bench(plane: ControlPlane, folder: Path) -> Iterator[Bench]:
    """Yield a bench and end what it started."""
    made = Bench(plane, folder)
    try:
        yield made
    finally:
        made.close()


def subscription(at: Bench) -> Subscription:
    return Subscription("it", (at.query(),))


def several(at: Bench) -> Subscription:
    """Reads more than one object by name, so that nothing is proven by an unchanged version."""
    return Subscription("it", (ResourceQuery("configmaps", namespace=at.namespace),))
