"""Converge entries that become true one after the other, against the slowest of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from bench.figures import Figure
from bench.plane import NAMESPACE, create, plane
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.access import KubeAccess
from devops_bench.evalharness.budget import PostRun
from devops_bench.evalharness.sampler import EntryRunner
from devops_bench.evalharness.watching import WatchFactory
from devops_bench.k8s.client import ApiClient
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import parse_entries

ENTRIES = 20
FIRST_SEC = 1.0
LAST_SEC = 5.0
AIM = 1.2
WATCHED_ENTRIES = 13
WATCHED_LAST_SEC = 10.0
WATCHED_AIM_SEC = 10.1
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


def measure() -> list[Figure]:
    """Make them true on schedule while the post-run phase waits for them."""
    with plane() as (cluster, client, reader):
        took = _measure(client, VerifierAgent(reader), None, ENTRIES, LAST_SEC)
        access = KubeAccess(
            client, kubeconfig=cluster.kubeconfig, work_dir=cluster.kubeconfig.parent
        )
        watched = _measure(client, access, access.watch, WATCHED_ENTRIES, WATCHED_LAST_SEC)
    ratio = took / LAST_SEC
    return [
        Figure(
            f"{ENTRIES} converge entries, sampled, true after {FIRST_SEC:g} to {LAST_SEC:g} s",
            f"{took:.2f} s",
            f"{LAST_SEC:.2f} s (the slowest)",
            f"{ratio:.2f} x",
            f"<= {AIM:g} x",
            ratio <= AIM,
        ),
        Figure(
            f"{WATCHED_ENTRIES} converge entries, watched, the last true at {WATCHED_LAST_SEC:g} s",
            f"{watched:.3f} s",
            f"{WATCHED_LAST_SEC:.2f} s (the slowest)",
            f"{watched / WATCHED_LAST_SEC:.3f} x",
            f"<= {WATCHED_AIM_SEC:g} s",
            watched <= WATCHED_AIM_SEC,
        ),
    ]


def _measure(
    client: ApiClient,
    runner: EntryRunner,
    watch: WatchFactory | None,
    count: int,
    last_sec: float,
) -> float:
    names = [f"converge-{count}-{number}" for number in range(count)]
    for name in names:
        create(client, CONFIG_MAPS, _config_map(name))
    entries, errors = parse_entries([_raw_entry(name) for name in names])
    if errors:
        raise RuntimeError(f"the generated entries do not parse: {errors[:3]}")
    writer = threading.Thread(target=_make_true, args=(client, names, last_sec))
    start = time.perf_counter()
    ended: list[float] = []
    post_run = PostRun(
        entries,
        runner,
        total_sec=60,
        watch=watch,
        on_outcome=lambda *_: ended.append(time.perf_counter()),
    )
    writer.start()
    post_run.run()
    writer.join()
    for outcome in post_run.outcomes.values():
        if not isinstance(outcome, VerificationResult) or not outcome.success:
            raise RuntimeError(f"an entry did not converge: {outcome}")
    return max(ended) - start


def _make_true(client: ApiClient, names: Sequence[str], last_sec: float) -> None:
    begin = time.monotonic()
    pause = threading.Event()
    for number, name in enumerate(names):
        due = begin + FIRST_SEC + (last_sec - FIRST_SEC) * number / (len(names) - 1)
        pause.wait(due - time.monotonic())
        client.request(
            "PATCH",
            f"{CONFIG_MAPS}/{name}",
            body={"data": {"ready": "yes"}},
            content_type="application/merge-patch+json",
            timeout_sec=10,
        )


def _config_map(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"ready": "no"},
    }


def _raw_entry(name: str) -> JsonObject:
    return {
        "name": name,
        "role": "objective",
        "check": {
            "type": "resource_property",
            "kind": "ConfigMap",
            "resource_name": name,
            "namespace": NAMESPACE,
            "path": "data.ready",
            "op": "eq",
            "value": "yes",
        },
    }
