"""What the phases need of a cluster, and the real one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from devops_bench.clusters.base import Cluster
from devops_bench.clusters.leftovers import ObjectRecord
from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ClusterError
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.sampler import EntryRunner, Look
from devops_bench.evalharness.watching import Watch, WatchFactory
from devops_bench.k8s.apply import create_objects
from devops_bench.k8s.client import ApiClient, connect
from devops_bench.k8s.delete import CreatedObject, delete_objects
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.reader import LiveReader
from devops_bench.k8s.rollout import rolled_out
from devops_bench.k8s.view import (
    Matched,
    Reading,
    ResourceQuery,
    Snapshot,
    UnknownKind,
    Unreadable,
    View,
    ViewSource,
)
from devops_bench.k8s.watch.types import Listener, Recorder
from devops_bench.k8s.watch.watcher import Watcher
from devops_bench.verification.base import ProbeContext
from devops_bench.verification.combinators import queries_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry

DEFAULT_NAMESPACE = "default"
"""Where objects without a namespace go, and where checks without one look."""

_REQUEST_TIMEOUT_SEC = 10.0
# The controller manager puts its own into each: the account "default", "kube-root-ca.crt".
_IN_EVERY_NAMESPACE = ("serviceaccounts", "configmaps")


class ClusterAccess(EntryRunner, Protocol):
    """A connection to the task's cluster; :meth:`run_entry` is called by several threads.

    One that is a :class:`~devops_bench.evalharness.sampler.Looker` too says what it read.
    """

    @property
    def watch(self) -> WatchFactory | None:
        """Makes watchers; ``None`` where nothing can be watched."""
        ...

    def create(
        self,
        objects: Sequence[JsonObject],
        *,
        adopt: bool,
        record: Callable[[CreatedObject], None],
        timeout_sec: float,
    ) -> None:
        """Create the objects of the setup.

        Args:
            objects: What to create.
            adopt: Whether an object that is there already is taken over instead of an error.
            record: Told of each object that was created, so that it can be deleted.
            timeout_sec: Seconds that all of it may take, > 0.

        Raises:
            SetupError: One could not be created, or was there already.
            ClusterError: The server did not answer.
        """
        ...

    def note(self, created: CreatedObject) -> None:
        """Note an object that somebody else created for the run.

        Should the run be killed, the next command names it, where the cluster lives on.
        """
        ...

    def record_difference(self) -> str:
        """Return what others did to the record of created objects; empty for nothing."""
        ...

    def not_rolled_out(self, objects: Sequence[JsonObject]) -> list[str]:
        """Return a sentence for each workload among ``objects`` that is not rolled out yet."""
        ...

    def missing_ground(self, entry: VerificationEntry) -> str | None:
        """Return which kind or namespace that the entry reads is not known to exist, or ``None``.

        A kind that cannot be read at all is passed over: judging the entry says so.
        """
        ...

    def delete(self, created: Sequence[CreatedObject], timeout_sec: float) -> list[str]:
        """Delete exactly these objects; return a sentence for each that is still there."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class KubeAccess:
    """A connection to a real API server.

    Args:
        client: The connection.
        kubeconfig: For probes.
        work_dir: For probes.
        clock: Where time comes from.
    """

    def __init__(
        self, client: ApiClient, *, kubeconfig: Path, work_dir: Path, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._client = client
        self._discovery = Discovery(client)
        reader = LiveReader(client, self._discovery)
        context = ProbeContext(kubeconfig=kubeconfig, work_dir=work_dir)
        self._cancel = threading.Event()
        self._agent = VerifierAgent(reader, probe_context=context, clock=clock, cancel=self._cancel)
        self._lenient_agent = VerifierAgent(AbsentKinds(reader), probe_context=context, clock=clock)
        self._reader = reader
        self._objects: ObjectRecord | None = None

    @classmethod
    def connect(cls, cluster: Cluster, work_dir: Path) -> KubeAccess:
        """Connect to a cluster that was provided.

        Raises:
            ClusterError: It does not answer, or does not let us in.
        """
        shown = ", ".join(map(str, cluster.kubeconfig_files))
        client = connect(kubeconfig=cluster.kubeconfig, shown_as=shown)
        access = cls(client, kubeconfig=cluster.kubeconfig, work_dir=work_dir)
        if cluster.objects_in is not None:
            access._objects = ObjectRecord(cluster.objects_in)
        return access

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        """Run the entry by its mode; for ``may_appear`` an unknown kind counts as no objects."""
        agent = self._lenient_agent if entry.may_appear else self._agent
        if entry.resolved_mode == "hold":
            # run_entry gives a hold its own, longer bound; a sample of ours must fit the schedule.
            return agent.sample(entry.check, timeout_sec)
        return agent.run_entry(entry, timeout_sec)

    def look(self, entry: VerificationEntry, timeout_sec: float) -> Look:
        """Judge the entry once; for ``may_appear`` an unknown kind counts as no objects."""
        agent = self._lenient_agent if entry.may_appear else self._agent
        return Look(*agent.sample_and_readings(entry.check, timeout_sec))

    @property
    def watch(self) -> WatchFactory:
        """Makes watchers on this connection."""
        return self._make_watcher

    def _make_watcher(self, listener: Listener, recorder: Recorder, clock: Clock) -> Watch:
        return Watcher(self._client, self._discovery, listener, recorder=recorder, clock=clock)

    def create(
        self,
        objects: Sequence[JsonObject],
        *,
        adopt: bool,
        record: Callable[[CreatedObject], None],
        timeout_sec: float,
    ) -> None:
        """Create the objects; see :class:`ClusterAccess`."""
        noted = self._objects

        def both(created: CreatedObject) -> None:
            record(created)
            self.note(created)

        create_objects(
            self._client,
            self._discovery,
            objects,
            default_namespace=DEFAULT_NAMESPACE,
            adopt=adopt,
            record=both,
            announce=None if noted is None else noted.planned,
            timeout_sec=timeout_sec,
        )
        if noted is not None:
            noted.settled()

    def note(self, created: CreatedObject) -> None:
        """Note an object that was created; see :class:`ClusterAccess`."""
        if self._objects is not None:
            self._objects.created(created)

    def record_difference(self) -> str:
        """Return what others did to the record of created objects; see :class:`ClusterAccess`."""
        return "" if self._objects is None else self._objects.difference()

    def not_rolled_out(self, objects: Sequence[JsonObject]) -> list[str]:
        """Return a sentence for each workload that is not rolled out yet."""
        return [text for text in map(self._why_not_rolled_out, objects) if text]

    def _why_not_rolled_out(self, wanted: JsonObject) -> str:
        asked = KubeObject(wanted)
        api_version, kind = wanted.get("apiVersion"), wanted.get("kind")
        place = f"{kind} {asked.name}"
        resource = self._discovery.resource_for(str(api_version), str(kind), _REQUEST_TIMEOUT_SEC)
        if isinstance(resource, UnknownKind | Unreadable):
            return f"{place}: {resource.reason}"
        path = resource.path(asked.namespace or DEFAULT_NAMESPACE, asked.name)
        try:
            live = self._client.request("GET", path, timeout_sec=_REQUEST_TIMEOUT_SEC)
        except ClusterError as exc:
            return f"{place}: {exc}"
        done, reason = rolled_out(KubeObject(live))
        return "" if done else f"{place}: {reason}"

    def missing_ground(self, entry: VerificationEntry) -> str | None:
        """Return which kind or namespace is not known to exist; see :class:`ClusterAccess`."""
        for query in queries_of(entry.check):
            resource = self._discovery.resolve(query.kind, _REQUEST_TIMEOUT_SEC)
            if isinstance(resource, UnknownKind):
                return resource.reason
            if isinstance(resource, Unreadable) or not resource.namespaced:
                continue
            if query.namespace and (why := self._no_ground(query.namespace, query.kind)):
                return why
        return None

    def _no_ground(self, namespace: str, kind: str) -> str:
        """Return why the namespace is not known to exist, empty when it is.

        Who may not read namespaces may still read what is in one: any object proves it.
        """
        itself = ResourceQuery("namespaces", name=namespace)
        found = self._reader.view([itself], _REQUEST_TIMEOUT_SEC).read(itself)
        if isinstance(found, Matched):
            return "" if found.objects else f"there is no namespace {namespace!r}"
        inside = [ResourceQuery(held, namespace) for held in (kind, *_IN_EVERY_NAMESPACE)]
        view = self._reader.view(inside, _REQUEST_TIMEOUT_SEC)
        readings = (view.read(query) for query in inside)
        if any(isinstance(reading, Matched) and reading.objects for reading in readings):
            return ""
        return f"could not be told whether namespace {namespace!r} exists: {found.reason}"

    def delete(self, created: Sequence[CreatedObject], timeout_sec: float) -> list[str]:
        """Delete exactly these objects; return a sentence for each that is still there."""
        left = delete_objects(self._client, created, timeout_sec)
        return [f"{item.object}: {item.reason}" for item in left]

    def close(self) -> None:
        """End the connection, and with it whatever still waits for an entry to become true."""
        self._cancel.set()
        self._client.close()
        if self._objects is not None:
            self._objects.close()


class AbsentKinds:
    """A source in which a kind that the server does not know has no objects.

    For entries that say ``may_appear``. Only complete discovery tells that a kind is unknown; with
    an incomplete one it stays unreadable.

    Args:
        source: Where views come from.
    """

    def __init__(self, source: ViewSource) -> None:
        self._source = source

    def view(self, queries: Iterable[ResourceQuery], timeout_sec: float) -> View:
        """Return the source's view with unknown kinds read as no objects."""
        asked = tuple(queries)
        view = self._source.view(asked, timeout_sec)
        return Snapshot({query: _known(view.read(query)) for query in asked})


def _known(reading: Reading) -> Reading:
    return Matched(()) if isinstance(reading, UnknownKind) else reading
