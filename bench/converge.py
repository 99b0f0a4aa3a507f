"""Twenty converge entries that become true after 1 to 5 seconds, against the slowest of them."""

from __future__ import annotations

import threading
import time

from bench.figures import Figure
from bench.plane import NAMESPACE, create, plane
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.budget import PostRun
from devops_bench.k8s.client import ApiClient
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import parse_entries

ENTRIES = 20
FIRST_SEC = 1.0
LAST_SEC = 5.0
AIM = 1.2
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


def measure() -> Figure:
    """Make them true on schedule while the post-run phase waits for them."""
    with plane() as (_, client, reader):
        for number in range(ENTRIES):
            create(client, CONFIG_MAPS, _config_map(number))
        entries, errors = parse_entries([_raw_entry(number) for number in range(ENTRIES)])
        if errors:
            raise RuntimeError(f"the generated entries do not parse: {errors[:3]}")
        post_run = PostRun(entries, VerifierAgent(reader), total_sec=60)
        writer = threading.Thread(target=_make_true, args=(client,))
        start = time.perf_counter()
        writer.start()
        post_run.run()
        took = time.perf_counter() - start
        writer.join()
    for outcome in post_run.outcomes.values():
        if not isinstance(outcome, VerificationResult) or not outcome.success:
            raise RuntimeError(f"an entry did not converge: {outcome}")
    ratio = took / LAST_SEC
    return Figure(
        f"{ENTRIES} converge entries, true after {FIRST_SEC:g} to {LAST_SEC:g} s",
        f"{took:.2f} s",
        f"{LAST_SEC:.2f} s (the slowest)",
        f"{ratio:.2f} x",
        f"<= {AIM:g} x",
        ratio <= AIM,
    )


def _make_true(client: ApiClient) -> None:
    begin = time.monotonic()
    pause = threading.Event()
    for number in range(ENTRIES):
        due = begin + FIRST_SEC + (LAST_SEC - FIRST_SEC) * number / (ENTRIES - 1)
        pause.wait(due - time.monotonic())
        client.request(
            "PATCH",
            f"{CONFIG_MAPS}/converge-{number}",
            body={"data": {"ready": "yes"}},
            content_type="application/merge-patch+json",
            timeout_sec=10,
        )


def _config_map(number: int) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"converge-{number}"},
        "data": {"ready": "no"},
    }


def _raw_entry(number: int) -> JsonObject:
    return {
        "name": f"entry {number}",
        "role": "objective",
        "check": {
            "type": "resource_property",
            "kind": "ConfigMap",
            "resource_name": f"converge-{number}",
            "namespace": NAMESPACE,
            "path": "data.ready",
            "op": "eq",
            "value": "yes",
        },
    }
