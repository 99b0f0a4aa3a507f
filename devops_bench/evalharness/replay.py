"""Judging a recorded task again: the records are folded by the code that folded them live. Pure.

With the recorded spec the rows come out byte for byte as they were written. With another spec each
entry is judged by its new check on the same states and samples, as far as they were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from devops_bench.core.json import JsonValue
from devops_bench.evalharness.budget import EntryOutcome
from devops_bench.evalharness.conclusion import Conclusion, conclude
from devops_bench.evalharness.drivers import Driver
from devops_bench.evalharness.recorded import Cursor, Rejudge
from devops_bench.evalharness.recordings import Recording
from devops_bench.evalharness.rejudging import driver_of
from devops_bench.evalharness.rows import invalid_row, row_of
from devops_bench.k8s.view import ResourceQuery, Snapshot
from devops_bench.results.evidence.records import (
    EvidenceRecord,
    Fenced,
    GapNoted,
    Judged,
    Marked,
    Missed,
    Sampled,
    Step,
    Subscribed,
    WatchName,
)
from devops_bench.results.model import ReportRow
from devops_bench.tasks.model import EntryError
from devops_bench.verification.combinators import queries_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry


@dataclass(frozen=True, slots=True)
class Difference:
    """A verdict that is not what the run wrote.

    Attributes:
        entry: The entry.
        was: Status and reason as the run wrote them; ``None`` for an entry that it did not have.
        now: Status and reason now; ``None`` for an entry that is no more.
        only_details: Whether status and reason are the same, and only numbers differ.
    """

    entry: str
    was: tuple[str, str] | None
    now: tuple[str, str] | None
    only_details: bool = False


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a recorded task comes to now.

    Attributes:
        recording: The recording.
        rows: The rows of its report.
        conclusion: What the task came to.
        differences: What differs from what the run wrote; ``None`` when it wrote nothing.
        lacks: What the recording lacks for an entry, by its name.
        notes: What the reader should know, a sentence each.
    """

    recording: Recording
    rows: tuple[ReportRow, ...]
    conclusion: Conclusion
    differences: tuple[Difference, ...] | None
    lacks: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Entry:
    """One entry at work.

    Attributes:
        driver: Folds its records.
        rejudge: Judges its check.
        cursors: Where it is in each watcher's history.
        other: How many recorded judgements of an unchanged check come to something else now.
        not_judged: Whether the run says that it came to nothing.
    """

    driver: Driver
    rejudge: Rejudge
    cursors: dict[WatchName, Cursor] = field(default_factory=dict)
    other: int = 0
    not_judged: bool = False

    def judge(self, record: Judged | Sampled) -> VerificationResult:
        if isinstance(record, Judged):
            cursor = self.cursors[record.watch]
            result = self.rejudge.judge(cursor.move_to(record.rv), record.result)
        else:
            view = None if record.readings is None else Snapshot(record.readings)
            result = self.rejudge.judge(view, record.result)
        if self.rejudge.unchanged and result.status != record.result.status:
            self.other += 1
        return result


class _Replay:
    """One replay at work."""

    def __init__(self, recording: Recording, entries: Sequence[VerificationEntry]) -> None:
        self._recording = recording
        self._entries = tuple(entries)
        self._written = {
            str(item.get("name")): item.get("check") for item in recording.header.entries
        }
        self.working: dict[str, _Entry] = {}
        self.refused: dict[str, str] = {}
        self._readers: dict[tuple[WatchName, ResourceQuery], list[Cursor]] = {}
        for entry in entries:
            self._begin(entry)
        self.end_sec = 0.0
        self.problem: str | None = None
        self.interrupted = False
        self.ended = False

    def run(self) -> None:
        for record in self._recording.evidence.records:
            self._take(record)

    def outcome(self, entry: VerificationEntry) -> EntryOutcome | None:
        refused = self.refused.get(entry.name)
        if refused is not None:
            return VerificationResult.errored(refused)
        one = self.working[entry.name]
        return None if one.not_judged else one.driver.outcome(self.end_sec)

    def _begin(self, entry: VerificationEntry) -> None:
        recorded = self._recording.entries.get(entry.name)
        if recorded is None:
            why = self._recording.unreadable.get(entry.name, "the run had no entry of this name")
            self.refused[entry.name] = f"nothing was recorded for it: {why}"
            return
        was, now = _kind_of(recorded), _kind_of(entry)
        if was != now:
            self.refused[entry.name] = f"it was observed as {was}, which tells nothing of {now}"
            return
        kept = {
            query: fields
            for query, fields in self._recording.evidence.kept.items()
            if query in queries_of(recorded.check)
        }
        rejudge = Rejudge(entry.check, recorded.check, self._written[entry.name], kept)
        driver = driver_of(entry, recorded, same=rejudge.unchanged)
        one = self.working[entry.name] = _Entry(driver, rejudge)
        queries = rejudge.queries()
        for watch in ("turn", "post_run"):
            cursor = one.cursors[watch] = Cursor(queries)
            for query in queries:
                self._readers.setdefault((watch, query), []).append(cursor)

    def _take(self, record: EvidenceRecord) -> None:
        if isinstance(record, Step):
            self._step(record)
        elif isinstance(record, Marked):
            self._mark(record)
        elif isinstance(record, Fenced):
            self.end_sec = max(self.end_sec, record.at_sec)
            for name, one in self.working.items():
                if record.entry in (None, name):
                    one.driver.fenced(record)
        elif isinstance(record, Judged | Sampled | Subscribed | Missed | GapNoted):
            one_entry = self.working.get(record.entry)
            if one_entry is not None:
                self._of_entry(one_entry, record)

    def _of_entry(
        self, one: _Entry, record: Judged | Sampled | Subscribed | Missed | GapNoted
    ) -> None:
        if isinstance(record, Judged):
            self.end_sec = max(self.end_sec, record.at_sec)
            one.driver.judged(record, one.judge(record))
        elif isinstance(record, Sampled):
            self.end_sec = max(self.end_sec, record.ended_sec)
            one.driver.sampled(record, one.judge(record))
        elif isinstance(record, Subscribed):
            one.driver.subscribed(record)
        elif isinstance(record, Missed):
            one.driver.missed(record)
        else:
            one.driver.gap(record)

    def _step(self, record: Step) -> None:
        self.end_sec = max(self.end_sec, record.at_sec)
        if record.origin == "baseline":
            # It also says what is no more, so it is for everybody who reads on this watcher.
            for one in self.working.values():
                one.cursors[record.watch].add(record)
            return
        seen: set[int] = set()
        for update in record.updates:
            for cursor in self._readers.get((record.watch, update.query), ()):
                if id(cursor) not in seen:
                    seen.add(id(cursor))
                    cursor.add(record)

    def _mark(self, record: Marked) -> None:
        self.end_sec = max(self.end_sec, record.at_sec)
        detail = record.detail or {}
        if record.mark == "problem":
            self.problem = _text(detail.get("reason")) or "the run had a problem"
            self.interrupted = detail.get("interrupted") is True
        elif record.mark == "task_end":
            self.ended = True
        for name, one in self.working.items():
            if record.entry in (None, name):
                one.not_judged |= record.mark == "not_judged"
                one.driver.marked(record)


def replay(
    recording: Recording,
    entries: Sequence[VerificationEntry] | None = None,
    entry_errors: Sequence[EntryError] = (),
) -> Replayed:
    """Judge a recorded task again.

    Args:
        recording: The recording.
        entries: The entries of another spec; ``None`` for the recorded ones.
        entry_errors: Entries of the other spec that did not parse.
    """
    header = recording.header
    if entries is None:
        entries = _recorded_entries(recording)
        entry_errors = [EntryError(name, reason) for name, reason in header.entry_errors]
        entry_errors += [EntryError(*item) for item in recording.unreadable.items()]
    work = _Replay(recording, entries)
    work.run()
    problem = work.problem
    if not work.ended:
        problem = "the recording ends before the run does"
    missing = problem or "the run ended before"
    rows = [row_of(entry, work.outcome(entry), missing) for entry in entries]
    rows += [invalid_row(error) for error in entry_errors]
    return Replayed(
        recording=recording,
        rows=tuple(rows),
        conclusion=conclude(rows, problem, interrupted=work.interrupted),
        differences=_differences(recording, rows),
        lacks={
            **{name: (reason,) for name, reason in work.refused.items()},
            **{name: tuple(one.rejudge.lacks) for name, one in work.working.items()},
        },
        notes=tuple(_notes(recording, work)),
    )


def _recorded_entries(recording: Recording) -> list[VerificationEntry]:
    return list(recording.entries.values())


def _notes(recording: Recording, work: _Replay) -> list[str]:
    notes: list[str] = []
    evidence = recording.evidence
    if evidence.damage:
        notes.append(f"the recording is damaged, and was read up to there: {evidence.damage}")
    elif not evidence.closed:
        notes.append("the recording was not finished: the run was killed, or still runs")
    notes += [
        f"{name}: {one.other} recorded judgements come to something else now, although the check "
        "is the same: another version judged them"
        for name, one in work.working.items()
        if one.other
    ]
    return notes


def _differences(recording: Recording, rows: Sequence[ReportRow]) -> tuple[Difference, ...] | None:
    if recording.result is None:
        return None
    was = {row["name"]: row for row in recording.result.verification_report}
    now = {row["name"]: row for row in rows}
    found: list[Difference] = []
    for name in dict.fromkeys((*was, *now)):
        old, new = was.get(name), now.get(name)
        if old == new:
            continue
        before = None if old is None else (str(old["status"]), old["reason"])
        after = None if new is None else (str(new["status"]), new["reason"])
        found.append(Difference(name, before, after, only_details=before == after))
    return tuple(found)


def _kind_of(entry: VerificationEntry) -> str:
    if entry.resolved_mode != "hold":
        return f"an entry in {entry.resolved_mode} mode"
    return f"{'a safeguard' if entry.role == 'safeguard' else 'an objective'} in hold mode"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
