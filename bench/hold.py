"""One sample of a hold on ``resource_property`` against one ``kubectl get -o json``."""

from __future__ import annotations

import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, cpu_of_children, cpu_of_self
from bench.plane import NAMESPACE, create, deployment, plane
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.hold import SafeguardMonitor
from devops_bench.k8s.view import ViewSource
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry, parse_entries

PAIRS = 5
OUR_SAMPLES = 40
KUBECTL_SAMPLES = 5
INTERVAL_SEC = 0.1
AIM = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What one sample costs, in seconds."""

    cpu_sec: float
    wall_sec: float


def measure() -> list[Figure]:
    """Measure both in turn on one plane; the medians of the pairs."""
    with plane() as (cluster, client, reader):
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
        create(client, path, deployment("web"))
        (entry,), _ = parse_entries([_raw_entry()])
        kubectl = (cluster.bin_dir or Path()) / "kubectl"
        get = [str(kubectl), "--kubeconfig", str(cluster.kubeconfig), "get", "deployment", "web"]

        _monitor(entry, reader, 5)  # connects, asks discovery
        _kubectl(get, 1)  # fills kubectl's own discovery cache
        pairs = [
            (_monitor(entry, reader, OUR_SAMPLES), _kubectl(get, KUBECTL_SAMPLES))
            for _ in range(PAIRS)
        ]
    return [
        _figure("CPU", pairs, lambda cost: cost.cpu_sec, AIM),
        _figure("wall time", pairs, lambda cost: cost.wall_sec, 1.0),
    ]


def _figure(
    what: str, pairs: list[tuple[Cost, Cost]], read: Callable[[Cost], float], aim: float
) -> Figure:
    ours = statistics.median(read(pair[0]) for pair in pairs)
    other = statistics.median(read(pair[1]) for pair in pairs)
    return Figure(
        f"{what} of a hold sample over kubectl get -o json",
        f"{ours * 1000:.2f} ms",
        f"{other * 1000:.1f} ms",
        f"1/{other / ours:.0f}",
        f"<= 1/{aim:g}",
        other / ours >= aim,
    )


def _raw_entry() -> JsonObject:
    return {
        "name": "floor",
        "role": "safeguard",
        "severity": "catastrophic",
        "mode": "hold",
        "hold_poll_interval_sec": INTERVAL_SEC,
        "check": {
            "type": "resource_property",
            "kind": "Deployment",
            "resource_name": "web",
            "namespace": NAMESPACE,
            "path": "spec.replicas",
            "op": "gte",
            "value": 4,
        },
    }


def _monitor(entry: VerificationEntry, reader: ViewSource, samples: int) -> Cost:
    """Let the real monitor take so many samples, its threads and its schedule included."""
    verifier = VerifierAgent(reader)
    enough = threading.Event()
    walls: list[float] = []

    def count(*_: object) -> None:
        if len(walls) >= samples:
            enough.set()

    timed = _Timed(verifier, walls)
    monitor = SafeguardMonitor([entry], verifier=timed, on_sample=count)
    before = cpu_of_self()
    monitor.start()
    if not enough.wait(120):
        raise RuntimeError("the monitor took no samples")
    monitor.stop()
    spent = cpu_of_self() - before
    return Cost(spent / len(walls), statistics.median(walls))


class _Timed:
    """An entry runner that notes how long each sample takes."""

    def __init__(self, verifier: VerifierAgent, walls: list[float]) -> None:
        self._verifier = verifier
        self._walls = walls

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        start = time.perf_counter()
        result = self._verifier.run_entry(entry, timeout_sec)
        self._walls.append(time.perf_counter() - start)
        if not result.success:
            raise RuntimeError(f"the sample did not pass: {result.reason}")
        return result


def _kubectl(get: list[str], samples: int) -> Cost:
    before = cpu_of_children()
    walls = []
    for _ in range(samples):
        start = time.perf_counter()
        subprocess.run([*get, "-n", NAMESPACE, "-o", "json"], check=True, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - start)
    return Cost((cpu_of_children() - before) / samples, statistics.median(walls))
