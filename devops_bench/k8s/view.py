"""A read-only picture of the cluster, and the questions that may be asked of it.

A view is where a judgement gets its facts. It may come from live reads, from a watched store or
from a recorded history; the judge cannot tell, and must not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias

from devops_bench.k8s.objects import KubeObject


@dataclass(frozen=True, slots=True)
class ResourceQuery:
    """What a check reads: some objects of one kind.

    Attributes:
        kind: As the author wrote it: kind, plural, singular, short name, or ``resource.group``;
            resolved as kubectl resolves it.
        namespace: The namespace; ``None`` reads all namespaces. Of no meaning for a kind that is
            cluster-scoped.
        name: Only the object of this name; ``None`` for all.
        selector: Only objects whose labels match this selector (Kubernetes' grammar); ``None``
            for all. Never given together with ``name``.
        namespace_chosen: Whether an author wrote the namespace. One that is only a default is not
            told of where the kind may have none; of no meaning for what is read.
    """

    kind: str
    namespace: str | None = None
    name: str | None = None
    selector: str | None = None
    namespace_chosen: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        """For messages: ``Deployment web in namespace shop``."""
        text = self.kind
        if self.name is not None:
            text += f" {self.name}"
        if self.selector is not None:
            text += f" with labels {self.selector}"
        if self.namespace is None or is_cluster_scoped(self.kind):
            return text
        if not self.namespace_chosen and not is_built_in(self.kind):
            return text
        return f"{text} in namespace {self.namespace}"


@lru_cache(maxsize=1024)
def is_cluster_scoped(kind: str) -> bool:
    """Return whether a kind is built in and has no namespaces; other kinds only a server knows."""
    from devops_bench.k8s.offline import built_in  # late: it is about views itself

    found = built_in(kind)
    return found is not None and not found.namespaced


@lru_cache(maxsize=1024)
def is_built_in(kind: str) -> bool:
    """Return whether every cluster has a kind, so that its scope is known without a server."""
    from devops_bench.k8s.offline import built_in  # late: it is about views itself

    return built_in(kind) is not None


@dataclass(frozen=True, slots=True)
class Matched:
    """The query was answered. Not found is an observation: ``objects`` may be empty.

    Attributes:
        objects: What matched, ordered by namespace and name.
    """

    objects: tuple[KubeObject, ...] = ()


@dataclass(frozen=True, slots=True)
class UnknownKind:
    """Discovery was complete, and the server does not know the kind.

    Attributes:
        reason: A sentence for the reader.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The query could not be answered: an API error, a forbidden read, a timeout.

    Attributes:
        reason: A sentence for the reader.
    """

    reason: str


Reading: TypeAlias = Matched | UnknownKind | Unreadable


class View(Protocol):
    """A picture of the cluster at one moment."""

    def read(self, query: ResourceQuery) -> Reading:
        """Return what the picture shows for ``query``; never raises for a declared query."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A view made of answered queries.

    Attributes:
        readings: The answer to each query.
    """

    readings: Mapping[ResourceQuery, Reading] = field(default_factory=dict)

    def read(self, query: ResourceQuery) -> Reading:
        """Return the answer to ``query``.

        A query that nobody asked is unreadable rather than an exception: a check that reads what
        its ``queries()`` did not declare gets an error, never a pass.
        """
        return self.readings.get(query) or Unreadable(f"{query} was not read")


class ViewSource(Protocol):
    """Something that can picture the cluster now: a live connection, a watched store, a record."""

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> View:
        """Return a view that answers each of ``queries``.

        Never raises: what cannot be read within ``timeout_sec`` seconds is :class:`Unreadable`.
        """
        ...
