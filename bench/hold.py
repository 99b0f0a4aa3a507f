"""One sample of a hold on ``resource_property`` against one ``kubectl get -o json``.

Twice: sample after sample, which is the cost of the work itself, and every 0.1 s as the monitor
does it. In between the processor does other things, so that a paced sample finds cold caches.
"""

from __future__ import annotations

import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench.figures import Figure, cpu_of_children, cpu_of_self
from bench.plane import NAMESPACE, create, deployment, plane
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.hold import SafeguardMonitor
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry, parse_entries

PAIRS = 5
OUR_SAMPLES = 200
PACED_SAMPLES = 40
KUBECTL_SAMPLES = 10
INTERVAL_SEC = 0.1
AIM = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What one sample costs, in seconds."""

    cpu_sec: float
    wall_sec: float


Pairs: TypeAlias = list[tuple[Cost, Cost]]


def measure() -> list[Figure]:
    """Measure both in turn on one plane; the medians of the pairs."""
    with plane() as (cluster, client, reader):
        create(client, f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", deployment("web"))
        (entry,), _ = parse_entries([_raw_entry()])
        verifier = VerifierAgent(reader)
        kubectl = (cluster.bin_dir or Path()) / "kubectl"
        get = [str(kubectl), "--kubeconfig", str(cluster.kubeconfig), "get", "deployment", "web"]
        get += ["-n", NAMESPACE, "-o", "json"]

        _back_to_back(verifier, entry, 20)  # connects, asks discovery
        _kubectl(get, 1, 0.0)  # fills kubectl's own discovery cache
        work: Pairs = []
        paced: Pairs = []
        for _ in range(PAIRS):
            work.append(
                (_back_to_back(verifier, entry, OUR_SAMPLES), _kubectl(get, KUBECTL_SAMPLES, 0.0))
            )
            paced.append(
                (
                    _monitored(verifier, entry, PACED_SAMPLES),
                    _kubectl(get, KUBECTL_SAMPLES, INTERVAL_SEC),
                )
            )
    every = f"every {INTERVAL_SEC:g} s"
    return [
        _figure("CPU of a hold sample", work, lambda cost: cost.cpu_sec, AIM),
        _figure("wall time of a hold sample", work, lambda cost: cost.wall_sec, None),
        _figure(f"CPU of a hold sample {every}", paced, lambda cost: cost.cpu_sec, None),
        _figure(f"wall time of a hold sample {every}", paced, lambda cost: cost.wall_sec, None),
    ]


def _figure(what: str, pairs: Pairs, read: Callable[[Cost], float], aim: float | None) -> Figure:
    ours = statistics.median(read(pair[0]) for pair in pairs)
    other = statistics.median(read(pair[1]) for pair in pairs)
    return Figure(
        what,
        f"{ours * 1000:.2f} ms",
        f"{other * 1000:.1f} ms (kubectl get -o json)",
        f"1/{other / ours:.0f}",
        "" if aim is None else f"<= 1/{aim:g}",
        None if aim is None else other / ours >= aim,
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


class _Timed:
    """An entry runner that notes how long each sample takes, and wants it to pass."""

    def __init__(self, verifier: VerifierAgent) -> None:
        self._verifier = verifier
        self.walls: list[float] = []

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        start = time.perf_counter()
        result = self._verifier.run_entry(entry, timeout_sec)
        self.walls.append(time.perf_counter() - start)
        if not result.success:
            raise RuntimeError(f"the sample did not pass: {result.reason}")
        return result


def _back_to_back(verifier: VerifierAgent, entry: VerificationEntry, samples: int) -> Cost:
    timed = _Timed(verifier)
    before = cpu_of_self()
    for _ in range(samples):
        timed.run_entry(entry, 10)
    return Cost((cpu_of_self() - before) / samples, statistics.median(timed.walls))


def _monitored(verifier: VerifierAgent, entry: VerificationEntry, samples: int) -> Cost:
    """Let the real monitor take so many samples, its threads and its schedule included."""
    timed = _Timed(verifier)
    enough = threading.Event()

    def count(*_: object) -> None:
        if len(timed.walls) >= samples:
            enough.set()

    monitor = SafeguardMonitor([entry], verifier=timed, on_sample=count)
    before = cpu_of_self()
    monitor.start()
    if not enough.wait(120):
        raise RuntimeError("the monitor took no samples")
    monitor.stop()
    return Cost((cpu_of_self() - before) / len(timed.walls), statistics.median(timed.walls))


def _kubectl(get: list[str], samples: int, interval_sec: float) -> Cost:
    before = cpu_of_children()
    pause = threading.Event()
    walls = []
    for _ in range(samples):
        start = time.perf_counter()
        subprocess.run(get, check=True, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - start)
        pause.wait(max(0.0, interval_sec - walls[-1]))
    return Cost((cpu_of_children() - before) / samples, statistics.median(walls))
