"""From lines back to records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, UnknownKind, Unreadable
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult, StreamFence
from devops_bench.k8s.watch.tables import Update
from devops_bench.k8s.watch.types import Origin
from devops_bench.results.evidence.projection import fields_from_json
from devops_bench.results.evidence.records import (
    EVIDENCE_VERSION,
    EvidenceRecord,
    Fenced,
    GapNoted,
    Header,
    Judged,
    Mark,
    Marked,
    Missed,
    Sampled,
    Step,
    Subscribed,
)
from devops_bench.verification.base import Fields
from devops_bench.verification.result import VerificationResult

T = TypeVar("T")

STATUS_ONLY: Final = "only its status was kept"
"""The reason of a result that has to be computed again."""

_SHORT: Final[dict[str, VerificationResult]] = {
    "pass": VerificationResult.passed(STATUS_ONLY),
    "fail": VerificationResult.failed(STATUS_ONLY),
    "error": VerificationResult.errored(STATUS_ONLY),
}


class Decoder:
    """Turns lines into records, in their order.

    Attributes:
        kept: What was kept of the objects of each query, as far as lines were read.
    """

    def __init__(self) -> None:
        self.kept: dict[ResourceQuery, Fields | None] = {}
        self._names: list[str] = []
        self._queries: list[ResourceQuery] = []
        self._objects: list[KubeObject] = []

    def records(self, line: JsonObject) -> Sequence[EvidenceRecord]:
        """Return the records of a line, none for a line that only explains others.

        Raises:
            ValueError: The line is none that this version writes.
        """
        kind = line.get("k")
        read = _READERS.get(kind) if isinstance(kind, str) else None
        if read is None:
            raise ValueError(f"records of the kind {str(kind)[:40]!r} are not known here")
        try:
            for data in _list(line.get("new", [])):
                self._objects.append(KubeObject(_object(data)))
            found = read(self, line)
            return found if isinstance(found, list) else [] if found is None else [found]
        except (KeyError, IndexError, TypeError) as exc:
            raise ValueError(f"a record of the kind {kind} is not whole: {exc!r}") from exc

    def _query(self, line: JsonObject) -> None:
        query = ResourceQuery(
            str(line["kind"]),
            _text_or_none(line.get("namespace")),
            _text_or_none(line.get("name")),
            _text_or_none(line.get("selector")),
        )
        self._queries.append(query)
        self.kept[query] = fields_from_json(line.get("keeps"))

    def _header(self, line: JsonObject) -> Header:
        version = line["schema_version"]
        if version != EVIDENCE_VERSION:
            raise ValueError(f"the evidence has version {version}, this is {EVIDENCE_VERSION}")
        entries = tuple(_object(entry) for entry in _list(line["entries"]))
        self._names = [_text(entry["name"]) for entry in entries]
        return Header(
            schema_version=EVIDENCE_VERSION,
            run_id=_text(line["run_id"]),
            task_id=_text(line["task_id"]),
            harness_version=_text(line["harness_version"]),
            server_version=_text(line["server_version"]),
            started_at=_text(line["started_at"]),
            entries=entries,
            entry_errors=tuple(
                (_text(_list(item)[0]), _text(_list(item)[1]))
                for item in _list(line["entry_errors"])
            ),
        )

    def _step(self, line: JsonObject) -> Step:
        return Step(
            watch=_watch(line),
            stream=_text(line["stream"]),
            rv=_int(line["rv"]),
            at_sec=_number(line["at_sec"]),
            origin=_origin(line),
            updates=tuple(self._update(_list(item)) for item in _list(line["updates"])),
        )

    def _update(self, item: list[JsonValue]) -> Update:
        query = self._queries[_int(item[0])]
        if item[1] is None:
            return Update(query, (_text(item[2]), _text(item[3])), None)
        obj = self._objects[_int(item[1])]
        return Update(query, (obj.namespace, obj.name), obj)

    def _judged(self, line: JsonObject) -> list[EvidenceRecord]:
        if "entry" in line:
            return [_judgement(line, _text(line["entry"]), _result(line))]
        return [
            _judgement(line, self._names[_int(place)], result)
            for status, result in _SHORT.items()
            for place in _list(line.get(status, []))
        ]

    def _sampled(self, line: JsonObject) -> Sampled:
        readings = None
        if "readings" in line:
            readings = dict(self._reading(_list(item)) for item in _list(line["readings"]))
        return Sampled(
            entry=_text(line["entry"]),
            began_sec=_number(line["began_sec"]),
            ended_sec=_number(line["ended_sec"]),
            readings=readings,
            result=_result(line),
        )

    def _reading(self, item: list[JsonValue]) -> tuple[ResourceQuery, Reading]:
        query, answer = self._queries[_int(item[0])], item[1]
        if answer == "unknown":
            return query, UnknownKind(_text(item[2]))
        if answer == "unreadable":
            return query, Unreadable(_text(item[2]))
        return query, Matched(tuple(self._objects[_int(one)] for one in _list(answer)))


def _subscribed(_: Decoder, line: JsonObject) -> Subscribed:
    interval = line.get("interval_sec")
    return Subscribed(
        watch=_watch(line),
        entry=_text(line["entry"]),
        coverage="watched" if line["coverage"] == "watched" else "sampled",
        streams=tuple(_text(name) for name in _list(line["streams"])),
        why=_text(line["why"]),
        interval_sec=None if interval is None else _number(interval),
    )


def _missed(_: Decoder, line: JsonObject) -> Missed:
    return Missed(_text(line["entry"]), _int(line["count"]))


def _gap(_: Decoder, line: JsonObject) -> GapNoted:
    return GapNoted(_watch(line), _text(line["entry"]), _made(Gap, _object(line["gap"])))


def _fenced(_: Decoder, line: JsonObject) -> Fenced:
    fence = _object(line["fence"])
    streams = _object(fence["streams"])
    read = {
        "streams": {name: _made(StreamFence, _object(item)) for name, item in streams.items()},
        "subscriptions": {
            name: tuple(_text(one) for one in _list(names))
            for name, names in _object(fence["subscriptions"]).items()
        },
    }
    result = _made(FenceResult, {**fence, **cast(JsonObject, read)})
    return Fenced(_watch(line), _text_or_none(line.get("entry")), _number(line["at_sec"]), result)


def _marked(_: Decoder, line: JsonObject) -> Marked:
    mark = _text(line["mark"])
    if mark not in get_args(Mark):
        raise ValueError(f"the mark {mark[:40]!r} is not known here")
    detail = line.get("detail")
    return Marked(
        mark=cast(Mark, mark),
        at_sec=_number(line["at_sec"]),
        entry=_text_or_none(line.get("entry")),
        detail=None if detail is None else _object(detail),
    )


_Read: TypeAlias = EvidenceRecord | list[EvidenceRecord] | None

_READERS: Final[dict[str, Callable[[Decoder, JsonObject], _Read]]] = {
    "query": Decoder._query,
    "header": Decoder._header,
    "step": Decoder._step,
    "judged": Decoder._judged,
    "sampled": Decoder._sampled,
    "subscribed": _subscribed,
    "missed": _missed,
    "gap": _gap,
    "fenced": _fenced,
    "marked": _marked,
}


def _made(made: type[T], fields: JsonObject) -> T:
    """Return a flat dataclass from its members."""
    # What is missing or too much is a TypeError, which is a line that is not whole.
    return made(**cast("dict[str, Any]", fields))


def _result(line: JsonObject) -> VerificationResult:
    return VerificationResult.model_validate(line["result"])


def _judgement(line: JsonObject, entry: str, result: VerificationResult) -> Judged:
    return Judged(
        watch=_watch(line),
        entry=entry,
        rv=_int(line["rv"]),
        at_sec=_number(line["at_sec"]),
        origin=_origin(line),
        result=result,
    )


def _watch(line: JsonObject) -> Any:
    if line["watch"] not in ("turn", "post_run"):
        raise ValueError(f"there is no watch {str(line['watch'])[:40]!r}")
    return line["watch"]


def _origin(line: JsonObject) -> Origin:
    if line["origin"] not in get_args(Origin):
        raise ValueError(f"there is no origin {str(line['origin'])[:40]!r}")
    return cast(Origin, line["origin"])


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return value


def _text_or_none(value: JsonValue) -> str | None:
    return None if value is None else _text(value)


def _int(value: JsonValue) -> int:
    # A negative number would count from the end.
    if not isinstance(value, int) or value < 0:
        raise TypeError("a count is missing")
    return value


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a number is missing")
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return value


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError("an object is missing")
    return value
