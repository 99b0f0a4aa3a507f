"""From records to lines: each object once, only what some check reads, no Secret's data."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, UnknownKind
from devops_bench.k8s.watch.tables import Update
from devops_bench.results.evidence.projection import fields_as_json, project, projection_of
from devops_bench.results.evidence.records import (
    EvidenceRecord,
    Fenced,
    GapNoted,
    Header,
    Judged,
    Marked,
    Missed,
    Sampled,
    Step,
    Subscribed,
)
from devops_bench.results.evidence.redaction import Redactor, needs_result
from devops_bench.results.evidence.specification import entry_as_json
from devops_bench.verification.base import Fields
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

KINDS: Final[dict[type[EvidenceRecord], str]] = {
    Header: "header",
    Subscribed: "subscribed",
    Step: "step",
    Judged: "judged",
    Sampled: "sampled",
    Missed: "missed",
    GapNoted: "gap",
    Fenced: "fenced",
    Marked: "marked",
}
"""What each kind of record is called in its line, under ``k``."""

MAX_KNOWN_OBJECTS: Final = 100_000
"""So many objects are recognised when they come again: about 15 MB."""


@dataclass(slots=True)
class _Objects:
    """The objects of one line that were not written before."""

    new: list[JsonValue] = dataclasses.field(default_factory=list)


class Encoder:
    """Turns records into lines; keeps what was written before, so lines have to stay in order.

    Args:
        entries: The entries of the task: they say what is kept.
    """

    def __init__(self, entries: Sequence[VerificationEntry]) -> None:
        self._entries = tuple(entries)
        self._kept = projection_of(entries)
        self._places = {entry.name: place for place, entry in enumerate(self._entries)}
        self._in_full = {entry.name for entry in entries if needs_result(entry.check)}
        self._redactor = Redactor()
        self._queries: dict[ResourceQuery, int] = {}
        self._objects: dict[bytes, int] = {}
        self._written = 0

    def batch(self, records: Iterable[EvidenceRecord]) -> Iterator[bytes]:
        """Yield the lines of records; one line for all that is judged on one state.

        Judgements that are kept in full have lines of their own.

        Raises:
            TypeError: Something in them is no JSON.
        """
        state: Judged | None = None
        statuses: dict[int, str] = {}
        for record in records:
            place = self._short(record)
            if state is not None and not (
                isinstance(record, Judged)
                and place is not None
                and place not in statuses
                and _same_state(state, record)
            ):
                yield _state_line(state, statuses)
                state, statuses = None, {}
            if isinstance(record, Judged) and place is not None:
                state = state or record
                statuses[place] = record.result.status
            else:
                yield from self.lines(record)
        if state is not None:
            yield _state_line(state, statuses)

    def _short(self, record: EvidenceRecord) -> int | None:
        """Return the place of the entry of a judgement that keeps only its status."""
        if not isinstance(record, Judged) or record.entry in self._in_full:
            return None
        return self._places.get(record.entry)

    def lines(self, record: EvidenceRecord) -> list[bytes]:
        """Return the lines of one record, its own among those that it needs.

        Raises:
            TypeError: Something in it is no JSON.
        """
        queries: list[ResourceQuery] = []
        if isinstance(record, Header):
            queries += self._kept
        elif isinstance(record, Step):
            queries += [update.query for update in record.updates]
        elif isinstance(record, Sampled):
            queries += record.readings or ()
        body = self._body(record)
        before = [] if isinstance(record, Header) else self._new_queries(queries)
        after = self._new_queries(queries) if isinstance(record, Header) else []
        numbered = self._numbered(record)
        line: JsonObject = {"k": KINDS[type(record)], **body, **numbered}
        return [orjson.dumps(one) for one in (*before, line, *after)]

    def _body(self, record: EvidenceRecord) -> JsonObject:
        """Return what of a record needs no numbers."""
        if isinstance(record, Header):
            found = _plain(record)
            found["entries"] = [entry_as_json(entry) for entry in self._entries]
            return found
        if isinstance(record, Step):
            return {
                "watch": record.watch,
                "stream": record.stream,
                "rv": record.rv,
                "at_sec": record.at_sec,
                "origin": record.origin,
            }
        if isinstance(record, Judged):
            return {"entry": record.entry, **_state(record), **result_body(record.result)}
        if isinstance(record, Sampled):
            return {
                "entry": record.entry,
                "began_sec": record.began_sec,
                "ended_sec": record.ended_sec,
                **result_body(record.result),
            }
        return _plain(record)

    def _numbered(self, record: EvidenceRecord) -> JsonObject:
        """Return what of a record refers to queries and objects."""
        objects = _Objects()
        found: JsonObject = {}
        if isinstance(record, Step):
            found["updates"] = [self._update(update, objects) for update in record.updates]
        elif isinstance(record, Sampled) and record.readings is not None:
            found["readings"] = [
                self._reading(query, reading, objects) for query, reading in record.readings.items()
            ]
        return {"new": objects.new, **found} if objects.new else found

    def _update(self, update: Update, objects: _Objects) -> JsonValue:
        query = self._queries[update.query]
        if update.object is None:
            return [query, None, *update.key]
        return [query, self._object(update.query, update.object, objects)]

    def _reading(self, query: ResourceQuery, reading: Reading, objects: _Objects) -> JsonValue:
        number = self._queries[query]
        if isinstance(reading, Matched):
            return [number, [self._object(query, obj, objects) for obj in reading.objects]]
        unknown = isinstance(reading, UnknownKind)
        return [number, "unknown" if unknown else "unreadable", reading.reason]

    def _object(self, query: ResourceQuery, obj: KubeObject, objects: _Objects) -> int:
        """Return the number of an object as it is kept; a new one is added to ``objects``."""
        kept = project(self._redactor.object(query, obj), self._fields(query))
        digest = hashlib.blake2b(orjson.dumps(kept), digest_size=16).digest()
        number = self._objects.get(digest)
        if number is None:
            if len(self._objects) >= MAX_KNOWN_OBJECTS:
                self._objects.clear()  # what comes again is written again
            number = self._objects[digest] = self._written
            self._written += 1
            objects.new.append(kept)
        return number

    def _new_queries(self, queries: Iterable[ResourceQuery]) -> list[JsonObject]:
        lines: list[JsonObject] = []
        for query in queries:
            if query not in self._queries:
                self._queries[query] = len(self._queries)
                asked = _plain(query)
                del asked["namespace_chosen"]  # it only words messages, which the check makes anew
                lines.append({"k": "query", **asked, "keeps": self._keeps(query)})
        return lines

    def _keeps(self, query: ResourceQuery) -> JsonValue:
        return fields_as_json(self._fields(query))

    def _fields(self, query: ResourceQuery) -> Fields | None:
        # What no check reads is not kept, so a query that none asks keeps identities alone.
        return self._kept.get(query, ())


def _same_state(left: Judged, right: Judged) -> bool:
    return _state(left) == _state(right)


def _state(record: Judged) -> JsonObject:
    return {
        "watch": record.watch,
        "rv": record.rv,
        "at_sec": record.at_sec,
        "origin": record.origin,
    }


def _state_line(state: Judged, statuses: Mapping[int, str]) -> bytes:
    by_status: JsonObject = {}
    for status in ("pass", "fail", "error"):
        places: list[JsonValue] = [place for place, found in statuses.items() if found == status]
        if places:
            by_status[status] = places
    return orjson.dumps({"k": "judged", **_state(state), **by_status})


def result_body(result: VerificationResult) -> JsonObject:
    """Return a result as the member that is written down."""
    dumped = result.model_dump(mode="json", exclude_defaults=True)
    return {"result": {**dumped, "success": result.success, "status": result.status}}


def _plain(record: object) -> JsonObject:
    """Return a dataclass without objects of Kubernetes in it as JSON, without what is absent."""
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"{type(record).__name__} is no record")
    found: JsonObject = orjson.loads(orjson.dumps(record))
    return {name: value for name, value in found.items() if value is not None}
