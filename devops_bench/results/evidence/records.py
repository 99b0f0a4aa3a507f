"""What is written down of a task, in the order in which it was folded. Pure.

Everything that decides a verdict is recorded before it is folded, so whoever folds the records in
their order by the same code comes to the same verdict. All times are seconds after the task's
start on a clock that never goes back, exactly the numbers that were folded; the header ties them
to the wall clock once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.view import Reading, ResourceQuery
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult
from devops_bench.k8s.watch.tables import Update
from devops_bench.k8s.watch.types import Origin
from devops_bench.verification.result import VerificationResult

EVIDENCE_VERSION: Final = 1
"""Raised when a reader of the last version could misread a new recording."""

WatchName: TypeAlias = Literal["turn", "post_run"]
"""Which watcher: the one of the safeguards, from the baseline to the end of the run, or the one of
what is judged after the turn. Both may have a stream of the same name."""

CoverageMode: TypeAlias = Literal["watched", "sampled"]

Mark: TypeAlias = Literal[
    "window_begin",
    "turn_begin",
    "turn_ending",
    "turn_end",
    "post_run_begin",
    "converge_begin",
    "converge_end",
    "soak_begin",
    "soak_end",
    "assert",
    "run_ending",
    "run_end",
    "entry_finished",
    "closed",
    "cut_short",
    "not_judged",
    "outcome",
    "phase",
    "agent",
    "problem",
    "task_end",
]
"""What happened at a moment; :class:`Marked` says what each carries."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first record of a task.

    Attributes:
        schema_version: :data:`EVIDENCE_VERSION`.
        run_id: The run.
        task_id: The task.
        harness_version: The version of devops-bench that judged.
        server_version: The API server's version, as it says it.
        started_at: The wall time (UTC, ISO 8601) of second 0.
        entries: Every entry of the spec as JSON, its variables replaced.
        entry_errors: Name and reason of each entry that did not parse.
        projection: What is kept of objects, by query; the recorder says what it means.
    """

    schema_version: int
    run_id: str
    task_id: str
    harness_version: str
    server_version: str
    started_at: str
    entries: tuple[JsonObject, ...]
    entry_errors: tuple[tuple[str, str], ...] = ()
    projection: JsonValue = None


@dataclass(frozen=True, slots=True)
class Subscribed:
    """How an entry is observed from now on, as whoever observes it decided.

    Attributes:
        watch: Which watcher was asked.
        entry: The entry's name.
        coverage: Whether it is watched or has to be sampled.
        streams: The streams that it reads, for the reader; empty when it is sampled.
        why: Why it is sampled; empty when it is watched.
        interval_sec: Seconds between two samples, ``None`` when it is watched.
    """

    watch: WatchName
    entry: str
    coverage: CoverageMode
    streams: tuple[str, ...] = ()
    why: str = ""
    interval_sec: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What changed on a stream; a baseline is the step from nothing.

    Attributes:
        watch: The watcher.
        stream: The stream.
        rv: The revision that it leads to.
        at_sec: When the line or LIST that proved it was received.
        origin: Where it comes from.
        updates: What entered, changed in, or left what each query matches.
    """

    watch: WatchName
    stream: str
    rv: int
    at_sec: float
    origin: Origin
    updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A watched state was judged for an entry.

    Attributes:
        watch: The watcher.
        entry: The entry.
        rv: The revision of the state.
        at_sec: When the line or LIST that proved it was received.
        origin: Where it comes from.
        result: What it came to. It can be computed again from the steps up to ``rv``, so a
            recorder may keep no more than its status unless a leaf reads what is not kept.
    """

    watch: WatchName
    entry: str
    rv: int
    at_sec: float
    origin: Origin
    result: VerificationResult


@dataclass(frozen=True, slots=True)
class Sampled:
    """An entry was judged on a live look.

    Attributes:
        entry: The entry.
        began_sec: When the look began.
        ended_sec: When its result was there.
        readings: What the pure leaves read; ``None`` when that is not known (a probe, a look that
            raised), and then the result is all there is.
        result: What it came to.
    """

    entry: str
    began_sec: float
    ended_sec: float
    readings: Mapping[ResourceQuery, Reading] | None
    result: VerificationResult


@dataclass(frozen=True, slots=True)
class Missed:
    """Due samples of an entry that were not taken.

    Attributes:
        entry: The entry.
        count: How many, > 0.
    """

    entry: str
    count: int


@dataclass(frozen=True, slots=True)
class GapNoted:
    """A gap of one of the streams of an entry; told again, it replaces the one of its number.

    Attributes:
        watch: The watcher.
        entry: The entry.
        gap: The gap.
    """

    watch: WatchName
    entry: str
    gap: Gap


@dataclass(frozen=True, slots=True)
class Fenced:
    """A fence has ended, reached or not.

    Attributes:
        watch: The watcher.
        entry: The entry that it was made for; ``None`` for all that are watched there.
        at_sec: When it ended.
        fence: How each stream ended.
    """

    watch: WatchName
    entry: str | None
    at_sec: float
    fence: FenceResult


@dataclass(frozen=True, slots=True)
class Marked:
    """A moment that windows and phases are bounded by.

    ``window_begin`` (the newest judgement of every safeguard in hold mode is the first of its
    window, and what was there before is forgotten; it comes twice, the last one counts),
    ``turn_ending``/``run_ending`` (the agent, or the post-run phase, is done: what is
    judged from here on belongs to the window only if a fence says so), ``turn_end``/``run_end``,
    ``converge_begin``/``converge_end``, ``soak_begin``/``soak_end``, ``assert``,
    ``entry_finished`` (sampled to the end of its window), ``closed`` and ``cut_short`` (detail
    ``reason``; of an entry that is judged after the turn it is the last word), ``not_judged`` (the
    run was interrupted before the entry had come to anything: other records of it are no verdict),
    ``outcome`` (detail ``status`` and ``reason``, of the entry's final row),
    ``phase`` and ``agent`` (detail: the report), ``problem`` (detail ``reason``, why the task could
    not be judged), ``task_end``.

    Attributes:
        mark: What happened.
        at_sec: When.
        entry: The entry, ``None`` when it is about all.
        detail: What the mark carries.
    """

    mark: Mark
    at_sec: float
    entry: str | None = None
    detail: JsonObject | None = None


EvidenceRecord: TypeAlias = (
    Header | Subscribed | Step | Judged | Sampled | Missed | GapNoted | Fenced | Marked
)


class EvidenceSink(Protocol):
    """Where records go. Called by several threads."""

    @property
    def problem(self) -> str | None:
        """Why the recording is cut, ``None`` while it is whole. Verdicts do not depend on it."""
        ...

    def record(self, record: EvidenceRecord) -> None:
        """Write a record; never raises. What cannot be written ends the recording for good."""
        ...

    def difference(self) -> str:
        """Return how what is recorded differs from what was written; empty for not at all.

        Never raises; may be asked at any time.
        """
        ...

    def close(self) -> None:
        """Finish the recording; never raises, safe to call twice."""
        ...


class NullSink:
    """Keeps nothing."""

    problem: str | None = None

    def record(self, record: EvidenceRecord) -> None:
        """Do nothing."""

    def difference(self) -> str:
        """Return nothing: nothing was written."""
        return ""

    def close(self) -> None:
        """Do nothing."""
