"""The state of one stream, write by write."""

from __future__ import annotations

from collections.abc import Iterable

from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import ResourceQuery
from devops_bench.k8s.watch.events import ObjectEvent
from devops_bench.k8s.watch.tables import Key, Matcher, Step, Tables, Update


class StreamStore:
    """What the queries on one stream match, and up to which revision that is known.

    Several connections may feed it at once (the stream's own and that of a fence): each delivers
    every write after a revision that was known here, in order, so the first delivery of each write
    is the next one, and every later delivery is recognised by its revision.

    Args:
        queries: Everything that is read of this kind.
        namespaced: Whether the kind is.
        rv: The revision from which on writes count; the store starts empty.
    """

    def __init__(
        self,
        queries: Iterable[ResourceQuery],
        namespaced: bool,
        rv: int = 0,
    ) -> None:
        held = tuple(queries)
        self.rv = rv
        self.tables = Tables(held)
        self._matcher = Matcher(held, namespaced)
        self._holders: dict[Key, list[ResourceQuery]] = {}

    def apply(self, event: ObjectEvent) -> Step | None:
        """Take over one write.

        An addition of an object that is known, and a change of one that is not, are states like
        any other.

        Returns:
            The step, without updates where no query reads the object; ``None`` for a write that is
            known already.
        """
        if event.rv <= self.rv:
            return None
        key = (event.object.namespace, event.object.name)
        matching = [] if event.deleted else self._matcher.matching(event.object)
        updates = [Update(query, key, event.object) for query in matching]
        updates += [
            Update(query, key, None)
            for query in self._holders.get(key, ())
            if query not in matching
        ]
        step = Step(event.rv, tuple(updates))
        self._take(step)
        return step

    def advance(self, rv: int) -> None:
        """Note that nothing more comes up to ``rv`` (a bookmark, an exact LIST)."""
        self.rv = max(self.rv, rv)

    def replace(self, objects: Iterable[KubeObject], rv: int) -> Step | None:
        """Take over a whole state, as an exact LIST shows it.

        Returns:
            The step from the state before, ``None`` when ``rv`` is known already.
        """
        if rv <= self.rv:
            return None
        wanted: dict[ResourceQuery, dict[Key, KubeObject]] = {query: {} for query in self.tables}
        for obj in objects:
            for query in self._matcher.matching(obj):
                wanted[query][(obj.namespace, obj.name)] = obj
        updates: list[Update] = []
        for query, new in wanted.items():
            table = self.tables.table(query)
            updates += [Update(query, key, None) for key in table.keys() if key not in new]  # noqa: SIM118
            updates += [
                Update(query, key, obj) for key, obj in new.items() if table.get(key) != obj
            ]
        step = Step(rv, tuple(updates))
        self._take(step)
        return step

    def only_named(self) -> dict[Key, tuple[str, str]] | None:
        """Return uid and resourceVersion of each object, where that proves that nothing happened.

        Returns:
            ``None`` unless every query names one object in one namespace and that object exists:
            an object that is not there may have come and gone unseen.
        """
        proof: dict[Key, tuple[str, str]] = {}
        for query in self.tables:
            keys = self.tables.table(query).keys()
            if query.name is None or len(keys) != 1:
                return None
            obj = self.tables.table(query).get(keys[0])
            if obj is None or (query.namespace is None and obj.namespace):
                return None
            proof[keys[0]] = (obj.uid, obj.resource_version)
        return proof

    def _take(self, step: Step) -> None:
        self.tables.apply(step)
        for update in step.updates:
            self._note_holder(update)
        self.rv = step.rv

    def _note_holder(self, update: Update) -> None:
        holders = self._holders.setdefault(update.key, [])
        if update.object is not None:
            if update.query not in holders:
                holders.append(update.query)
            return
        if update.query in holders:
            holders.remove(update.query)
        if not holders:
            del self._holders[update.key]
