"""Objects, views and clocks for the tests of this package."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, Snapshot, View
from devops_bench.verification.base import Check


def kube_object(
    kind: str = "Deployment",
    name: str = "web",
    *,
    namespace: str = "shop",
    metadata: JsonObject | None = None,
    **fields: JsonValue,
) -> KubeObject:
    """An object with the usual metadata."""
    meta: JsonObject = {"name": name, "namespace": namespace, **(metadata or {})}
    return KubeObject({"kind": kind, "metadata": meta, **fields})


def view_of(check: Check, *objects: KubeObject) -> Snapshot:
    """A view in which everything the check reads matched ``objects``."""
    return Snapshot({query: Matched(objects) for query in check.queries()})


def view_with(check: Check, reading: Reading) -> Snapshot:
    """A view in which everything the check reads got one answer."""
    return Snapshot(dict.fromkeys(check.queries(), reading))


class FakeClock:
    """A clock that only moves when somebody waits, in full unless the event is set."""

    def __init__(self) -> None:
        self.time = 100.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        if not event.is_set():
            self.time += timeout_sec
        return event.is_set()


class FakeSource:
    """A source that answers each query by what a function says of the moment."""

    def __init__(
        self, answer: Callable[[ResourceQuery], Reading], *, cost_sec: float = 0.0
    ) -> None:
        self.answer = answer
        self.calls: list[tuple[ResourceQuery, ...]] = []
        self.timeouts: list[float] = []
        self.clock: FakeClock | None = None
        self.cost_sec = cost_sec

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> View:
        asked = tuple(queries)
        self.calls.append(asked)
        self.timeouts.append(timeout_sec)
        if self.clock is not None:
            self.clock.time += self.cost_sec
        return Snapshot({query: self.answer(query) for query in asked})
