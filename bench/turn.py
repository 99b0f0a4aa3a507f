"""Twenty safeguards over four kinds through a turn of a minute, against kubectl every 5 s."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from bench.figures import Figure, cpu_of_children
from bench.plane import NAMESPACE, create, plane
from devops_bench.clusters.base import Cluster
from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.access import KubeAccess
from devops_bench.evalharness.clock import TaskClock
from devops_bench.evalharness.hold import SafeguardMonitor, hold_verdict
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.watch.types import Listener, Recorder
from devops_bench.k8s.watch.watcher import Watcher
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.verification.spec import VerificationEntry, parse_entries

KINDS = {
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
}
ENTRIES_PER_KIND = 5
TURN_SEC = 60
ROUNDS = 5
KUBECTL_EVERY_SEC = 5
CPU_AIM = 1 / 60
REQUESTS_AIM = 4


def measure() -> list[Figure]:
    """Watch through a turn with one write a second, with the fence and the recording."""
    with plane() as (cluster, client, _), tempfile.TemporaryDirectory() as folder:
        for kind, path in KINDS.items():
            create(client, f"/api/v1/namespaces/{NAMESPACE}/{path}", _object(kind))
        turns = [_Turn(cluster, client) for _ in range(ROUNDS)]
        taken = [_watch(turn, Path(tempfile.mkdtemp(dir=folder))) for turn in turns]
        cpu, requests, size = (statistics.median(one) for one in zip(*taken, strict=True))
        calls = [statistics.median(turn.kubectl) for turn in turns]
        kubectl = statistics.median(calls) * _samples()
    looks = sum(len(turn.kubectl) for turn in turns)
    return [
        Figure(
            f"CPU of {_count()} holds in {TURN_SEC} s, one write a second, fence and recording",
            f"{cpu:.2f} s",
            f"{kubectl:.1f} s (kubectl every {KUBECTL_EVERY_SEC} s; {looks} calls)",
            f"1/{kubectl / cpu:.0f}",
            "<= 1/60",
            cpu / kubectl <= CPU_AIM,
        ),
        Figure(
            "API requests of that, for each kind",
            f"{requests / len(KINDS):g}",
            f"{_samples() / len(KINDS):g} (kubectl, without its discovery)",
            f"1/{_samples() / requests:.0f}",
            f"<= {REQUESTS_AIM}",
            requests / len(KINDS) <= REQUESTS_AIM,
        ),
        Figure(
            "bytes recorded of that, for each state, its share of the header included",
            f"{size / TURN_SEC:.0f}",
            "",
            f"{size:,.0f} in all",
            "",
            None,
        ),
    ]


class _Turn:
    """What happens meanwhile: a write a second, and a call of kubectl every five.

    Attributes:
        writing: CPU seconds of this process that went into the writes and the starts of kubectl.
        kubectl: CPU seconds of each call of kubectl.
    """

    def __init__(self, cluster: Cluster, client: ApiClient) -> None:
        self.cluster = cluster
        self.client = client
        self.writing = 0.0
        self.kubectl: list[float] = []
        program = "kubectl" if cluster.bin_dir is None else str(cluster.bin_dir / "kubectl")
        self._get = [program, "--kubeconfig", str(cluster.kubeconfig)]
        self._get += ["get", "configmap", "it", "-ojson"]

    def run(self) -> None:
        """Take the whole turn."""
        began, pause = time.monotonic(), threading.Event()
        for number in range(TURN_SEC):
            before = time.thread_time()
            self._write(number)
            if number % KUBECTL_EVERY_SEC == 0:
                self.look()
            self.writing += time.thread_time() - before
            pause.wait(max(0.0, began + number + 1 - time.monotonic()))

    def look(self) -> None:
        """Call kubectl once."""
        before = cpu_of_children()
        subprocess.run(self._get, check=True, capture_output=True)
        self.kubectl.append(cpu_of_children() - before)

    def _write(self, number: int) -> None:
        paths = list(KINDS.values())
        self.client.request(
            "PATCH",
            f"/api/v1/namespaces/{NAMESPACE}/{paths[number % len(paths)]}/it",
            body={"metadata": {"labels": {"n": str(number)}}},
            content_type="application/merge-patch+json",
            timeout_sec=10,
        )


def _watch(turn: _Turn, folder: Path) -> tuple[float, int, int]:
    """Return CPU seconds, requests, and bytes recorded."""
    entries = _entries()
    access = KubeAccess(turn.client, kubeconfig=turn.cluster.kubeconfig, work_dir=folder)
    sink = open_evidence(folder, entries)
    watchers: list[Watcher] = []

    def factory(listener: Listener, recorder: Recorder, clock: Clock) -> Watcher:
        watcher = access.watch(listener, recorder, clock)
        assert isinstance(watcher, Watcher)
        watchers.append(watcher)
        return watcher

    turn.look()  # fills kubectl's own discovery cache
    turn.kubectl.clear()
    clock = TaskClock(SYSTEM_CLOCK)
    monitor = SafeguardMonitor(entries, verifier=access, clock=clock, watch=factory, sink=sink)
    began = time.process_time()
    monitor.start()
    failures = monitor.await_baseline(30)
    if failures:
        raise RuntimeError(f"a safeguard does not hold: {failures[0]}")
    turn.run()
    fence = monitor.end_turn()
    cpu = time.process_time() - began - turn.writing
    if fence is None or {hold_verdict(o)[1] for o in monitor.get_observations().values()} != {
        "pass"
    }:
        raise RuntimeError("not every safeguard was watched and held")
    requests = watchers[0].requests() + sum(one.requests for one in fence.streams.values())
    monitor.stop()
    sink.close()
    return cpu, requests, sum(path.stat().st_size for path in folder.glob("evidence*"))


def _count() -> int:
    return ENTRIES_PER_KIND * len(KINDS)


def _samples() -> int:
    return _count() * TURN_SEC // KUBECTL_EVERY_SEC


def _entries() -> list[VerificationEntry]:
    entries, errors = parse_entries(
        [
            {
                "name": f"{kind} {number}",
                "role": "safeguard",
                "severity": "recoverable",
                "mode": "hold",
                "coverage": "watch",
                "check": _check(kind, number),
            }
            for kind in KINDS
            for number in range(ENTRIES_PER_KIND)
        ]
    )
    if errors:
        raise RuntimeError(f"the generated entries do not parse: {errors[:3]}")
    return entries


def _check(kind: str, number: int) -> JsonObject:
    return {
        "type": "resource_property",
        "kind": kind,
        "resource_name": "it",
        "namespace": NAMESPACE,
        "path": "metadata.labels.state",
        "op": "ne",
        "value": f"bad {number}",
    }


def _object(kind: str) -> JsonObject:
    metadata: JsonObject = {"name": "it", "labels": {"state": "good"}}
    body: JsonObject = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "Service":
        body["spec"] = {"ports": [{"port": 80}]}
    return body
