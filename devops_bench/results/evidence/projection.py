"""Which parts of objects are kept: what some check reads, and what identifies an object. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.view import ResourceQuery
from devops_bench.verification.base import Check, Fields
from devops_bench.verification.combinators import leaves_of
from devops_bench.verification.spec import VerificationEntry

Projection: TypeAlias = Mapping[ResourceQuery, Fields | None]
"""The parts that are kept of what each query matches; ``None`` keeps whole objects."""

IDENTITY: Final[Fields] = (
    ("apiVersion",),
    ("kind",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "deletionTimestamp",
            "labels",
        )
    ),
    ("status", "observedGeneration"),
)
"""What is kept of every object."""


def projection_of(entries: Iterable[VerificationEntry]) -> Projection:
    """Return what the checks of some entries read."""
    kept: dict[ResourceQuery, Fields | None] = {}
    for entry in entries:
        for leaf in leaves_of(entry.check):
            if not isinstance(leaf, Check):
                continue
            fields = leaf.fields()
            for query in leaf.queries():
                kept[query] = _union(kept.get(query, ()), fields)
    return kept


def missing_fields(wanted: Fields | None, kept: Fields | None) -> list[str]:
    """Return the parts that are wanted and were not kept, as a reader writes them."""
    if kept is None:
        return []
    if wanted is None:
        return ["the whole object"]
    all_kept = (*kept, *IDENTITY)
    return [
        ".".join(path)
        for path in wanted
        if not any(path[: len(known)] == known for known in all_kept)
    ]


def project(data: JsonObject, fields: Fields | None) -> JsonObject:
    """Return the parts of an object that are kept; it shares them with ``data``.

    Args:
        data: The object.
        fields: What is kept besides :data:`IDENTITY`; ``None`` for everything.
    """
    if fields is None:
        return data
    kept: JsonObject = {}
    for path in (*IDENTITY, *fields):
        _copy(data, kept, path)
    return kept


def _copy(source: JsonObject, target: JsonObject, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        value = source.get(name)
        if not isinstance(value, dict):
            return
        below = target.get(name)
        if below is value:
            return  # the whole of it is kept already
        source = value
        if not isinstance(below, dict):
            below = target[name] = {}
        target = below
    last = path[-1]
    if last in source:
        target[last] = source[last]


def _union(left: Fields | None, right: Fields | None) -> Fields | None:
    """Return both, without parts that stand below another part."""
    if left is None or right is None:
        return None
    every = sorted(set(left) | set(right))
    return tuple(path for path in every if not any(path[: len(o)] == o for o in every if o != path))


def fields_as_json(fields: Fields | None) -> JsonValue:
    """Return parts as they are written down."""
    return None if fields is None else [list(path) for path in fields]


def fields_from_json(value: JsonValue) -> Fields | None:
    """Return parts as they were written down.

    Raises:
        TypeError: These are none.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        raise TypeError("the parts of an object are a list")
    paths: list[tuple[str, ...]] = []
    for item in value:
        names = [name for name in item if isinstance(name, str)] if isinstance(item, list) else []
        if not names or not isinstance(item, list) or len(names) != len(item):
            raise TypeError("a part of an object is a list of names")
        paths.append(tuple(names))
    return tuple(paths)
