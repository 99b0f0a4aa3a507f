"""Watching for others: subscriptions go in, every state of what they read comes out, or a gap."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ClusterError
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.appear import CRD_QUERY, Appeared
from devops_bench.k8s.watch.baseline import Baseline, BaselineReader
from devops_bench.k8s.watch.context import REQUEST_TIMEOUT_SEC, StreamContext
from devops_bench.k8s.watch.events import ObjectList, parse_version
from devops_bench.k8s.watch.facts import read_facts
from devops_bench.k8s.watch.fence import run_fences
from devops_bench.k8s.watch.front import CRD_SUBSCRIPTION, Front
from devops_bench.k8s.watch.housekeeping import Housekeeper
from devops_bench.k8s.watch.identity import Facts, read_definition
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.late import LateKinds
from devops_bench.k8s.watch.plan import Plan, Resolved, queries_on
from devops_bench.k8s.watch.results import FenceResult, Started, StreamFence, WatchOptions
from devops_bench.k8s.watch.stream import WatchStream
from devops_bench.k8s.watch.types import (
    Listener,
    NewGroup,
    NewStream,
    Recorder,
    StreamKey,
    Subscription,
)

log = structlog.get_logger(__name__)

_REFUSED_WATCH: Final = frozenset({400, 403, 404, 405})
_REST: Final = 0.25
"""What of a fence's time is kept for looking whether what is read is still the same."""
_LEAST_SEC: Final = 0.1


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
        self._judge = Judge(
            Front(
                listener,
                lambda view, state: self._late.definitions_moved(view, state),
                lambda gap: self._late.definitions_gap(gap),
            ),
            recorder,
            clock,
        )
        self._context = StreamContext(client, self._judge, clock, self._options.limits)
        self._streams: dict[StreamKey, WatchStream] = {}
        self._reading: dict[str, tuple[StreamKey, ...]] = {}
        self._facts = Facts(None, None, {}, 0)
        self._late = LateKinds((), {}, self._judge, self._watch_appeared)
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
        self._facts = self._read_facts(resources, min(REQUEST_TIMEOUT_SEC, timeout_sec))
        self._late = LateKinds(subscriptions, resolved, self._judge, self._watch_appeared)
        wanted = [*subscriptions, *self._late.wanted()]

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
        sampled.update(self._begin_absent(baseline, sampled))
        self._begin(baseline, wanted, resolved, sampled)
        # A kind may have appeared since discovery; then it has a stream from here on.
        self._judge.ask(lambda: None)
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
            timeout_sec: Seconds after which what is not reached is given up, > 0. Three quarters
                of them go to the streams, whatever the server does; one that hangs costs no more.
        """
        started = self._clock.monotonic()
        deadline = started + timeout_sec
        streams: dict[StreamKey, WatchStream] = {}
        results: list[StreamFence] = []
        # A kind that appeared before now gets its stream while its definition is being fenced.
        while new := {k: s for k, s in self._all_streams().items() if k not in streams}:
            self._renew(new.values(), deadline)
            left = deadline - timeout_sec * _REST - self._clock.monotonic()
            streams.update(new)
            results += run_fences(list(new.values()), self._context, left, self._stopping)
        changed = self._look_again(streams, deadline)
        fenced: dict[str, StreamFence] = {}
        for (key, stream), result in zip(streams.items(), results, strict=True):
            why = changed.get(key)
            final = result if why is None else replace(result, passed=False, how=why)
            fenced[str(key)] = final
            if not final.passed:
                self._tell_unfenced(key, stream, final, deadline)
        uncertain = self._late.uncertain(
            self._discovery,
            lambda resources: self._read_facts(resources, self._left(deadline)),
            self._started_at,
            self._left(deadline),
        )
        failure = self._settle(deadline)
        with self._lock:
            reading = {
                name: tuple(str(key) for key in keys if key in streams)
                for name, keys in self._reading.items()
            }
        elapsed = self._clock.monotonic() - started
        return FenceResult(fenced, reading, uncertain, self._judge.failure or failure, elapsed)

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

    def _begin_absent(self, baseline: Baseline, sampled: Mapping[str, str]) -> dict[str, str]:
        """Show the subscriptions whose kind does not exist that they match nothing."""
        if not self._late.ids:
            return {}
        if CRD_SUBSCRIPTION in sampled:
            return self._late.give_up(sampled[CRD_SUBSCRIPTION])
        keys = baseline.plan.streams[CRD_SUBSCRIPTION]
        with self._lock:
            self._reading.update(dict.fromkeys(self._late.ids, keys))
        self._late.begin(keys[0], self._clock.monotonic())
        return {}

    def _watch_appeared(
        self, key: StreamKey, news: Appeared, readers: Sequence[Subscription], at_sec: float
    ) -> bool:
        """Watch a kind that has appeared; on the judge's thread."""
        version = parse_version(news.definition.resource_version) or 0
        definition = read_definition(news.definition, key.resource.version, version)
        definitions = {**self._facts.definitions, key.resource: definition}
        facts = replace(self._facts, definitions=definitions)
        stream = WatchStream(key, self._context, facts)
        queries = tuple(dict.fromkeys(query for item in readers for query in item.queries))
        # One before, because a definition that the baseline shows may have objects at once.
        since_rv = max(1, news.since_rv - 1)
        with self._lock:
            if key in self._streams:
                return False
            if self._stopping.is_set():
                return True
            self._streams[key] = stream
            for item in readers:
                self._reading[item.id] = (*self._reading[item.id], key)
        nothing = ObjectList(since_rv, ())
        self._judge.add([NewStream(key, queries, tuple(readers), nothing, at_sec)])
        stream.start(since_rv, "the kind has only just appeared", repair=True)
        return True

    def _wait_open(self, deadline: float) -> None:
        for key, stream in self._all_streams().items():
            if not self._clock.wait(stream.opened, deadline - self._clock.monotonic()):
                pending = stream.pending()
                if pending is not None:
                    self._judge.gap(key, pending)

    def _renew(self, streams: Iterable[WatchStream], deadline: float) -> None:
        """Mend the streams whose open watch still reads objects by an older definition."""
        custom = [stream for stream in streams if stream.sameness.is_custom]
        if not custom:
            return
        resources = [stream.key.resource for stream in custom]
        try:
            now = self._read_facts(resources, self._left(deadline), self._facts)
            for stream in custom:
                why = stream.sameness.why_outdated(now)
                if why is not None:
                    stream.renew(why)
        except ClusterError as exc:
            # The look behind the fence decides.
            log.info("watch_definitions_not_read", why=str(exc))

    def _look_again(
        self, streams: Mapping[StreamKey, WatchStream], deadline: float
    ) -> dict[StreamKey, str]:
        """Return the streams whose kind is not what it was at the baseline, and why."""
        trouble = "there was no time"
        resources = [key.resource for key in streams]
        for delay in (0.0, 0.2, 1.0):
            if self._clock.monotonic() + delay >= deadline:
                break
            self._clock.wait(self._stopping, delay)
            try:
                now = self._read_facts(resources, self._left(deadline), self._facts)
                changes = {
                    key: stream.sameness.difference(now) or stream.sameness.why_outdated(now)
                    for key, stream in streams.items()
                }
            except ClusterError as exc:
                trouble = str(exc)
                continue
            return {key: why for key, why in changes.items() if why is not None}
        return dict.fromkeys(streams, f"whether it is still the same could not be read: {trouble}")

    def _tell_unfenced(
        self, key: StreamKey, stream: WatchStream, result: StreamFence, deadline: float
    ) -> None:
        gap = stream.pending()
        if gap is None:
            try:
                from_rv = self._judge.held(key, self._left(deadline)).rv
            except ClusterError:
                from_rv = 0
            gap = stream.new_gap("the end fence was not reached", from_rv, None, result.how)
        self._judge.gap(key, gap)

    def _settle(self, deadline: float) -> str | None:
        """Wait until the listener has been told everything; return why it has not been."""
        try:
            self._judge.ask(lambda: None, self._left(deadline))
        except ClusterError as exc:
            return str(exc)
        return None

    def _left(self, deadline: float) -> float:
        """Return how long one thing may take at the end of a fence, in seconds."""
        return min(REQUEST_TIMEOUT_SEC, max(_LEAST_SEC, deadline - self._clock.monotonic()))

    def _read_facts(
        self, resources: Sequence[ApiResource], timeout_sec: float, since: Facts | None = None
    ) -> Facts:
        facts = read_facts(self._client, resources, timeout_sec, self._clock, since)
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
