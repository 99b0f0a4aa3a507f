"""A loaded spec as rules see it: its entries and leaves, each with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from devops_bench.core.json import JsonObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import ResourceQuery
from devops_bench.lint.kinds import Kinds
from devops_bench.lint.server import is_always_there, never_returned
from devops_bench.lint.trace import PathFault, Trace, trace
from devops_bench.tasks.loader import LoadedParts
from devops_bench.tasks.model import Task
from devops_bench.tasks.yaml import DocPath
from devops_bench.verification.base import Check, CheckNode
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.paths import Path, parse_path
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.spec import VerificationEntry
from devops_bench.verification.tree import Combinator


@dataclass(frozen=True, slots=True)
class LocatedEntry:
    """An entry that could be read.

    Attributes:
        entry: The entry.
        path: Where it stands.
        raw: What the file says, variables replaced.
    """

    entry: VerificationEntry
    path: DocPath
    raw: JsonObject


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a check.

    Attributes:
        node: The leaf.
        path: Where it stands.
        within: The types of the combinators around it, the outermost first.
        entry: The entry it belongs to; ``None`` for a check of ``setup.ready``.
    """

    node: CheckNode
    path: DocPath
    within: tuple[str, ...]
    entry: LocatedEntry | None

    @property
    def is_elsewhere(self) -> bool:
        """Whether it names another cluster than the task's, which nothing is known about."""
        return self.node.kubeconfig is not None or self.node.context is not None

    @property
    def queries(self) -> tuple[ResourceQuery, ...]:
        """What it reads; nothing for a probe."""
        return self.node.queries() if isinstance(self.node, Check) else ()

    @property
    def parsed_path(self) -> Path | None:
        """Its path into the object; ``None`` without one, or while a variable in it is unset."""
        if not isinstance(self.node, ResourceProperty) or self.node.path is None:
            return None
        return None if has_placeholder(self.node.path) else parse_path(self.node.path)


class Subject:
    """One spec, and what is known about Kubernetes.

    Args:
        parts: What could be read of it.
        kinds: The kinds that its checks may name.
        used_variables: Every variable that it refers to.
    """

    def __init__(self, parts: LoadedParts, kinds: Kinds, used_variables: frozenset[str]) -> None:
        self.parts = parts
        self.kinds = kinds
        self.used_variables = used_variables
        self._resources: dict[str, ApiResource | None] = {}
        self._traces: dict[tuple[str, str], Trace | None] = {}

    @property
    def task(self) -> Task:
        """Everything that could be read of the task."""
        return self.parts.task

    @cached_property
    def entries(self) -> tuple[LocatedEntry, ...]:
        """Every entry that could be read, in order."""
        raw = self.parts.raw.get(str(self.parts.entries_path[0]))
        places: dict[str, tuple[int, JsonObject]] = {}
        for index, item in enumerate(raw if isinstance(raw, list) else []):
            if isinstance(item, dict):
                places.setdefault(str(item.get("name")), (index, item))
        root = self.parts.entries_path
        return tuple(
            LocatedEntry(entry, (*root, places[entry.name][0]), places[entry.name][1])
            for entry in self.task.entries
        )

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every leaf of every entry and of ``setup.ready``."""
        found = [
            leaf
            for entry in self.entries
            for leaf in _leaves(entry.entry.check, (*entry.path, "check"), (), entry)
        ]
        for check in self.task.setup.ready or ():
            index = int(check.name.removeprefix("ready[").removesuffix("]"))
            found += _leaves(check.check, ("setup", "ready", index), (), None)
        return tuple(found)

    def leaves_of(self, entry: LocatedEntry) -> Iterator[Leaf]:
        """Yield the leaves of one entry."""
        return _leaves(entry.entry.check, (*entry.path, "check"), (), entry)

    def resource(self, kind: str) -> ApiResource | None:
        """Return what ``kind`` means, ``None`` when it is not known here."""
        if kind not in self._resources:
            found = None if has_placeholder(kind) else self.kinds.find(kind)
            self._resources[kind] = found
        return self._resources[kind]

    def trace_of(self, leaf: Leaf) -> Trace | None:
        """Return what a leaf's path meets in the schema of its kind.

        ``None`` without a path (or for the whole object), and while the schema is not known.
        """
        path = leaf.parsed_path
        if not isinstance(leaf.node, ResourceProperty) or path is None or not path.steps:
            return None
        key = (leaf.node.kind, path.text)
        if key not in self._traces:
            self._traces[key] = self._traced(self.resource(leaf.node.kind), path)
        return self._traces[key]

    def _traced(self, resource: ApiResource | None, path: Path) -> Trace | None:
        if resource is None:
            return None
        unread = never_returned(resource, path.leading_names)
        if unread is not None:
            return Trace(faults=[PathFault(*unread)])
        shape = self.kinds.shape(resource)
        if shape is None:
            return None
        found = trace(shape, path.steps)
        names = path.leading_names
        if len(names) == len(path.steps) and not found.faults:
            found.always_there = found.always_there or is_always_there(resource, names)
        return found


def _leaves(
    node: CheckNode, path: DocPath, within: tuple[str, ...], entry: LocatedEntry | None
) -> Iterator[Leaf]:
    if not isinstance(node, Combinator):
        yield Leaf(node, path, within, entry)
        return
    for index, child in enumerate(node.checks):
        yield from _leaves(child, (*path, "checks", index), (*within, node.type), entry)
