"""What a recording can answer, and what it cannot. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from devops_bench.core.faults import named
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.leaves import leaf_results
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.offline import same_kind
from devops_bench.k8s.selectors import parse_selector
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, Unreadable, View
from devops_bench.k8s.watch.tables import Key, Tables
from devops_bench.k8s.watch.tables import Step as TableStep
from devops_bench.results.evidence.projection import missing_fields
from devops_bench.results.evidence.reader import Evidence
from devops_bench.results.evidence.records import Judged, Sampled, Step, Subscribed, WatchName
from devops_bench.results.evidence.redaction import needs_result
from devops_bench.results.evidence.specification import says_the_same
from devops_bench.verification.base import Check, CheckNode, Fields
from devops_bench.verification.combinators import evaluate, leaves_of, queries_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

Kept = Mapping[ResourceQuery, Fields | None]


@dataclass(frozen=True, slots=True)
class Need:
    """How a leaf gets its answer from a recording.

    Attributes:
        sources: For each query of the leaf, the recorded query that answers it.
        recorded_leaf: The place of the same leaf in the recorded check, where only its recorded
            results tell anything.
        lacks: What the recording lacks for it, empty for nothing.
    """

    sources: Mapping[ResourceQuery, ResourceQuery] = field(default_factory=dict)
    recorded_leaf: int | None = None
    lacks: str = ""


class Rejudge:
    """Judges a check on recorded facts.

    Args:
        check: The check, as it was or as it is now.
        recorded: The check that was judged then; ``None`` when the entry did not exist.
        written: The same as it was written down.
        kept: What was kept of the objects of each recorded query that it may use.

    Attributes:
        unchanged: Whether it is the check that was judged then.
    """

    def __init__(
        self, check: CheckNode, recorded: CheckNode | None, written: JsonValue, kept: Kept
    ) -> None:
        self.unchanged = recorded is not None and says_the_same(written, check)
        self._check = check
        self._recorded = recorded
        self._as_recorded = self.unchanged and needs_result(check)
        old = [] if recorded is None else list(_written_leaves(written))
        self._needs = {id(leaf): _need(leaf, old, kept) for leaf in leaves_of(check)}

    @property
    def lacks(self) -> list[str]:
        """What the recording lacks for the check, empty for nothing."""
        return list(dict.fromkeys(need.lacks for need in self._needs.values() if need.lacks))

    def queries(self) -> set[ResourceQuery]:
        """Return the recorded queries that it is judged by."""
        return {query for need in self._needs.values() for query in need.sources.values()}

    def covered(self, view: View) -> View:
        """Return a view that answers the check's own queries by the recorded ones."""
        sources = {q: known for need in self._needs.values() for q, known in need.sources.items()}
        return _Covered(view, sources)

    def judge(self, view: View | None, recorded: VerificationResult) -> VerificationResult:
        """Judge.

        Args:
            view: Answers the recorded queries; ``None`` when only the result is known.
            recorded: What the recorded check came to then.
        """
        if self._as_recorded or (view is None and self.unchanged):
            return recorded
        old: list[VerificationResult | None] = []
        if self._recorded is not None:
            old = [result for _, result in leaf_results(self._recorded, recorded)]

        def judge_leaf(leaf: CheckNode) -> VerificationResult:
            return self._judge_leaf(leaf, view, old)

        try:
            result = evaluate(self._check, judge_leaf)
        except Exception as exc:  # noqa: BLE001 - a judge that breaks has not judged, as in the run
            result = VerificationResult.errored(f"the check broke: {named(exc)}")
        return result.model_copy(update={"elapsed_time": recorded.elapsed_time})

    def _judge_leaf(
        self, leaf: CheckNode, view: View | None, old: list[VerificationResult | None]
    ) -> VerificationResult:
        need = self._needs[id(leaf)]
        if need.lacks:
            return VerificationResult.errored(need.lacks)
        if need.recorded_leaf is not None or not isinstance(leaf, Check):
            found = old[need.recorded_leaf] if need.recorded_leaf is not None else None
            return found or VerificationResult.errored("it was not judged then")
        if view is None:
            return VerificationResult.errored("what it reads was not recorded at this moment")
        return leaf.judge(_Covered(view, need.sources))


def _need(leaf: CheckNode, old: Sequence[JsonObject], kept: Kept) -> Need:
    if needs_result(leaf):
        for place, one in enumerate(old):
            if says_the_same(one, leaf):
                return Need(recorded_leaf=place)
        return Need(lacks=_lacks_result(leaf))
    if not isinstance(leaf, Check):
        return Need(lacks=f"a check of type {leaf.type} cannot be judged on a recording")
    sources: dict[ResourceQuery, ResourceQuery] = {}
    for query in leaf.queries():
        source, lacks = _source(query, leaf.fields(), kept)
        if source is None:
            return Need(lacks=lacks)
        sources[query] = source
    return Need(sources)


def _lacks_result(leaf: CheckNode) -> str:
    if isinstance(leaf, Check):
        read = ", ".join(map(str, leaf.queries()))
        return f"it needs the data of {read}, which is never recorded, and was not judged like this"
    return f"{leaf.type} looks for itself, and the run did not let it look like this"


def _written_leaves(written: JsonValue) -> Iterator[JsonObject]:
    """Yield the leaves of a check as it was written down, from left to right."""
    if not isinstance(written, dict):
        return
    children = written.get("checks")
    if isinstance(children, list):
        for child in children:
            yield from _written_leaves(child)
    else:
        yield written


def _source(
    query: ResourceQuery, fields: Fields | None, kept: Kept
) -> tuple[ResourceQuery | None, str]:
    """Return the recorded query that answers ``query``, or what is lacking."""
    lacking: list[str] | None = None
    for known, known_fields in kept.items():
        if known == query or _covers(known, query):
            missing = missing_fields(fields, known_fields)
            if not missing:
                return known, ""
            lacking = missing if lacking is None or len(missing) < len(lacking) else lacking
    if lacking is None:
        return None, f"it needs {query}, which the run did not record for this entry"
    return None, f"it needs {', '.join(lacking)} of {query}, which the run did not record"


def _covers(known: ResourceQuery, query: ResourceQuery) -> bool:
    return (
        same_kind(known.kind, query.kind)
        and known.namespace in (None, query.namespace)
        and known.name in (None, query.name)
        and known.selector in (None, query.selector)
    )


class _Covered:
    """Answers queries from the answers to broader ones."""

    def __init__(self, view: View, sources: Mapping[ResourceQuery, ResourceQuery]) -> None:
        self._view = view
        self._sources = sources

    def read(self, query: ResourceQuery) -> Reading:
        source = self._sources.get(query)
        if source is None:
            return Unreadable(f"{query} was not recorded")
        reading = self._view.read(source)
        if source == query or not isinstance(reading, Matched):
            return reading
        return Matched(tuple(obj for obj in reading.objects if _matches(query, obj)))


def _matches(query: ResourceQuery, obj: KubeObject) -> bool:
    if query.namespace is not None and obj.namespace not in ("", query.namespace):
        return False
    if query.name is not None:
        return obj.name == query.name
    return query.selector is None or parse_selector(query.selector).matches(obj.labels)


class Cursor:
    """The tables of what one entry read on one watcher, moved on revision by revision.

    Args:
        queries: The recorded queries.
    """

    def __init__(self, queries: Iterable[ResourceQuery]) -> None:
        self.tables = Tables(queries)
        self._waiting: list[Step] = []
        self._held: dict[str, dict[tuple[ResourceQuery, Key], None]] = {}

    def add(self, step: Step) -> None:
        """Note a recorded step; those of one stream come in order, and before their judgement."""
        self._waiting.append(step)

    def move_to(self, rv: int) -> Tables:
        """Return the tables as they were at a revision; it never goes back."""
        due = [step for step in self._waiting if step.rv <= rv]
        if due:
            self._waiting = [step for step in self._waiting if step.rv > rv]
            for step in sorted(due, key=lambda item: item.rv):
                self._apply(step)
        return self.tables

    def _apply(self, step: Step) -> None:
        if step.origin == "baseline":
            # A watcher that was started again tells its stream from the beginning.
            for query, key in self._held.pop(step.stream, {}):
                self.tables.table(query).put(key, None)
        self.tables.apply(TableStep(step.rv, step.updates))
        held = self._held.setdefault(step.stream, {})
        for update in step.updates:
            if update.query not in self.tables:
                continue
            if update.object is None:
                held.pop((update.query, update.key), None)
            else:
                held[update.query, update.key] = None


class LastRecorded:
    """The last state that a recording shows of each query.

    Args:
        evidence: The recording.
        entries: The recorded entries by name.

    Attributes:
        kept: What was kept of the objects of each recorded query.
        results: What each entry came to when it was judged last, by its name.
    """

    def __init__(self, evidence: Evidence, entries: Mapping[str, VerificationEntry]) -> None:
        self.kept = evidence.kept
        self.results: dict[str, VerificationResult] = {}
        self._newest: dict[ResourceQuery, tuple[float, Reading]] = {}
        held: dict[WatchName, Tables] = {}
        for record in evidence.records:
            if isinstance(record, Subscribed):
                self._begin(record, entries)
            elif isinstance(record, Step):
                tables = held.setdefault(record.watch, Tables(evidence.kept))
                tables.apply(TableStep(record.rv, record.updates))
                for query in {update.query for update in record.updates}:
                    self._note(query, record.at_sec, tables.read(query))
            if isinstance(record, Judged | Sampled):
                self.results[record.entry] = record.result
            if isinstance(record, Sampled):
                for query, reading in (record.readings or {}).items():
                    self._note(query, record.began_sec, reading)

    def read(self, query: ResourceQuery) -> Reading:
        """Return the last recorded answer to a recorded query."""
        found = self._newest.get(query)
        return Unreadable(f"the run never looked at {query}") if found is None else found[1]

    def _begin(self, record: Subscribed, entries: Mapping[str, VerificationEntry]) -> None:
        """Note that what is watched matches nothing until a step says else."""
        entry = entries.get(record.entry)
        if record.coverage == "watched" and entry is not None:
            for query in queries_of(entry.check):
                self._newest.setdefault(query, (-1.0, Matched(())))

    def _note(self, query: ResourceQuery, at_sec: float, reading: Reading) -> None:
        before = self._newest.get(query)
        if before is None or before[0] <= at_sec:
            self._newest[query] = (at_sec, reading)
