"""What a watcher answers, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from devops_bench.k8s.watch.repair import RepairLimits


@dataclass(frozen=True, slots=True)
class StreamFence:
    """How the fence of one stream ended.

    Attributes:
        stream: Which stream, for the reader.
        passed: Whether everything up to ``rv`` was judged.
        rv: The version of a LIST made after the fence was asked for; ``None`` if none answered.
        how: What proved it, or why it was not reached.
        elapsed_sec: Seconds that it took.
        requests: Requests that it cost.
    """

    stream: str
    passed: bool
    rv: int | None
    how: str
    elapsed_sec: float
    requests: int


@dataclass(frozen=True, slots=True)
class Started:
    """What is watched from now on.

    Attributes:
        watched: The streams of each watched subscription, for the reader, by its id.
        sampled: Why a subscription is not watched, by its id: it has to be sampled instead.
        unverified: What about the identity of the cluster could not be fixed, for the reader.
        elapsed_sec: Seconds that the start took.
        requests: Requests that it cost, without discovery.
    """

    watched: Mapping[str, tuple[str, ...]]
    sampled: Mapping[str, str]
    unverified: tuple[str, ...]
    elapsed_sec: float
    requests: int


@dataclass(frozen=True, slots=True)
class FenceResult:
    """How a fence ended.

    Attributes:
        streams: One result per stream, by the stream's text.
        subscriptions: The streams of each subscription, by its id.
        uncertain: Why it is not known whether the kind of a subscription exists, by its id.
        failure: What makes the whole watch worthless, ``None`` if nothing does.
        elapsed_sec: Seconds that it took.
    """

    streams: Mapping[str, StreamFence]
    subscriptions: Mapping[str, tuple[str, ...]]
    uncertain: Mapping[str, str]
    failure: str | None
    elapsed_sec: float

    def end_rv(self, subscription: str) -> int | None:
        """Return the revision at which what came before the fence ends for a subscription.

        Returns:
            States up to this revision were stored before, or while, the fence was asked for; later
            ones after it. ``None`` where no LIST answered: nothing can be told.
        """
        versions = [self.streams[name].rv for name in self.subscriptions.get(subscription, ())]
        known = [rv for rv in versions if rv is not None]
        return min(known) if known and len(known) == len(versions) else None

    def why_not(self, subscription: str) -> str | None:
        """Return why a subscription was not fenced; ``None`` when all that happened was judged."""
        if self.failure is not None:
            return self.failure
        names = self.subscriptions.get(subscription)
        if names is None:
            return "it is not watched"
        if subscription in self.uncertain:
            return self.uncertain[subscription]
        failed = [self.streams[name] for name in names if not self.streams[name].passed]
        return "; ".join(f"{item.stream}: {item.how}" for item in failed) or None


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What a watch may cost.

    Attributes:
        limits: What repairing one gap may cost.
        quiet_sec: Seconds without a line after which a stream is compared with the server, > 0.
    """

    limits: RepairLimits = field(default_factory=RepairLimits)
    quiet_sec: float = 75.0
