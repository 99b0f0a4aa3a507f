"""Hold entries: who observes them, and when.

A safeguard in hold mode is observed during the agent's turn by :class:`SafeguardMonitor`; an
objective in hold mode after it, by :func:`run_hold_window`. An objective never goes to the monitor
(it is not true yet when the turn begins), a safeguard never to the soak. Both fold what they see
by the same functions, and :func:`hold_verdict` judges both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.evalharness.book import BaselineFailure, ObservationBook, OnSample
from devops_bench.evalharness.limits import seconds_from_environment
from devops_bench.evalharness.observation import (
    HOLD_TRAILING_ERROR_SAMPLES,
    HoldObservation,
    _fold_error_sample,
    _fold_sample,
    hold_verdict,
)
from devops_bench.evalharness.sampler import EntryRunner, Sampler, SamplerGroup
from devops_bench.evalharness.soak import run_hold_window
from devops_bench.evalharness.watching import (
    FENCE_TIMEOUT_SEC,
    Assignment,
    EntryWatch,
    OnGap,
    WatchFactory,
)
from devops_bench.evalharness.window import Method
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult
from devops_bench.results.evidence.records import EvidenceSink, NullSink, Subscribed
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import HoldScope, VerificationEntry

__all__ = [
    "HOLD_TRAILING_ERROR_SAMPLES",
    "HoldObservation",
    "SafeguardMonitor",
    "_default_poll_interval",
    "_fold_error_sample",
    "_fold_sample",
    "hold_verdict",
    "run_hold_window",
]

log = structlog.get_logger(__name__)

DEFAULT_JOIN_TIMEOUT_SEC = 30.0
"""Enough for a sample at work and the last one after it, each at its own bound."""

DEFAULT_START_TIMEOUT_SEC = 30.0
"""What reading the baselines and opening the streams may take."""

_JOIN_SLACK_SEC = 1.0
_UNFINISHED = "its last sample did not end after the turn had ended"


def _default_poll_interval() -> float:
    """Return the seconds between two samples of an entry that does not say it itself.

    ``BENCH_HOLD_INTERVAL_SEC``; 5 when it is unset, and, with a logged warning, when it is no
    number, not finite or not positive.
    """
    return seconds_from_environment("BENCH_HOLD_INTERVAL_SEC", 5.0)


class SafeguardMonitor:
    """Observes safeguards while the agent has the cluster, and after it to the end of the run.

    What can be watched is watched: every stored state is judged. Each other entry is sampled by a
    thread of its own, so that a slow, hung or raising check neither delays nor stops the others.
    Daemon threads named ``safeguard-monitor`` do both.

    Args:
        entries: Safeguards in hold mode; none is fine.
        verifier: Who judges them; by default one without a cluster, for probes that need none.
        clock: Where time comes from.
        on_sample: Told of each sample or state that counted, from the thread that judged it.
        on_gap: Told of each gap of what an entry reads.
        watch: Makes the watcher; without one everything is sampled.
        sink: Where everything is recorded before it is folded.

    Attributes:
        unverified: What about the identity of what is watched could not be fixed; set by
            :meth:`start`.

    Raises:
        ValueError: An entry is no safeguard in hold mode, or two have the same name.
    """

    def __init__(
        self,
        entries: Iterable[VerificationEntry],
        *,
        verifier: EntryRunner | None = None,
        clock: Clock = SYSTEM_CLOCK,
        on_sample: OnSample | None = None,
        on_gap: OnGap | None = None,
        watch: WatchFactory | None = None,
        sink: EvidenceSink | None = None,
    ) -> None:
        self._entries = tuple(entries)
        _require_safeguards(self._entries)
        self._verifier: EntryRunner = verifier if verifier is not None else VerifierAgent()
        self._clock = clock
        self._on_gap = on_gap
        self._sink: EvidenceSink = sink if sink is not None else NullSink()
        methods = {entry.name: _sampled(entry, "") for entry in self._entries}
        self._book = ObservationBook(methods, clock=clock, on_sample=on_sample, sink=self._sink)
        self._watch = EntryWatch(
            self._entries,
            watch,
            clock=clock,
            sink=self._sink,
            name="turn",
            on_state=self._book.state,
            on_gap=self._note_gap,
        )
        self.unverified: tuple[str, ...] = ()
        self._watched: tuple[str, ...] = ()
        self._turn_samplers = SamplerGroup((), self._sampler, clock)
        self._run_samplers = SamplerGroup((), self._sampler, clock)
        self._started = False
        self._turn_over = False
        self._run_over = False
        self._stopped = False

    def start(self, timeout_sec: float = DEFAULT_START_TIMEOUT_SEC) -> dict[str, Method]:
        """Begin to observe every entry.

        Args:
            timeout_sec: Seconds that starting the watcher may take, > 0.

        Returns:
            How each entry is observed, by its name.

        Raises:
            ValueError: It was started or stopped before.
        """
        if self._started or self._stopped:
            raise ValueError("a monitor is started once")
        self._started = True
        assignment = self._watch.start(timeout_sec) if self._entries else Assignment()
        self.unverified = assignment.unverified
        methods = {entry.name: _method(entry, assignment) for entry in self._entries}
        for name, method in methods.items():
            self._book.observe(name, method)
            self._sink.record(_subscribed(name, method))
        self._watched = tuple(n for n, m in methods.items() if m.mode == "watched")
        sampled = [entry for entry in self._entries if entry.name not in self._watched]
        self._turn_samplers = SamplerGroup(_of_scope(sampled, "turn"), self._sampler, self._clock)
        self._run_samplers = SamplerGroup(_of_scope(sampled, "run"), self._sampler, self._clock)
        self._book.open()
        self._turn_samplers.start()
        self._run_samplers.start()
        return methods

    def await_baseline(self, timeout_sec: float) -> list[BaselineFailure]:
        """Wait until every entry holds and every stream is open, and begin the windows there.

        Args:
            timeout_sec: Seconds to wait at most.

        Returns:
            The entries of which that is not so; empty when the turn may begin.
        """
        deadline = self._clock.monotonic() + timeout_sec
        while True:
            failures = self._book.await_holding(deadline)
            if failures:
                return failures
            self._book.expect_again()
            for name in self._watched:
                self._watch.again(name)
            if self._book.begin_if_holding(self._watched, deadline):
                return []
            if self._clock.monotonic() >= deadline:
                reason = "whether it still holds could not be judged in time"
                return self._book.await_holding(deadline) or [
                    BaselineFailure(name, reason) for name in self._watched
                ]

    def end_turn(self, timeout_sec: float = DEFAULT_JOIN_TIMEOUT_SEC) -> FenceResult | None:
        """End the turn: the fence for what is watched, one last sample of the rest, beginning now.

        What is watched is watched on; an entry with ``hold_scope: run`` keeps its window. Bounded,
        safe to call twice or without :meth:`start`, and never raises. An entry that was not
        observed to the end of its window is an error unless it was violated.

        Args:
            timeout_sec: Seconds to wait at most.

        Returns:
            The fence, ``None`` where nothing is watched.
        """
        if self._turn_over or not self._started:
            return None
        self._turn_over = True
        give_up_at = self._clock.monotonic() + max(0.0, timeout_sec)
        self._turn_samplers.end(give_up_at)
        self._book.turn_ending()
        fence = self._fence(timeout_sec)
        if fence is not None:
            self._book.turn_ended(fence)
        self._join(self._turn_samplers, give_up_at)
        return fence

    def end_run(self, timeout_sec: float = DEFAULT_JOIN_TIMEOUT_SEC) -> FenceResult | None:
        """End what is observed after the turn, in the same way as :meth:`end_turn`."""
        if self._run_over or not self._turn_over:
            return None
        self._run_over = True
        give_up_at = self._clock.monotonic() + max(0.0, timeout_sec)
        self._run_samplers.end(give_up_at)
        self._book.run_ending()
        fence = self._fence(timeout_sec)
        if fence is not None:
            self._book.run_ended(fence)
        self._join(self._run_samplers, give_up_at)
        return fence

    def stop(self, join_timeout_sec: float = DEFAULT_JOIN_TIMEOUT_SEC) -> None:
        """End the turn and the run, where that was not done, and everything else.

        Bounded, safe to call twice or without :meth:`start`, and never raises.

        Args:
            join_timeout_sec: Seconds to wait at most for each.
        """
        self._stopped = True
        try:
            self.end_turn(join_timeout_sec)
            self.end_run(join_timeout_sec)
        finally:
            self._watch.stop(max(1.0, join_timeout_sec))
            unfinished = self._book.close(_UNFINISHED)
            if unfinished and self._started:
                log.warning("monitor.samples_unfinished", entries=unfinished)

    def get_observations(self) -> dict[str, HoldObservation]:
        """Return what was observed so far, by entry name: a copy, all of one moment."""
        return self._book.snapshot()

    def _fence(self, timeout_sec: float) -> FenceResult | None:
        if not self._watched:
            return None
        return self._watch.fence(max(0.1, min(timeout_sec, FENCE_TIMEOUT_SEC)))

    def _join(self, samplers: SamplerGroup, give_up_at: float) -> None:
        samplers.join(give_up_at - self._clock.monotonic() + _JOIN_SLACK_SEC)
        unfinished = self._book.cut_short(samplers.names, _UNFINISHED)
        if unfinished:
            log.warning("monitor.samples_unfinished", entries=unfinished)

    def _sampler(self, entry: VerificationEntry, ending: threading.Event) -> Sampler:
        return Sampler(
            entry,
            self._verifier,
            interval_sec=self._book.method(entry.name).interval_sec,
            book=self._book,
            ending=ending,
            clock=self._clock,
        )

    def _note_gap(self, name: str, gap: Gap) -> None:
        self._book.gap(name, gap)
        if self._on_gap is not None:
            self._on_gap(name, gap)


def _require_safeguards(entries: Sequence[VerificationEntry]) -> None:
    for entry in entries:
        if entry.role != "safeguard" or entry.resolved_mode != "hold":
            raise ValueError(
                f"the monitor takes safeguards in hold mode, {entry.name!r} is "
                f"{entry.role} in {entry.resolved_mode} mode"
            )
    names = [entry.name for entry in entries]
    if len(set(names)) != len(names):
        raise ValueError(f"the names of entries must differ: {sorted(names)}")


def _of_scope(entries: Iterable[VerificationEntry], scope: HoldScope) -> list[VerificationEntry]:
    return [entry for entry in entries if entry.hold_scope == scope]


def _sampled(entry: VerificationEntry, why: str) -> Method:
    interval = entry.hold_poll_interval_sec or _default_poll_interval()
    return Method.of(entry, "sampled", interval).because(why)


def _method(entry: VerificationEntry, assignment: Assignment) -> Method:
    streams = assignment.watched.get(entry.name)
    if streams is None:
        return _sampled(entry, assignment.sampled.get(entry.name, "there is no watcher"))
    return Method.of(entry, "watched").watching(streams)


def _subscribed(name: str, method: Method) -> Subscribed:
    return Subscribed(
        "turn",
        name,
        method.mode,
        method.streams,
        method.why_sampled,
        method.interval_sec if method.mode == "sampled" else None,
    )
