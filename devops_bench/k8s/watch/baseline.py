"""The first LIST of every stream, and what can be merged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from devops_bench.core.clock import Clock
from devops_bench.core.errors import ApiError, ClusterError
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.backoff import Backoff
from devops_bench.k8s.watch.events import ObjectList
from devops_bench.k8s.watch.identity import Facts
from devops_bench.k8s.watch.plan import Plan, Resolved, make_plan
from devops_bench.k8s.watch.stream import WatchStream
from devops_bench.k8s.watch.types import StreamKey, Subscription

_REFUSALS: Final = frozenset({400, 401, 403, 404, 405})


@dataclass(slots=True)
class Listed:
    """One stream with its first state.

    Attributes:
        stream: The stream, its connection open.
        listing: What it showed.
        at_sec: Monotonic seconds when that came.
    """

    stream: WatchStream
    listing: ObjectList
    at_sec: float


@dataclass(slots=True)
class Baseline:
    """What was listed, and how it is to be judged.

    Attributes:
        plan: What is watched and what is not.
        listed: Every stream that is watched.
        merged: For each set of streams that are read together, by whom.
        merged_rv: The revision at which all of them were listed.
    """

    plan: Plan
    listed: dict[StreamKey, Listed] = field(default_factory=dict)
    merged: dict[tuple[StreamKey, ...], list[Subscription]] = field(default_factory=dict)
    merged_rv: int = 0


class BaselineReader:
    """Reads the baselines of some subscriptions.

    Args:
        subscriptions: What is wanted.
        resolved: What each kind is.
        facts: Who serves it.
        make_stream: Makes a stream that was not started.
        clock: Where times come from.
        deadline: Monotonic seconds after which nothing is tried again.
    """

    def __init__(
        self,
        subscriptions: Sequence[Subscription],
        resolved: Resolved,
        facts: Facts,
        make_stream: Callable[[StreamKey, Plan], WatchStream],
        clock: Clock,
        deadline: float,
    ) -> None:
        self._subscriptions = subscriptions
        self._resolved = resolved
        self._facts = facts
        self._make_stream = make_stream
        self._clock = clock
        self._deadline = deadline
        self._narrow: set[ApiResource] = set()
        self._refused: dict[StreamKey, str] = {}
        self._listed: dict[StreamKey, Listed] = {}

    def read(self) -> Baseline:
        """LIST every stream; what cannot be listed or merged is sampled."""
        plan = self._list_all()
        incomparable = self._incomparable(plan)
        plan = _without(plan, lambda keys: _why_not_merged(keys, incomparable))
        rv, failed = self._align(plan)
        plan = _without(plan, lambda keys: _first(keys, failed) if len(keys) > 1 else None)
        baseline = Baseline(plan, merged_rv=rv)
        for key in plan.keys():  # noqa: SIM118
            baseline.listed[key] = self._listed.pop(key)
        for subscription in self._subscriptions:
            keys = plan.streams.get(subscription.id, ())
            if len(keys) > 1:
                baseline.merged.setdefault(tuple(sorted(keys, key=str)), []).append(subscription)
        for unused in self._listed.values():
            unused.stream.discard()
        return baseline

    def _list_all(self) -> Plan:
        while True:
            plan = self._plan()
            missing = [key for key in plan.keys() if key not in self._listed]  # noqa: SIM118
            if not missing:
                return plan
            self._list(missing[0], plan)

    def _plan(self) -> Plan:
        return make_plan(
            self._subscriptions, self._resolved, self._facts, self._narrow, self._refused
        )

    def _list(self, key: StreamKey, plan: Plan) -> None:
        stream = self._make_stream(key, plan)
        backoff = Backoff()
        while True:
            try:
                listing = stream.baseline()
            except ClusterError as exc:
                refused = isinstance(exc, ApiError) and exc.status in _REFUSALS
                delay = backoff.next(exc.retry_after_sec if isinstance(exc, ApiError) else None)
                if refused or self._clock.monotonic() + delay > self._deadline:
                    self._refuse(key, exc)
                    stream.discard()
                    return
                self._clock.wait(stream.stopping, delay)
                continue
            self._listed[key] = Listed(stream, listing, self._clock.monotonic())
            return

    def _refuse(self, key: StreamKey, exc: ClusterError) -> None:
        wide = key.namespace is None and key.resource.namespaced
        forbidden = isinstance(exc, ApiError) and exc.status == 403
        if wide and forbidden and key.resource not in self._narrow:
            # Whoever reads all namespaces gets the same stream again, and then this reason.
            self._narrow.add(key.resource)
        self._refused[key] = f"{key} could not be listed: {exc}"

    def _incomparable(self, plan: Plan) -> dict[ApiResource, str]:
        """Return the kinds whose revisions cannot be compared with those of the first kind.

        The LISTs were made one after the other, so with one etcd behind them their revisions do not
        go back, and another LIST of the first kind is not older than any of them.
        """
        kinds = {key.resource for keys in plan.streams.values() if len(keys) > 1 for key in keys}
        in_order = [item for key, item in self._listed.items() if key.resource in kinds]
        if len(kinds) < 2:
            return {}
        first = in_order[0]
        try:
            last_rv = first.stream.version()
        except ClusterError as exc:
            return {item.stream.key.resource: str(exc) for item in in_order}
        return {
            item.stream.key.resource: (
                f"resourceVersions of {first.stream.key.resource} and {item.stream.key.resource} "
                "cannot be compared: they do not come from one etcd"
            )
            for item in in_order
            if not first.listing.rv <= item.listing.rv <= last_rv
        }

    def _align(self, plan: Plan) -> tuple[int, dict[StreamKey, str]]:
        """LIST the streams that are read together as they were at the newest of their LISTs."""
        together = {key: None for keys in plan.streams.values() if len(keys) > 1 for key in keys}
        rv = max((self._listed[key].listing.rv for key in together), default=0)
        failed: dict[StreamKey, str] = {}
        for key in together:
            item = self._listed[key]
            if item.listing.rv == rv:
                continue
            try:
                item.listing = item.stream.exact(rv)
            except ClusterError as exc:
                failed[key] = f"{key} could not be listed as it was at {rv}: {exc}"
            item.at_sec = self._clock.monotonic()
        return rv, failed


def _without(plan: Plan, why: Callable[[tuple[StreamKey, ...]], str | None]) -> Plan:
    """Return the plan without the subscriptions that there is a reason against."""
    reasons = {name: why(keys) for name, keys in plan.streams.items()}
    against = {name: reason for name, reason in reasons.items() if reason is not None}
    kept = {name: keys for name, keys in plan.streams.items() if name not in against}
    return Plan(kept, plan.absent, {**plan.sampled, **against})


def _why_not_merged(
    keys: tuple[StreamKey, ...], incomparable: Mapping[ApiResource, str]
) -> str | None:
    if len({key.resource for key in keys}) < 2:
        return None
    return next((incomparable[key.resource] for key in keys if key.resource in incomparable), None)


def _first(keys: tuple[StreamKey, ...], reasons: Mapping[StreamKey, str]) -> str | None:
    return next((reasons[key] for key in keys if key in reasons), None)
