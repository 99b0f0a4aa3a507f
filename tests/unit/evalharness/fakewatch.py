"""A watcher that shows what a test says, when the test says it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from devops_bench.core.clock import Clock
from devops_bench.core.errors import ClusterError
from devops_bench.evalharness.sampler import Look
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Reading, Snapshot, Unreadable
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult, Started, StreamFence
from devops_bench.k8s.watch.types import Listener, Origin, Recorder, StateInfo, Subscription
from devops_bench.results.evidence.records import EvidenceRecord
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry, parse_entries
from tests.unit.evalharness.helpers import WAIT_SEC, FakeRunner

STREAM = "configmaps in namespace default"
FAR_RV = 1_000_000


def valued(
    name: str, role: str = "safeguard", mode: str = "hold", **rest: object
) -> VerificationEntry:
    """Return an entry that wants the ConfigMap ``it`` to say ``good``."""
    if role == "safeguard":
        rest.setdefault("severity", "catastrophic")
    check = {
        "type": "resource_property",
        "kind": "ConfigMap",
        "resource_name": "it",
        "path": "data.v",
        "op": "eq",
        "value": "good",
    }
    entries, errors = parse_entries(
        [{"name": name, "role": role, "mode": mode, "check": check, **rest}]
    )
    assert errors == []
    return entries[0]


def reading(value: str | None) -> Reading:
    """Return what is read of the ConfigMap: ``None`` says that it cannot be read."""
    if value is None:
        return Unreadable("it cannot be read")
    return Matched((KubeObject({"metadata": {"name": "it"}, "data": {"v": value}}),))


class FakeWatch:
    """Implements ``Watch``. Calls to the listener come from whoever calls :meth:`show`."""

    def __init__(self, value: str = "good", sampled: Mapping[str, str] | None = None) -> None:
        self.sampled = dict(sampled or {})
        self.start_fails: Exception | None = None
        self.fence_fails: Exception | None = None
        self.why_not: str | None = None
        self.answers = True
        self.rv = 100
        self.during_fence: list[tuple[str, str]] = []
        self.after_list: list[tuple[str, str]] = []
        self.started = threading.Event()
        self.stopped = False
        self.fences = 0
        self._value = value
        self._subscriptions: dict[str, Subscription] = {}
        self._shown: dict[str, str | None] = {}

    def __call__(self, listener: Listener, recorder: Recorder, clock: Clock) -> FakeWatch:
        """Be the factory of itself."""
        self._listener, self._clock = listener, clock
        return self

    def start(self, subscriptions: Sequence[Subscription], timeout_sec: float) -> Started:
        if self.start_fails is not None:
            raise self.start_fails
        watched = [item for item in subscriptions if item.id not in self.sampled]
        self._subscriptions = {item.id: item for item in watched}
        for item in watched:
            self.show(item.id, self._value, origin="baseline")
        self.started.set()
        streams = {item.id: (STREAM,) for item in watched}
        return Started(streams, self.sampled, (), 0.0, 1)

    def show(self, name: str, value: str | None, *, origin: Origin = "event") -> int:
        """Show the next state; return its revision."""
        if origin != "again":
            self.rv += 1
        self._shown[name] = value
        view = Snapshot({query: reading(value) for query in self._subscriptions[name].queries})
        self._listener.on_state(name, view, StateInfo(self.rv, self._clock.monotonic(), origin))
        return self.rv

    def tell(self, name: str, gap: Gap) -> None:
        """Tell of a gap."""
        self._listener.on_gap(name, gap)

    def gap(self, *, closed: bool = False, over: bool = True, number: int = 1) -> Gap:
        """Return a gap that begins now."""
        now = self._clock.monotonic()
        to_rv, to_sec = (self.rv + 1, now + 1e-6) if over else (None, None)
        return Gap(STREAM, number, "a reset", self.rv, to_rv, now, to_sec, closed, "")

    def again(self, subscription: str) -> None:
        self.show(subscription, self._shown[subscription], origin="again")

    def fence(self, timeout_sec: float) -> FenceResult:
        self.fences += 1
        if self.fence_fails is not None:
            raise self.fence_fails
        for name, value in self.during_fence:
            self.show(name, value)
        end_rv = self.rv if self.answers else None
        for name, value in self.after_list:
            self.show(name, value)
        how = self.why_not or "a bookmark came"
        fence = StreamFence(STREAM, self.why_not is None, end_rv, how, 0.0, 1)
        names = dict.fromkeys(self._subscriptions, (STREAM,))
        return FenceResult({STREAM: fence}, names, {}, None, 0.0)

    def stop(self, timeout_sec: float = 5.0) -> bool:
        self.stopped = True
        return True


class FakeLooker(FakeRunner):
    """A runner that also looks, as the real one does."""

    def look(self, entry: VerificationEntry, timeout_sec: float) -> Look:
        return Look(self.run_entry(entry, timeout_sec), None)


class Records:
    """Keeps every record."""

    problem: str | None = None

    def __init__(self) -> None:
        self.all: list[EvidenceRecord] = []
        self.closed = False

    def record(self, record: EvidenceRecord) -> None:
        self.all.append(record)

    def difference(self) -> str:
        return ""

    def close(self) -> None:
        self.closed = True


UNREACHABLE = ClusterError("nobody answers")
NOT_YET = VerificationResult.failed("not yet")

__all__ = ["WAIT_SEC"]
