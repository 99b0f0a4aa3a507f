"""The post-run phase: everything that is judged after the turn, under one deadline.

Safeguards in assert mode, converge entries and soaks begin at once, each on a thread of its own,
so that N of them take as long as the slowest and none waits for another. Objectives in assert mode
are judged once, when the converge entries have ended.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.faults import named
from devops_bench.evalharness.converge import Converge
from devops_bench.evalharness.feeds import Feeds, Stream
from devops_bench.evalharness.hold import _default_poll_interval
from devops_bench.evalharness.limits import verification_timeout_sec
from devops_bench.evalharness.observation import HoldObservation
from devops_bench.evalharness.sampler import HOLD_SAMPLE_TIMEOUT_SEC, EntryRunner, Look, Looker
from devops_bench.evalharness.soak import Soak, SoakContext
from devops_bench.evalharness.watching import WatchFactory
from devops_bench.results.evidence.records import (
    EvidenceSink,
    Marked,
    NullSink,
    Sampled,
    Subscribed,
)
from devops_bench.verification.combinators import own_timeout_sec_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

EntryOutcome: TypeAlias = VerificationResult | HoldObservation
"""What an entry came to: one result, or in hold mode what was observed."""

GRACE_SEC = 5.0
"""How long past its bound an entry may still hand in a result, before it is given up."""

OPEN_WAIT_SEC = 3.0
"""How long a soak or a converge entry waits for its streams before it is sampled instead."""

_RESERVE_SHARE = 0.1
_RESERVE_MAX_SEC = 10.0


@dataclass(frozen=True, slots=True)
class _Job:
    """One entry at work.

    Attributes:
        entry: The entry.
        run: Judges it.
        give_up_at: When it counts as hung, on the clock's monotonic axis.
        cut: Ends a soak for a reason and returns what it saw, ``None`` for other modes.
    """

    entry: VerificationEntry
    run: Callable[[], EntryOutcome]
    give_up_at: float
    cut: Callable[[str], HoldObservation] | None = None


class _NotJudgedError(Exception):
    """An entry was not judged; the message says why."""


class PostRun:
    """Judges what has to be judged after the turn.

    Args:
        entries: All entries of the task; safeguards in hold mode are passed over, since the
            monitor observed them.
        runner: Who judges.
        total_sec: Seconds for the whole phase, > 0.
        clock: Where time comes from.
        on_outcome: Told of each entry as it ends, from the thread that called :meth:`run`.
        watch: Makes a watcher for converge entries and soaks; without one they are sampled.
        sink: Where everything is recorded before it counts.

    Raises:
        ValueError: An objective in hold mode has no window.
    """

    def __init__(
        self,
        entries: Iterable[VerificationEntry],
        runner: EntryRunner,
        *,
        total_sec: float,
        clock: Clock = SYSTEM_CLOCK,
        on_outcome: Callable[[VerificationEntry, EntryOutcome], None] | None = None,
        watch: WatchFactory | None = None,
        sink: EvidenceSink | None = None,
    ) -> None:
        self._entries = tuple(entries)
        self._runner = runner
        self._total = total_sec
        self._clock = clock
        self._on_outcome = on_outcome
        self._cancel = threading.Event()
        self._done: queue.SimpleQueue[tuple[str, EntryOutcome]] = queue.SimpleQueue()
        # An entry ends once: with what its thread hands in, or given up. Both may come at once.
        self._ending = threading.Lock()
        self._ended: set[str] = set()
        self.outcomes: dict[str, EntryOutcome] = {}
        """By entry name, filled while :meth:`run` runs; what is not in it was not judged."""
        self._sink: EvidenceSink = sink if sink is not None else NullSink()
        self._feeds = Feeds(
            [e for e in self._entries if e.resolved_mode == "converge" or _is_soak(e)],
            watch if isinstance(runner, Looker) else None,
            clock=clock,
            sink=self._sink,
        )
        require_windows(self._entries)

    def run(self) -> None:
        """Judge everything; returns when all have ended, or were given up as hung.

        Whatever ends it early (an interrupt) also ends the entries at work.
        """
        began = self._clock.monotonic()
        deadline = began + self._total
        last = self._of("objective", "assert")
        reserve = min(_RESERVE_MAX_SEC, self._total * _RESERVE_SHARE) if last else 0.0
        room = self._total - reserve
        converging = self._of("objective", "converge") + self._of("safeguard", "converge")
        self._sink.record(Marked("post_run_begin", began))
        self._feeds.start()
        at_once = [
            self._judging(entry, began, min(_timeout_sec(entry), room))
            for entry in self._of("safeguard", "assert") + converging
        ]
        at_once += [
            self._soaking(entry, began, deadline) for entry in self._of("objective", "hold")
        ]
        try:
            working = self._start(at_once)
            self._collect(working, until={entry.name for entry in converging})
            now = self._clock.monotonic()
            working |= self._start(
                [
                    self._judging(entry, now, min(_timeout_sec(entry), deadline - now))
                    for entry in last
                ]
            )
            self._collect(working, until=set(working))
        finally:
            self._cancel.set()
            self._leave_the_rest()
            self._feeds.stop()

    def _leave_the_rest(self) -> None:
        """Record which entries were not waited for: what their threads still record is no verdict.

        Nothing to do unless the phase was interrupted.
        """
        now = self._clock.monotonic()
        for entry in self._entries:
            held = entry.role == "safeguard" and entry.resolved_mode == "hold"
            if not held and entry.name not in self.outcomes:
                self._sink.record(Marked("not_judged", now, entry.name))

    def _of(self, role: str, mode: str) -> list[VerificationEntry]:
        return [e for e in self._entries if e.role == role and e.resolved_mode == mode]

    def _judging(self, entry: VerificationEntry, now: float, timeout_sec: float) -> _Job:
        return _Job(
            entry,
            partial(self._judge, entry, now, timeout_sec),
            now + max(0.0, timeout_sec) + GRACE_SEC,
        )

    def _soaking(self, entry: VerificationEntry, now: float, deadline: float) -> _Job:
        window, settle = _window(entry), entry.hold_settle_sec or 0.0
        if window + settle <= self._total:
            # It fits into the budget to the second, so a thread that starts a moment late, or a
            # last sample that comes a moment late, must not cost it the verdict.
            deadline += GRACE_SEC
        context = SoakContext(self._clock, self._cancel, self._sink)
        soak = Soak(entry, window, settle, deadline, context)
        ends_at = min(now + settle + window, deadline)
        give_up_at = ends_at + HOLD_SAMPLE_TIMEOUT_SEC + GRACE_SEC
        return _Job(entry, partial(self._soak, entry, soak), give_up_at, soak.give_up)

    def _soak(self, entry: VerificationEntry, soak: Soak) -> HoldObservation:
        stream = self._feeds.stream(entry, OPEN_WAIT_SEC)
        if isinstance(stream, Stream):
            soak.watch(stream, self._feeds.fence)
        elif entry.coverage == "watch":
            soak.refuse(stream)
        else:
            soak.sample(
                self._runner, entry.hold_poll_interval_sec or _default_poll_interval(), stream
            )
        return soak.observation()

    def _judge(
        self, entry: VerificationEntry, start: float, timeout_sec: float
    ) -> VerificationResult:
        if timeout_sec <= 0:
            raise _NotJudgedError("the verification budget ran out before it was judged")
        if entry.resolved_mode == "converge" and isinstance(self._runner, Looker):
            stream = self._feeds.stream(entry, min(OPEN_WAIT_SEC, timeout_sec / 4))
            converge = Converge(
                entry, self._runner, clock=self._clock, sink=self._sink, cancel=self._cancel
            )
            if isinstance(stream, Stream):
                how = Subscribed("post_run", entry.name, "watched", stream.streams)
            else:
                how = Subscribed("post_run", entry.name, "sampled", why=stream)
            self._sink.record(how)
            feed = stream if isinstance(stream, Stream) else None
            return converge.run(feed, start, timeout_sec)
        began = self._clock.monotonic()
        self._sink.record(Marked("assert", began, entry.name))
        if isinstance(self._runner, Looker):
            look = self._runner.look(entry, timeout_sec)
        else:
            look = Look(self._runner.run_entry(entry, timeout_sec), None)
        ended = self._clock.monotonic()
        self._sink.record(Sampled(entry.name, began, ended, look.readings, look.result))
        return look.result

    def _cut_short(self, job: _Job, reason: str) -> EntryOutcome:
        """End an entry that was not judged; a violation that was seen before stays one."""
        if job.cut is not None:
            return job.cut(reason)
        now = self._clock.monotonic()
        self._sink.record(Marked("cut_short", now, job.entry.name, {"reason": reason}))
        return VerificationResult.errored(reason)

    def _start(self, jobs: list[_Job]) -> dict[str, _Job]:
        for job in jobs:
            threading.Thread(
                target=self._work, args=(job,), name=f"verify-{job.entry.name}", daemon=True
            ).start()
        return {job.entry.name: job for job in jobs}

    def _work(self, job: _Job) -> None:
        name, why_not = job.entry.name, ""
        outcome: EntryOutcome | None = None
        try:
            outcome = job.run()
        except _NotJudgedError as exc:
            why_not = str(exc)
        except Exception as exc:  # noqa: BLE001 - a check that raises was not observed: an error
            why_not = f"the check raised {named(exc)}"
        self._feeds.release(name)
        with self._ending:
            if name not in self._ended:
                self._ended.add(name)
                if outcome is None:
                    outcome = self._cut_short(job, why_not)
                self._done.put((name, outcome))

    def _collect(self, working: dict[str, _Job], *, until: set[str]) -> None:
        """Take results until none of ``until`` is at work; removes what has ended."""
        while until & working.keys():
            give_up_at = min(job.give_up_at for job in working.values())
            try:
                name, outcome = self._done.get(
                    timeout=max(0.0, give_up_at - self._clock.monotonic())
                )
            except queue.Empty:
                self._give_up(working)
            else:
                if name in working:
                    self._record(working.pop(name).entry, outcome)

    def _give_up(self, working: dict[str, _Job]) -> None:
        now = self._clock.monotonic()
        for name in [name for name, job in working.items() if job.give_up_at <= now]:
            with self._ending:
                if name in self._ended:
                    continue  # what it came to is on its way
                self._ended.add(name)
                job = working.pop(name)
                reason = "its check did not return within its time and was given up"
                outcome = self._cut_short(job, reason)
            self._feeds.release(name)
            self._record(job.entry, outcome)

    def _record(self, entry: VerificationEntry, outcome: EntryOutcome) -> None:
        self.outcomes[entry.name] = outcome
        if self._on_outcome is not None:
            self._on_outcome(entry, outcome)


def require_windows(entries: Iterable[VerificationEntry]) -> None:
    """Refuse objectives in hold mode that do not say how long.

    Raises:
        ValueError: One has no ``hold_window_sec``; the parser never lets that through.
    """
    for entry in entries:
        if entry.role == "objective" and entry.resolved_mode == "hold":
            _window(entry)


def _window(entry: VerificationEntry) -> float:
    if entry.hold_window_sec is None:
        raise ValueError(f"the objective {entry.name!r} in hold mode has no hold_window_sec")
    return entry.hold_window_sec


def _timeout_sec(entry: VerificationEntry) -> float:
    """Return the bound of an entry: the usual one, or what its probes ask for."""
    return max(verification_timeout_sec(), own_timeout_sec_of(entry.check))


def _is_soak(entry: VerificationEntry) -> bool:
    return entry.role == "objective" and entry.resolved_mode == "hold"
