"""Remembers, of what is recorded, which change violated which safeguard.

It listens to the recording, which has everything before it is folded, and keeps the newest state of
what is read and the changes that a safeguard's judgement went from passing to failing at.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Reading, ResourceQuery
from devops_bench.k8s.watch.tables import Key
from devops_bench.results.evidence.records import (
    EvidenceRecord,
    EvidenceSink,
    Judged,
    Marked,
    Sampled,
    Step,
)
from devops_bench.verification.combinators import queries_of
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)

MAX_VIOLATIONS: Final = 10
"""So many violations of one safeguard are remembered, the first ones."""

MAX_CHANGES: Final = 8
"""So many changes are looked at that came with one violation."""

_RECENT_STEPS: Final = 256


@dataclass(frozen=True, slots=True)
class Change:
    """One object entered, changed in, or left what a safeguard reads.

    Attributes:
        kind: The kind as the author wrote it.
        namespace: Its namespace, empty for a cluster-scoped object.
        name: Its name.
        rv: The revision of the change, ``None`` when only later states were seen.
        now: The object after it, ``None`` when it is gone or not selected any more.
        before: The object before it, ``None`` when it was not there or is not known.
    """

    kind: str
    namespace: str
    name: str
    rv: int | None
    now: KubeObject | None
    before: KubeObject | None

    @property
    def uid(self) -> str:
        """Its uid, empty when it was never seen."""
        seen = self.now or self.before
        return seen.uid if seen is not None else ""

    @property
    def what(self) -> str:
        """``created``, ``changed`` or ``deleted``."""
        if self.now is None:
            return "deleted"
        return "changed" if self.before is not None else "created"

    def __str__(self) -> str:
        """``Deployment shop/web``."""
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


@dataclass(frozen=True, slots=True)
class Violation:
    """A safeguard's judgement went from passing to failing.

    Attributes:
        at_sec: When that was seen, seconds after the task's start.
        changes: What had changed, at most :data:`MAX_CHANGES`.
    """

    at_sec: float
    changes: tuple[Change, ...]


@dataclass(slots=True)
class _Entry:
    queries: frozenset[ResourceQuery]
    failing: bool = False
    readings: Mapping[ResourceQuery, Reading] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)


class Trail:
    """A sink that passes everything on. Called by several threads.

    Args:
        inner: Where records go.
        entries: The entries; only safeguards are remembered.
    """

    def __init__(self, inner: EvidenceSink, entries: Iterable[VerificationEntry]) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._entries = {
            entry.name: _Entry(frozenset(queries_of(entry.check)))
            for entry in entries
            if entry.role == "safeguard"
        }
        self._held: dict[tuple[ResourceQuery, Key], KubeObject] = {}
        self._recent: deque[tuple[int, tuple[tuple[ResourceQuery, Change], ...]]] = deque(
            maxlen=_RECENT_STEPS
        )
        self._of_the_turn: deque[Change] = deque(maxlen=_RECENT_STEPS)
        self._begun = False
        self._origin = 0.0
        self._turn_ended: float | None = None

    @property
    def problem(self) -> str | None:
        """Why the recording is cut."""
        return self._inner.problem

    @property
    def origin_sec(self) -> float:
        """When the windows began, seconds after the task's start."""
        return self._origin

    def record(self, record: EvidenceRecord) -> None:
        """Pass a record on and look at it; never raises."""
        self._inner.record(record)
        try:
            with self._lock:
                self._look(record)
        except Exception:
            log.exception("trail.failed")

    def difference(self) -> str:
        """Return what others did to the recording."""
        return self._inner.difference()

    def close(self) -> None:
        """Close the sink behind."""
        self._inner.close()

    def changes_of_the_turn(self) -> tuple[Change, ...]:
        """Return what changed between the start of the windows and the turn's end, the newest."""
        with self._lock:
            return tuple(self._of_the_turn)

    def violations(self, entry: str, first_at_sec: float | None) -> tuple[Violation, ...]:
        """Return the violations of a safeguard, in order.

        Args:
            entry: Its name.
            first_at_sec: When the first one was seen, seconds after the start of its window;
                ``None`` for a safeguard that is judged once.
        """
        with self._lock:
            found = tuple(self._entries[entry].violations) if entry in self._entries else ()
            ended, origin = self._turn_ended, self._origin
        if first_at_sec is None:
            return found[-1:]
        # By the very numbers that were folded; what came after the turn is not counted here.
        counted = [
            one
            for one in found
            if max(0.0, one.at_sec - origin) >= first_at_sec
            and (ended is None or one.at_sec <= ended)
        ]
        return tuple(counted) or found[:1]

    def _look(self, record: EvidenceRecord) -> None:
        if isinstance(record, Step):
            self._step(record)
        elif isinstance(record, Judged):
            self._judged(record)
        elif isinstance(record, Sampled):
            self._sampled(record)
        elif isinstance(record, Marked):
            if record.mark == "window_begin":
                self._origin = record.at_sec
                self._begun = True
                for entry in self._entries.values():
                    entry.violations.clear()
            elif record.mark == "turn_ending":
                self._turn_ended = record.at_sec

    def _step(self, step: Step) -> None:
        if step.watch != "turn":
            return
        changes: list[tuple[ResourceQuery, Change]] = []
        for update in step.updates:
            place = (update.query, update.key)
            before = self._held.pop(place, None)
            if update.object is not None:
                self._held[place] = update.object
            namespace, name = update.key
            # Behind a gap a step is the difference to a LIST: its objects say when they changed.
            rv = step.rv if update.object is None else _revision(update.object)
            change = Change(update.query.kind, namespace, name, rv, update.object, before)
            changes.append((update.query, change))
        self._recent.append((step.rv, tuple(changes)))
        if self._begun and self._turn_ended is None:
            self._of_the_turn += (change for _, change in changes)

    def _judged(self, judged: Judged) -> None:
        entry = self._entries.get(judged.entry)
        if entry is None or judged.watch != "turn" or judged.origin == "again":
            return
        changes = [
            change
            for rv, listed in self._recent
            if rv == judged.rv
            for query, change in listed
            if query in entry.queries
        ]
        self._note(entry, judged.result.status, judged.at_sec, changes)

    def _sampled(self, sampled: Sampled) -> None:
        entry = self._entries.get(sampled.entry)
        if entry is None:
            return
        readings = sampled.readings or {}
        changes = list(_differences(entry.readings, readings))
        entry.readings = readings
        self._note(entry, sampled.result.status, sampled.began_sec, changes)

    @staticmethod
    def _note(entry: _Entry, status: str, at_sec: float, changes: list[Change]) -> None:
        if status == "error":
            return
        if status == "fail" and not entry.failing and len(entry.violations) < MAX_VIOLATIONS:
            unique = {(c.kind, c.namespace, c.name): c for c in changes}
            entry.violations.append(Violation(at_sec, tuple(unique.values())[:MAX_CHANGES]))
        entry.failing = status == "fail"


def _differences(
    before: Mapping[ResourceQuery, Reading], now: Mapping[ResourceQuery, Reading]
) -> Iterable[Change]:
    """Yield what differs between two looks; of the first look everything that is there."""
    for query, reading in now.items():
        if not isinstance(reading, Matched):
            continue
        earlier = before.get(query)
        old = {(o.namespace, o.name): o for o in _objects(earlier)}
        new = {(o.namespace, o.name): o for o in reading.objects}
        for key in sorted(old.keys() | new.keys()):
            was, found = old.get(key), new.get(key)
            if was is None or found is None or was.resource_version != found.resource_version:
                rv = None if found is None else _revision(found)
                yield Change(query.kind, *key, rv, found, was)
        if not new and not old and query.name is not None:
            # Whoever looks once and finds nothing may be looking at what was deleted.
            yield Change(query.kind, query.namespace or "", query.name, None, None, None)


def _revision(obj: KubeObject) -> int | None:
    return int(obj.resource_version) if obj.resource_version.isdigit() else None


def _objects(reading: Reading | None) -> tuple[KubeObject, ...]:
    return reading.objects if isinstance(reading, Matched) else ()
