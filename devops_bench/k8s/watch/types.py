"""What goes in and out of a watcher, and what its parts hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import ResourceQuery, View
from devops_bench.k8s.watch.events import ErrorEvent, Malformed, ObjectList
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.tables import Key, Step

Origin: TypeAlias = Literal["baseline", "event", "repair", "relist", "again"]
"""Where a state comes from: the first LIST; a write that was watched; an exact LIST inside a gap;
the LIST after a gap that was not closed; a state that was handed out before and was asked for."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What somebody wants to see every state of.

    Attributes:
        id: Given back with every state and gap; unique within a watcher.
        queries: What is read; at least one.
        may_appear: Whether a kind that the server does not know yet counts as one without objects,
            to be watched from its CustomResourceDefinition's own version on.
    """

    id: str
    queries: tuple[ResourceQuery, ...]
    may_appear: bool = False


@dataclass(frozen=True, slots=True)
class StateInfo:
    """Which state a view shows.

    Attributes:
        rv: The revision of the write that led to it.
        at_sec: Monotonic seconds when the line or LIST that proved it was received.
        origin: Where it comes from.
    """

    rv: int
    at_sec: float
    origin: Origin


class Listener(Protocol):
    """Who is told. Everything is called on the watcher's judge thread, one call at a time."""

    def on_state(self, subscription: str, view: View, state: StateInfo) -> None:
        """Look at the next state of a subscription.

        Args:
            subscription: Its id.
            view: Answers the subscription's queries; only valid until this returns.
            state: Which state it is. Within a subscription revisions never go back.
        """
        ...

    def on_gap(self, subscription: str, gap: Gap) -> None:
        """Note a gap of one of the subscription's streams, closed or not."""
        ...


class Recorder(Protocol):
    """Who writes down what was seen; called on the judge thread, before the listener."""

    def on_step(self, stream: str, step: Step, state: StateInfo) -> None:
        """Note what changed in what is read; a baseline is the step from nothing."""
        ...


@dataclass(frozen=True, slots=True)
class StreamKey:
    """One stream: a kind, in one namespace or in all.

    Attributes:
        resource: The kind in the version that is read; fixed for the whole run.
        namespace: The namespace, ``None`` for all and for cluster-scoped kinds.
    """

    resource: ApiResource
    namespace: str | None

    @property
    def path(self) -> str:
        """The path of the collection."""
        return self.resource.path(self.namespace)

    def __str__(self) -> str:
        """``deployments.apps in namespace shop``."""
        if self.namespace is None:
            return str(self.resource)
        return f"{self.resource} in namespace {self.namespace}"


class Source:
    """One connection that feeds a stream, from its opening to its end.

    Args:
        stream: The stream.
        close: Ends the connection from any thread.

    Attributes:
        failure: What made its lines useless; the lines behind it do not count. Written by the judge
            thread before it ends the connection, read by others after the connection has ended.
        rv: The newest revision that this connection has brought.
        queued_bytes: What was queued for the judge; written by the thread that reads.
        taken_bytes: What of it the judge has taken; written by the judge.
    """

    def __init__(self, stream: StreamKey, close: Callable[[], None]) -> None:
        self.stream = stream
        self.close = close
        self.failure: ErrorEvent | Malformed | None = None
        self.rv = 0
        self.queued_bytes = 0
        self.taken_bytes = 0

    @property
    def waiting_bytes(self) -> int:
        """About how many bytes of its lines wait to be judged."""
        return self.queued_bytes - self.taken_bytes


@dataclass(frozen=True, slots=True)
class NewStream:
    """A stream to be judged from now on.

    Attributes:
        key: Which stream.
        queries: What is read on it.
        readers: The subscriptions that read it.
        listing: Its first state.
        at_sec: Monotonic seconds when that was received.
    """

    key: StreamKey
    queries: tuple[ResourceQuery, ...]
    readers: tuple[Subscription, ...]
    listing: ObjectList
    at_sec: float


@dataclass(frozen=True, slots=True)
class NewGroup:
    """Streams that some subscriptions read together, all listed at ``rv``."""

    keys: tuple[StreamKey, ...]
    readers: tuple[Subscription, ...]
    rv: int


@dataclass(frozen=True, slots=True)
class Held:
    """How far a stream is known.

    Attributes:
        rv: The revision up to which everything was judged.
        named: Uid and resourceVersion of every object that is read, where all are read by name and
            exist; see :meth:`~devops_bench.k8s.watch.store.StreamStore.only_named`.
    """

    rv: int
    named: Mapping[Key, tuple[str, str]] | None
