"""What the leash adds to a run: an account of the agent's own before its turn, accounts after it.

The account is made, proven and removed as in every run with ``access:``. Then an agent makes a
thousand writes, some of which violate safeguards, by itself and by the hand of a controller; what
is timed after it is everything that tells whose doing it was and whether the run can be trusted.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ParamSpec, TypeVar
from unittest.mock import patch

from bench.figures import Figure
from bench.plane import create, deployment, plane
from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.clusters.base import Cluster
from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.core.json import JsonObject
from devops_bench.evalharness import leash as leash_module
from devops_bench.evalharness.accounts import Accounts
from devops_bench.evalharness.default import DefaultEvalHarness
from devops_bench.evalharness.leash import LeashOptions, leash
from devops_bench.evalharness.logwatch import LogWatch
from devops_bench.evalharness.selfcheck import SelfCheck
from devops_bench.k8s.audit import AuditLog
from devops_bench.k8s.client import ApiClient, connect
from devops_bench.k8s.rbac import Grant
from devops_bench.results.model import TaskResult
from devops_bench.tasks.access import presets
from devops_bench.tasks.model import Access, Setup, Task
from devops_bench.verification.spec import parse_entries

NAMESPACE = "shop"
ROUNDS = 7
WRITES = 1_000
FLIP_EVERY = 10
ADDED_AIM_MS = 1_000.0
AFTER_AIM_MS = 1_000.0

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class _Meter:
    """How long each part took, and how many requests it sent; a round after the other."""

    took_ms: dict[str, list[float]] = field(default_factory=dict)
    sent: dict[str, list[int]] = field(default_factory=dict)
    requests: int = 0
    cpu_ms: float = 0.0

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began, before = time.perf_counter(), self.requests
        yield
        self.took_ms.setdefault(name, []).append((time.perf_counter() - began) * 1000)
        self.sent.setdefault(name, []).append(self.requests - before)

    def timing(self, name: str, work: Callable[P, T]) -> Callable[P, T]:
        """Return a function that does the same as a part."""

        def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.part(name):
                return work(*args, **kwargs)

        return timed

    def spending(self, work: Callable[P, T]) -> Callable[P, T]:
        """Return a function that does the same and adds up the CPU time of its thread."""

        def spent(*args: P.args, **kwargs: P.kwargs) -> T:
            began = time.thread_time()
            try:
                return work(*args, **kwargs)
            finally:
                self.cpu_ms += (time.thread_time() - began) * 1000

        return spent

    def counting(self, request: Callable[P, T]) -> Callable[P, T]:
        """Return a function that does the same and counts."""

        def counted(*args: P.args, **kwargs: P.kwargs) -> T:
            self.requests += 1
            return request(*args, **kwargs)

        return counted

    def figure(self, what: str, name: str, aim_ms: float | None = None) -> Figure:
        took, sent = statistics.median(self.took_ms[name]), statistics.median(self.sent[name])
        return Figure(
            what,
            f"{took:.0f} ms",
            "",
            f"{took:.0f} ms, {sent:.0f} requests",
            "" if aim_ms is None else f"<= {aim_ms:,.0f} ms",
            None if aim_ms is None else took <= aim_ms,
        )


def measure() -> list[Figure]:
    """Measure both on one plane."""
    with plane() as (cluster, client, _):
        create(client, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        return [*_before_the_turn(cluster), *_after_the_turn(cluster, client)]


def _before_the_turn(cluster: Cluster) -> list[Figure]:
    meter = _Meter()
    options = LeashOptions(_access(), turn_sec=60, secret={"answers": "none"})
    with _metered(meter):
        for number in range(ROUNDS + 1):
            with ExitStack() as stack:
                with meter.part("all"):
                    held = stack.enter_context(
                        leash(
                            cluster,
                            options,
                            clock=SYSTEM_CLOCK,
                            record=lambda _: None,
                            left_behind=_fail,
                        )
                    )
                checks = len(held.report.checks)
                ending = stack.pop_all()
            with meter.part("end"):
                ending.close()
            if not number:  # the first round finds cold caches
                meter.took_ms.clear()
                meter.sent.clear()
    return [
        meter.figure(
            "access: added before the turn (preset edit, one namespace)", "all", ADDED_AIM_MS
        ),
        meter.figure("of that the account and its rules", "account"),
        meter.figure("of that the token", "token"),
        meter.figure(f"of that the self-check, {checks} answers", "self-check"),
        meter.figure(
            "removing it all on a cluster that lives on, until its namespace is gone", "end"
        ),
    ]


def _metered(meter: _Meter) -> AbstractContextManager[object]:
    stack = ExitStack()
    for target, name, part in (
        (leash_module, "create_identity", "account"),
        (leash_module, "request_token", "token"),
        (SelfCheck, "run", "self-check"),
    ):
        timed = meter.timing(part, getattr(target, name))
        stack.enter_context(patch.object(target, name, timed))
    stack.enter_context(patch.object(ApiClient, "request", meter.counting(ApiClient.request)))
    return stack


def _after_the_turn(cluster: Cluster, client: ApiClient) -> list[Figure]:
    assert cluster.audit_log is not None
    create(client, f"/api/v1/namespaces/{NAMESPACE}/configmaps", {"metadata": {"name": "it"}})
    log, meter = AuditLog(cluster.audit_log, from_end=True), _Meter()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        timed = meter.timing("accounts", Accounts.close)
        stack.enter_context(patch.object(Accounts, "close", timed))
        for target, name in ((AuditLog, "read"), (LogWatch, "take")):
            spent = meter.spending(getattr(target, name))
            stack.enter_context(patch.object(target, name, spent))
        result = _run(cluster, Path(folder))
    log.read()
    writes = sum(event.is_write for event in log.events)
    causes = [cause for one in result.attribution for cause in one.violations]
    traced = sum(cause.written_by is not None for cause in causes)
    led = sum(cause.led_by is not None for cause in causes)
    if result.status != "failed" or not traced or not led:
        raise RuntimeError(f"the violations were not traced: {result.status}, {result.reason}")
    (took,) = meter.took_ms["accounts"]
    spent_ms = f"{meter.cpu_ms:.0f} ms"
    return [
        Figure(
            f"CPU of following the audit log through the turn, {len(log.events):,} requests in it",
            spent_ms,
            "",
            spent_ms,
            "",
            None,
        ),
        Figure(
            f"after the turn: attribution and integrity, {writes:,} audited writes",
            f"{took:.0f} ms",
            "",
            f"{took:.0f} ms",
            f"<= {AFTER_AIM_MS:,.0f} ms",
            took <= AFTER_AIM_MS,
        ),
        Figure(
            "violations traced to their request; through a controller to the agent's",
            f"{traced} of {len(causes)}; {led}",
            "",
            f"{traced} of {len(causes)}",
            "",
            None,
        ),
    ]


def _run(cluster: Cluster, folder: Path) -> TaskResult:
    entries, errors = parse_entries(
        [_safeguard(f"{path} stays", path) for path in ("spec.replicas", "status.readyReplicas")]
    )
    if errors:
        raise RuntimeError(f"the entries do not parse: {errors}")
    body: JsonObject = {**deployment("web"), "metadata": {"name": "web", "namespace": NAMESPACE}}
    task = Task(
        id="bench",
        prompt="",
        source=folder / "task.yaml",
        setup=Setup(objects=(body,)),
        entries=tuple(entries),
        access=_access(),
    )
    harness = DefaultEvalHarness(_Given(cluster), lambda _: _Writer(), run_id="bench")
    return harness.run_task(task, folder / "results")


class _Given:
    """Provides a cluster that is there."""

    name = "given"
    why = "the benchmark's"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = replace(cluster, disposable=True)

    def provide(self, run_id: str, run_dir: Path) -> AbstractContextManager[Cluster]:
        del run_id, run_dir
        return contextlib.nullcontext(self._cluster)


class _Writer:
    """An agent that labels a ConfigMap again and again, and takes and gives back a replica."""

    name = "writer"

    def run(self, turn: AgentTurn) -> AgentResult:
        assert turn.kubeconfig is not None
        with contextlib.closing(connect(turn.kubeconfig)) as client:
            for number in range(WRITES):
                path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/it"
                body: JsonObject = {"metadata": {"labels": {"n": str(number)}}}
                if number % FLIP_EVERY == 0:
                    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/web"
                    body = {"spec": {"replicas": 3 + number // FLIP_EVERY % 2}}
                client.request(
                    "PATCH",
                    path,
                    body=body,
                    content_type="application/merge-patch+json",
                    timeout_sec=10,
                )
        return AgentResult(AgentStatus.COMPLETED, 0.0)


def _safeguard(name: str, path: str) -> JsonObject:
    return {
        "name": name,
        "role": "safeguard",
        "severity": "catastrophic",
        "mode": "hold",
        "check": {
            "type": "resource_property",
            "kind": "Deployment",
            "resource_name": "web",
            "namespace": NAMESPACE,
            "path": path,
            "op": "gte",
            "value": 4,
        },
    }


def _access() -> Access:
    everywhere, inside = presets()["edit"]
    return Access("edit", (everywhere, Grant(inside.rules, (NAMESPACE,))))


def _fail(what: str) -> None:
    raise RuntimeError(f"it was not removed: {what}")
