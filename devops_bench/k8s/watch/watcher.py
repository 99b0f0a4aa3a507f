"""Watching for others: subscriptions go in, every state of what they read comes out, or a gap."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ClusterError
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import Unreadable, View
from devops_bench.k8s.watch.appear import CRD_QUERY, AppearingKinds
from devops_bench.k8s.watch.baseline import Baseline, BaselineReader
from devops_bench.k8s.watch.context import REQUEST_TIMEOUT_SEC, StreamContext
from devops_bench.k8s.watch.events import ObjectList
from devops_bench.k8s.watch.fence import run_fences
from devops_bench.k8s.watch.front import CRD_SUBSCRIPTION, Front
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.housekeeping import Housekeeper
from devops_bench.k8s.watch.identity import Facts, read_facts
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.plan import Plan, Resolved, queries_on, waits_for_kind
from devops_bench.k8s.watch.results import FenceResult, Started, StreamFence, WatchOptions
from devops_bench.k8s.watch.stream import WatchStream
from devops_bench.k8s.watch.tables import Tables
from devops_bench.k8s.watch.types import (
    Listener,
    NewGroup,
    NewStream,
    Recorder,
    StateInfo,
    StreamKey,
    Subscription,
)

log = structlog.get_logger(__name__)

_REFUSED_WATCH: Final = frozenset({400, 403, 404, 405})


class Watcher:
    """Watches what some subscriptions read.

    Use it in this order: :meth:`start` once (it returns when every watched subscription has its
    baseline and its streams are open: the start barrier), :meth:`fence` as often as wanted,
    :meth:`stop`. Every state and every gap goes to the listener, on one thread.

    Args:
        client: The connection.
        discovery: Resolves kinds.
        listener: Who is told.
        recorder: Who writes down what was seen, if anybody.
        clock: Where times come from.
        options: What it may cost.
    """

    def __init__(
        self,
        client: ApiClient,
        discovery: Discovery,
        listener: Listener,
        *,
        recorder: Recorder | None = None,
        clock: Clock = SYSTEM_CLOCK,
        options: WatchOptions | None = None,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._clock = clock
        self._options = options or WatchOptions()
        self._judge = Judge(Front(listener, self._crds_moved, self._crd_gap), recorder, clock)
        self._context = StreamContext(client, self._judge, clock, self._options.limits)
        self._streams: dict[StreamKey, WatchStream] = {}
        self._reading: dict[str, tuple[StreamKey, ...]] = {}
        self._facts = Facts(None, None, {}, 0)
        self._appearing = AppearingKinds(frozenset())
        self._absent: tuple[Subscription, ...] = ()
        self._started_at = 0.0
        self._fact_requests = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._keeper = Housekeeper(self._all_streams, self._context, self._options.quiet_sec)

    def start(self, subscriptions: Sequence[Subscription], timeout_sec: float) -> Started:
        """Read the baselines, open the streams and begin to judge.

        Args:
            subscriptions: What is wanted; ids are unique.
            timeout_sec: Seconds that all of it may take, > 0.

        Returns:
            What is watched. When this returns, the baseline of each watched subscription was shown
            to the listener, and its streams are open or being mended (then a gap is told of).

        Raises:
            ClusterError: The server could not be asked what its kinds are or who serves them.
            ValueError: Two subscriptions have the same id, or one has no queries.
        """
        _require_sound(subscriptions)
        started = self._started_at = self._clock.monotonic()
        deadline = started + timeout_sec
        kinds = [query.kind for item in subscriptions for query in item.queries]
        resolved: Resolved = self._discovery.resolve_all([*kinds, CRD_QUERY.kind], timeout_sec)
        resources = [item for item in resolved.values() if isinstance(item, ApiResource)]
        self._facts = self._read_facts(resources)
        wanted = [*subscriptions, *self._crd_subscription(subscriptions, resolved)]

        def make_stream(key: StreamKey, plan: Plan) -> WatchStream:
            queries = queries_on(key, wanted, resolved, plan)
            names = {query.name for query in queries}
            only = next(iter(names)) if len(names) == 1 else None
            return WatchStream(key, self._context, self._facts, only)

        reader = BaselineReader(wanted, resolved, self._facts, make_stream, self._clock, deadline)
        baseline = reader.read()
        self._judge.start()
        refused = self._open(baseline)
        sampled = {**baseline.plan.sampled, **refused}
        self._begin(baseline, wanted, resolved, sampled)
        sampled.update(self._begin_absent(sampled))
        self._wait_open(deadline)
        self._keeper.start()
        self._judge.ask(lambda: None)
        watched = {
            name: tuple(map(str, keys))
            for name, keys in self._reading.items()
            if name != CRD_SUBSCRIPTION
        }
        sampled.pop(CRD_SUBSCRIPTION, None)
        elapsed = self._clock.monotonic() - started
        return Started(watched, sampled, self._facts.unverified(), elapsed, self.requests())

    def fence(self, timeout_sec: float) -> FenceResult:
        """Make sure that everything up to now was judged.

        A stream for which that cannot be shown is told of as an open gap.

        Args:
            timeout_sec: Seconds after which what is not reached is given up, > 0.
        """
        started = self._clock.monotonic()
        deadline = started + timeout_sec
        streams: dict[StreamKey, WatchStream] = {}
        results: list[StreamFence] = []
        # A kind that appeared before now gets its stream while its definition is being fenced.
        while new := {k: s for k, s in self._all_streams().items() if k not in streams}:
            left = max(0.1, deadline - self._clock.monotonic())
            streams.update(new)
            results += run_fences(list(new.values()), self._context, left, self._stopping)
        changed = self._look_again(streams)
        fenced: dict[str, StreamFence] = {}
        for (key, stream), result in zip(streams.items(), results, strict=True):
            why = changed.get(key)
            final = result if why is None else replace(result, passed=False, how=why)
            fenced[str(key)] = final
            if not final.passed:
                self._tell_unfenced(key, stream, final)
        uncertain = self._uncertain_kinds()
        self._settle()
        with self._lock:
            reading = {
                name: tuple(str(key) for key in keys if key in streams)
                for name, keys in self._reading.items()
            }
        elapsed = self._clock.monotonic() - started
        return FenceResult(fenced, reading, uncertain, self._judge.failure, elapsed)

    def again(self, subscription: str) -> None:
        """Show the newest judged state of a subscription once more (origin ``again``)."""
        self._judge.again(subscription)

    def identity_requests(self) -> int:
        """Return how many of :meth:`requests` looked whether what is read is still the same."""
        return self._fact_requests

    def requests(self) -> int:
        """Return how many requests were sent until now, without discovery and fences."""
        streams = sum(stream.total_requests() for stream in self._all_streams().values())
        return streams + self._keeper.requests + self._fact_requests

    def stop(self, timeout_sec: float = 5.0) -> bool:
        """End everything. Safe to call twice, and without a start.

        Returns:
            Whether every thread has ended within ``timeout_sec`` seconds.
        """
        deadline = self._clock.monotonic() + timeout_sec
        self._stopping.set()
        streams = self._all_streams().values()
        for stream in streams:
            pending = stream.pending()
            if pending is not None:
                self._judge.gap(stream.key, pending)
            stream.stop()
        self._keeper.stop(deadline - self._clock.monotonic())
        ended = [stream.join(deadline - self._clock.monotonic()) for stream in streams]
        return self._judge.stop(deadline - self._clock.monotonic()) and all(ended)

    def _crd_subscription(
        self, subscriptions: Sequence[Subscription], resolved: Resolved
    ) -> list[Subscription]:
        self._absent = tuple(item for item in subscriptions if waits_for_kind(item, resolved))
        if not self._absent:
            return []
        kinds = frozenset(query.kind for item in self._absent for query in item.queries)
        self._appearing = AppearingKinds(kinds)
        return [Subscription(CRD_SUBSCRIPTION, (CRD_QUERY,))]

    def _open(self, baseline: Baseline) -> dict[str, str]:
        """Open every watch; return the subscriptions for which that is refused, and why."""
        refused: dict[StreamKey, str] = {}
        for key, item in baseline.listed.items():
            why = item.stream.try_open(item.listing.rv, _REFUSED_WATCH)
            if why is not None:
                refused[key] = f"{key} cannot be watched: {why}"
        return {
            name: next(refused[key] for key in keys if key in refused)
            for name, keys in baseline.plan.streams.items()
            if any(key in refused for key in keys)
        }

    def _begin(
        self,
        baseline: Baseline,
        wanted: Sequence[Subscription],
        resolved: Resolved,
        sampled: Mapping[str, str],
    ) -> None:
        """Hand the baselines to the judge and the connections to their threads."""
        rv = baseline.merged_rv
        reading = {
            name: keys for name, keys in baseline.plan.streams.items() if name not in sampled
        }
        used = {key for keys in reading.values() for key in keys}
        listed = {key: item for key, item in baseline.listed.items() if key in used}
        groups = [
            NewGroup(keys, tuple(item for item in members if item.id in reading), rv)
            for keys, members in baseline.merged.items()
        ]
        self._judge.add(
            [
                NewStream(
                    key,
                    tuple(queries_on(key, wanted, resolved, baseline.plan)),
                    tuple(item for item in wanted if key in reading.get(item.id, ())),
                    one.listing,
                    one.at_sec,
                )
                for key, one in listed.items()
            ],
            [group for group in groups if group.readers],
        )
        with self._lock:
            self._reading.update(reading)
            self._streams.update({key: item.stream for key, item in listed.items()})
        for key, item in baseline.listed.items():
            if key in used:
                item.stream.start(item.listing.rv, item.stream.trouble or None)
            else:
                item.stream.discard()

    def _begin_absent(self, sampled: Mapping[str, str]) -> dict[str, str]:
        """Show the subscriptions whose kind does not exist that they match nothing."""
        if CRD_SUBSCRIPTION in sampled:
            why = f"its kind may appear, and {sampled[CRD_SUBSCRIPTION]}"
            absent, self._absent = self._absent, ()
            return {item.id: why for item in absent}
        now = self._clock.monotonic()
        with self._lock:
            keys = self._reading.get(CRD_SUBSCRIPTION, ())
            self._reading.update({item.id: keys for item in self._absent})
        for item in self._absent:
            self._judge.show(item.id, Tables(item.queries), StateInfo(0, now, "baseline"))
        return {}

    def _crds_moved(self, view: View, state: StateInfo) -> None:
        """Start to watch kinds that have appeared; on the judge's thread."""
        for appeared in self._appearing.look(view, state.rv):
            members: dict[StreamKey, list[Subscription]] = {}
            for item in self._absent:
                if item.queries[0].kind == appeared.kind:
                    namespaced = appeared.resource.namespaced
                    namespace = item.queries[0].namespace if namespaced else None
                    members.setdefault(StreamKey(appeared.resource, namespace), []).append(item)
            for key, readers in members.items():
                self._watch_appeared(key, appeared.since_rv, readers, state.at_sec)

    def _watch_appeared(
        self, key: StreamKey, since_rv: int, readers: Sequence[Subscription], at_sec: float
    ) -> None:
        stream = WatchStream(key, self._context, self._facts)
        queries = tuple(dict.fromkeys(query for item in readers for query in item.queries))
        nothing = ObjectList(since_rv, ())
        self._judge.add([NewStream(key, queries, tuple(readers), nothing, at_sec)])
        with self._lock:
            if self._stopping.is_set():
                return
            self._streams[key] = stream
            for item in readers:
                self._reading[item.id] = (*self._reading[item.id], key)
        stream.start(since_rv, "the kind has only just appeared", repair=True)

    def _crd_gap(self, gap: Gap) -> None:
        """A definition that was missed may have been a kind's whole life."""
        for item in self._absent:
            self._judge.tell(item.id, gap)

    def _wait_open(self, deadline: float) -> None:
        for key, stream in self._all_streams().items():
            if not self._clock.wait(stream.opened, deadline - self._clock.monotonic()):
                pending = stream.pending()
                if pending is not None:
                    self._judge.gap(key, pending)

    def _look_again(self, streams: Mapping[StreamKey, WatchStream]) -> dict[StreamKey, str]:
        """Return the streams whose kind is not what it was at the baseline, and why."""
        trouble = ""
        for delay in (0.0, 0.2, 1.0):
            self._clock.wait(self._stopping, delay)
            try:
                resources = [key.resource for key in streams]
                now = self._read_facts(resources)
            except ClusterError as exc:
                trouble = f"whether it is still the same could not be read: {exc}"
                continue
            changes = {key: stream.changed(now) for key, stream in streams.items()}
            return {key: why for key, why in changes.items() if why is not None}
        return dict.fromkeys(streams, trouble)

    def _uncertain_kinds(self) -> dict[str, str]:
        """Return the subscriptions whose kind may have appeared in a way that is not watched."""
        waiting = self._appearing.waiting()
        if not waiting or not self._absent:
            return {}
        found = self._discovery.resolve_all(waiting, REQUEST_TIMEOUT_SEC, fresh=True)
        uncertain: dict[str, str] = {}
        for item in self._absent:
            kind = item.queries[0].kind
            answer = found.get(kind)
            if isinstance(answer, Unreadable):
                uncertain[item.id] = answer.reason
            elif isinstance(answer, ApiResource) and not self._by_definition(answer):
                uncertain[item.id] = f"{answer} has appeared without a CustomResourceDefinition"
        for name, why in uncertain.items():
            gap = Gap("kinds", 1, why, 0, None, self._started_at, None, False, "not closed")
            self._judge.tell(name, gap)
        return uncertain

    def _by_definition(self, resource: ApiResource) -> bool:
        """Return whether a CustomResourceDefinition is behind a kind: then its stream tells."""
        try:
            return resource in self._read_facts([resource]).schemas
        except ClusterError:
            return False

    def _tell_unfenced(self, key: StreamKey, stream: WatchStream, result: StreamFence) -> None:
        gap = stream.pending()
        if gap is None:
            try:
                from_rv = self._judge.held(key).rv
            except ClusterError:
                from_rv = 0
            gap = stream.new_gap("the end fence was not reached", from_rv, None, result.how)
        self._judge.gap(key, gap)

    def _settle(self) -> None:
        """Wait until the listener has been told everything."""
        with contextlib.suppress(ClusterError):  # the judge's failure is part of the result
            self._judge.ask(lambda: None)

    def _read_facts(self, resources: Sequence[ApiResource]) -> Facts:
        facts = read_facts(self._client, resources, REQUEST_TIMEOUT_SEC)
        self._fact_requests += facts.requests
        return facts

    def _all_streams(self) -> dict[StreamKey, WatchStream]:
        with self._lock:
            return dict(self._streams)


def _require_sound(subscriptions: Sequence[Subscription]) -> None:
    ids = [item.id for item in subscriptions]
    if len(set(ids)) != len(ids):
        raise ValueError("two subscriptions have the same id")
    empty = [item.id for item in subscriptions if not item.queries]
    if empty:
        raise ValueError(f"the subscription {empty[0]!r} reads nothing")
