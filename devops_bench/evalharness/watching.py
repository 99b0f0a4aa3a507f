"""Entries on a watcher: what it shows is judged here, and goes to whoever folds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import structlog

from devops_bench.core.clock import Clock
from devops_bench.core.errors import ClusterError
from devops_bench.core.faults import named
from devops_bench.k8s.view import View
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult, Started
from devops_bench.k8s.watch.tables import Step as WatchStep
from devops_bench.k8s.watch.types import Listener, Recorder, StateInfo, Subscription
from devops_bench.results.evidence.records import EvidenceSink, Step, WatchName
from devops_bench.verification.base import Check
from devops_bench.verification.combinators import judge, leaves_of, queries_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)

FENCE_TIMEOUT_SEC = 20.0
"""What a fence may take before it counts as not reached; three quarters of it are for streams."""

_START_TRIES = 3
_RETRY_SEC = 0.5


class Watch(Protocol):
    """What is needed of a :class:`~devops_bench.k8s.watch.watcher.Watcher`."""

    def start(self, subscriptions: Sequence[Subscription], timeout_sec: float) -> Started:
        """Read the baselines and open the streams."""
        ...

    def fence(self, timeout_sec: float) -> FenceResult:
        """Make sure that everything up to now was judged."""
        ...

    def again(self, subscription: str) -> None:
        """Show the newest judged state once more."""
        ...

    def stop(self, timeout_sec: float = 5.0) -> bool:
        """End everything."""
        ...


WatchFactory: TypeAlias = Callable[[Listener, Recorder, Clock], Watch]
"""Makes a watcher that was not started."""

OnState: TypeAlias = Callable[[str, VerificationResult, StateInfo], None]
OnGap: TypeAlias = Callable[[str, Gap], None]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which entries are watched.

    Attributes:
        watched: The streams of each entry that is watched, for the reader.
        sampled: Why an entry is not watched.
        unverified: What about the identity of the cluster could not be fixed, for the reader.
    """

    watched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sampled: Mapping[str, str] = field(default_factory=dict)
    unverified: tuple[str, ...] = ()


def why_not_watched(entry: VerificationEntry) -> str | None:
    """Return why an entry can never be watched, whatever the cluster says; ``None`` if it can."""
    probes = sorted({leaf.type for leaf in leaves_of(entry.check) if not isinstance(leaf, Check)})
    if probes:
        return f"{', '.join(probes)} looks for itself, so it cannot be watched"
    return None if queries_of(entry.check) else "it reads nothing that could be watched"


class EntryWatch:
    """A watcher whose subscriptions are entries.

    Args:
        entries: What is to be watched, as far as that is possible.
        factory: Makes the watcher; ``None`` when there is none.
        clock: Where time comes from.
        sink: Where what is seen is recorded.
        name: The watcher's name in the recording.
        on_state: Told of every judged state, on one thread.
        on_gap: Told of every gap, on the same thread.
    """

    def __init__(
        self,
        entries: Iterable[VerificationEntry],
        factory: WatchFactory | None,
        *,
        clock: Clock,
        sink: EvidenceSink,
        name: WatchName,
        on_state: OnState,
        on_gap: OnGap,
    ) -> None:
        self._entries = tuple(entries)
        self._factory = factory
        self._clock = clock
        self._recorder = _StepRecorder(sink, name)
        self._listener = _JudgingListener(self._entries, on_state, on_gap)
        self._watch: Watch | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def start(self, timeout_sec: float) -> Assignment:
        """Start to watch; never raises. What cannot be watched has to be sampled.

        Args:
            timeout_sec: Seconds that it may take, > 0.

        Returns:
            Which entries are watched. Their baselines have been judged, and their streams are open
            or a gap was told of.
        """
        reasons = {entry.name: why_not_watched(entry) for entry in self._entries}
        never = {name: why for name, why in reasons.items() if why is not None}
        subscriptions = [
            Subscription(entry.name, queries_of(entry.check), entry.may_appear)
            for entry in self._entries
            if entry.name not in never
        ]
        if self._factory is None or not subscriptions:
            return Assignment(
                {}, never | {item.id: "there is no watcher" for item in subscriptions}
            )
        started = self._started(self._factory, subscriptions, timeout_sec)
        if isinstance(started, str):
            return Assignment({}, never | dict.fromkeys((s.id for s in subscriptions), started))
        return Assignment(started.watched, never | dict(started.sampled), started.unverified)

    def fence(self, timeout_sec: float) -> FenceResult:
        """Make sure that everything up to now was judged; never raises."""
        watch = self._watch
        if watch is None:
            return _no_fence("nothing is watched")
        try:
            return watch.fence(timeout_sec)
        except Exception as exc:
            log.exception("watch.fence_failed")
            return _no_fence(f"the fence failed: {type(exc).__name__}: {exc}")

    def again(self, name: str) -> None:
        """Have the newest judged state of an entry judged once more."""
        if self._watch is not None:
            self._watch.again(name)

    def stop(self, timeout_sec: float) -> None:
        """End the watcher; never raises, safe to call twice and without a start."""
        with self._lock:
            self._stopped = True
            watch, self._watch = self._watch, None
        _stop(watch, timeout_sec)

    def _started(
        self, factory: WatchFactory, subscriptions: Sequence[Subscription], timeout_sec: float
    ) -> Started | str:
        """Return what is watched, or why nothing is."""
        deadline = self._clock.monotonic() + timeout_sec
        pause, why = threading.Event(), "there was no time"
        for attempt in range(_START_TRIES):
            left = deadline - self._clock.monotonic()
            if left <= 0 or self._stopped:
                break
            watch = factory(self._listener, self._recorder, self._clock)
            again = False
            try:
                started = watch.start(subscriptions, left)
            except ClusterError as exc:
                why, again = f"the watcher could not be started: {exc}", True
            except Exception as exc:
                log.exception("watch.start_failed")
                why = f"the watcher could not be started: {type(exc).__name__}: {exc}"
            else:
                with self._lock:
                    if not self._stopped:
                        self._watch = watch
                        return started
            _stop(watch, 1.0)
            if not again or attempt == _START_TRIES - 1:
                break
            self._clock.wait(pause, min(_RETRY_SEC, max(0.0, left)))
        return why


def _no_fence(why: str) -> FenceResult:
    return FenceResult(streams={}, subscriptions={}, uncertain={}, failure=why, elapsed_sec=0.0)


def _stop(watch: Watch | None, timeout_sec: float) -> None:
    if watch is None:
        return
    try:
        if not watch.stop(max(0.1, timeout_sec)):
            log.warning("watch.not_stopped")
    except Exception:
        log.exception("watch.stop_failed")


class _StepRecorder:
    """Writes down what changed."""

    def __init__(self, sink: EvidenceSink, name: WatchName) -> None:
        self._sink = sink
        self._name: WatchName = name

    def on_step(self, stream: str, step: WatchStep, state: StateInfo) -> None:
        self._sink.record(
            Step(self._name, stream, step.rv, state.at_sec, state.origin, step.updates)
        )


class _JudgingListener:
    """Judges what it is shown."""

    def __init__(
        self, entries: Iterable[VerificationEntry], on_state: OnState, on_gap: OnGap
    ) -> None:
        self._checks = {entry.name: entry.check for entry in entries}
        self._on_state = on_state
        self._on_gap = on_gap

    def on_state(self, subscription: str, view: View, state: StateInfo) -> None:
        try:
            result = judge(self._checks[subscription], view)
        except Exception as exc:
            log.warning("watch.judge_failed", entry=subscription, exc_info=True)
            result = VerificationResult.errored(f"the check broke: {named(exc)}")
        self._on_state(subscription, result, state)

    def on_gap(self, subscription: str, gap: Gap) -> None:
        self._on_gap(subscription, gap)
