"""Trying a check: judged once, with everything that it takes to understand the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.access import AbsentKinds
from devops_bench.evalharness.leaves import leaf_results
from devops_bench.k8s.view import (
    Matched,
    Reading,
    ResourceQuery,
    Snapshot,
    Unreadable,
    View,
    ViewSource,
)
from devops_bench.verification.base import Check, CheckNode, ProbeContext
from devops_bench.verification.checks.wording import (
    REDACTED,
    is_secret,
    object_label,
    shown,
    shown_path,
)
from devops_bench.verification.paths import parse_path
from devops_bench.verification.placeholders import parse_with_placeholders
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry

MAX_OBJECTS = 20
"""So many objects of one leaf are named."""


@dataclass(frozen=True, slots=True)
class LeafTrial:
    """What one leaf came to.

    Attributes:
        leaf: The leaf.
        objects: What it matched, named; at most :data:`MAX_OBJECTS`.
        object_count: How many it matched; ``None`` when that is not known.
        values: What was found, as text; empty where the leaf does not tell.
        comparison: What it asks of them: ``eq 3``; empty for checks without an op.
        result: What it came to; ``None`` when it was not judged.
    """

    leaf: CheckNode
    objects: tuple[str, ...]
    object_count: int | None
    values: tuple[str, ...]
    comparison: str
    result: VerificationResult | None

    def as_json(self) -> JsonObject:
        """Return it for ``--output json``."""
        return {
            "type": self.leaf.type,
            "name": self.leaf.name,
            "queries": [str(query) for query in _queries(self.leaf)],
            "path": _path(self.leaf),
            "objects": list(self.objects),
            "object_count": self.object_count,
            "values": list(self.values),
            "comparison": self.comparison,
            "status": None if self.result is None else self.result.status,
            "reason": "" if self.result is None else self.result.reason,
        }


@dataclass(frozen=True, slots=True)
class EntryTrial:
    """What one entry came to.

    Attributes:
        entry: The entry.
        result: The verdict of its check, judged once whatever its mode is.
        leaves: Its leaves.
    """

    entry: VerificationEntry
    result: VerificationResult
    leaves: tuple[LeafTrial, ...]

    def as_json(self) -> JsonObject:
        """Return it for ``--output json``."""
        return {
            "name": self.entry.name,
            "mode": self.entry.resolved_mode,
            "status": self.result.status,
            "reason": self.result.reason,
            "stale": self.result.stale,
            "leaves": [leaf.as_json() for leaf in self.leaves],
        }


class _Remembering:
    """A source that keeps the last view that it gave."""

    def __init__(self, source: ViewSource) -> None:
        self._source = source
        self.last: View = Snapshot()

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> View:
        self.last = self._source.view(queries, timeout_sec)
        return self.last


def try_entry(
    entry: VerificationEntry,
    source: ViewSource,
    timeout_sec: float,
    probe_context: ProbeContext | None = None,
) -> EntryTrial:
    """Judge an entry once; never raises.

    Args:
        entry: The entry.
        source: Where views come from.
        timeout_sec: Seconds that it may take, > 0.
        probe_context: What probes may use.
    """
    remembering = _Remembering(AbsentKinds(source) if entry.may_appear else source)
    agent = VerifierAgent(remembering, probe_context=probe_context)
    result = agent.sample(entry.check, timeout_sec)
    return explained(entry, result, remembering.last)


def explained(entry: VerificationEntry, result: VerificationResult, view: View) -> EntryTrial:
    """Return a verdict with what led to it.

    Args:
        entry: The entry.
        result: What its check came to on ``view``.
        view: What it was judged on.
    """
    leaves = tuple(_leaf(leaf, found, view) for leaf, found in leaf_results(entry.check, result))
    return EntryTrial(entry, result, leaves)


def _leaf(leaf: CheckNode, result: VerificationResult | None, view: View) -> LeafTrial:
    named: list[str] = []
    count = 0
    known = True
    for query in _queries(leaf):
        reading: Reading = view.read(query)
        known = known and not isinstance(reading, Unreadable)
        if isinstance(reading, Matched):
            count += len(reading.objects)
            named += [object_label(obj, query) for obj in reading.objects]
    return LeafTrial(
        leaf=leaf,
        objects=tuple(named[:MAX_OBJECTS]),
        object_count=count if known else None,
        values=_values(result),
        comparison=_comparison(leaf),
        result=result,
    )


def _queries(leaf: CheckNode) -> tuple[ResourceQuery, ...]:
    return leaf.queries() if isinstance(leaf, Check) else ()


def _values(result: VerificationResult | None) -> tuple[str, ...]:
    raw = {} if result is None or result.raw is None else dict(result.raw)
    values = raw.get("values")
    if isinstance(values, list):
        return tuple(str(value) for value in values)
    return tuple(f"{name}: {value}" for name, value in raw.items() if name != "objects")


def _comparison(leaf: CheckNode) -> str:
    op = _text(getattr(leaf, "op", None))
    value: JsonValue = getattr(leaf, "value", None)
    if not op:
        return ""
    secret = any(is_secret(query, ()) for query in _queries(leaf))
    text = op if value is None else f"{op} {shown(value, secret=secret)}"
    across = _text(getattr(leaf, "across_matches", None))
    return f"{text}, {across} of them" if across else text


def _path(leaf: CheckNode) -> str:
    text = _text(getattr(leaf, "path", None))
    if not text or not any(is_secret(query, ()) for query in _queries(leaf)):
        return text
    path, unset = parse_with_placeholders(text, parse_path)
    return REDACTED if unset else shown_path(path, secret=True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
