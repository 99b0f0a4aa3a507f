"""The answers to queries, kept current one write at a time.

An object that no query matches is not kept.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.selectors import parse_selector
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, Unreadable

Key: TypeAlias = tuple[str, str]
"""Namespace (empty for a cluster-scoped object) and name."""


@dataclass(frozen=True, slots=True)
class Update:
    """One object entered, changed in, or left what a query matches.

    Attributes:
        query: The query.
        key: Which object.
        object: The object as it is now, ``None`` when the query matches it no more.
    """

    query: ResourceQuery
    key: Key
    object: KubeObject | None


@dataclass(frozen=True, slots=True)
class Step:
    """From one state to the next.

    Attributes:
        rv: The revision of the state that it leads to.
        updates: What differs; may be empty.
    """

    rv: int
    updates: tuple[Update, ...]


class Table:
    """What one query matches now, ordered by namespace and name."""

    def __init__(self) -> None:
        self._objects: dict[Key, KubeObject] = {}
        self._order: list[Key] = []
        self._answer: Matched | None = None

    def get(self, key: Key) -> KubeObject | None:
        """Return the object under ``key``, ``None`` when the query does not match it."""
        return self._objects.get(key)

    def keys(self) -> tuple[Key, ...]:
        """Return the keys of everything that matches, in order."""
        return tuple(self._order)

    def put(self, key: Key, obj: KubeObject | None) -> None:
        """Set the object under ``key``; ``None`` takes it out."""
        known = key in self._objects
        if obj is not None:
            self._objects[key] = obj
            if not known:
                insort(self._order, key)
        elif known:
            del self._objects[key]
            del self._order[bisect_left(self._order, key)]
        self._answer = None

    def matched(self) -> Matched:
        """Return the answer; the same object until something changes."""
        if self._answer is None:
            self._answer = Matched(tuple(self._objects[key] for key in self._order))
        return self._answer


class Tables:
    """The tables of some queries. It is a view: a check is judged on it.

    A query that it does not hold is unreadable, as in a :class:`~devops_bench.k8s.view.Snapshot`.
    """

    def __init__(self, queries: Iterable[ResourceQuery]) -> None:
        self._tables = {query: Table() for query in queries}

    def __contains__(self, query: ResourceQuery) -> bool:
        return query in self._tables

    def __iter__(self) -> Iterator[ResourceQuery]:
        return iter(self._tables)

    def table(self, query: ResourceQuery) -> Table:
        """Return the table of a query that it holds.

        Raises:
            KeyError: It does not hold the query.
        """
        return self._tables[query]

    def apply(self, step: Step) -> None:
        """Take over what a step changes in the queries that are held here."""
        for update in step.updates:
            table = self._tables.get(update.query)
            if table is not None:
                table.put(update.key, update.object)

    def read(self, query: ResourceQuery) -> Reading:
        """Return what matches now."""
        table = self._tables.get(query)
        return Unreadable(f"{query} is not watched") if table is None else table.matched()


class Matcher:
    """Which of many queries match an object, without asking each of them.

    Args:
        queries: All of one kind.
        namespaced: Whether the kind is; of a cluster-scoped kind a query's namespace is ignored.
    """

    def __init__(self, queries: Iterable[ResourceQuery], namespaced: bool) -> None:
        self._by_name: defaultdict[str, list[tuple[str | None, ResourceQuery]]] = defaultdict(list)
        self._others: list[tuple[str | None, Callable[[KubeObject], bool], ResourceQuery]] = []
        for query in queries:
            namespace = query.namespace if namespaced else None
            if query.name is not None:
                self._by_name[query.name].append((namespace, query))
            else:
                self._others.append((namespace, _label_test(query.selector), query))

    def matching(self, obj: KubeObject) -> list[ResourceQuery]:
        """Return the queries that match ``obj``."""
        namespace = obj.namespace
        found = [
            query
            for wanted, query in self._by_name.get(obj.name, ())
            if wanted is None or wanted == namespace
        ]
        found += [
            query
            for wanted, test, query in self._others
            if (wanted is None or wanted == namespace) and test(obj)
        ]
        return found


def _label_test(selector: str | None) -> Callable[[KubeObject], bool]:
    if selector is None:
        return lambda _: True
    parsed = parse_selector(selector)
    return lambda obj: parsed.matches(obj.labels)
