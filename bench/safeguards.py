"""Safeguards on a real server: how soon a violation is latched, also for 100 entries at once.

Everything a run has is there: the monitor, the judging, the fold, and the recording. The single
writes are sent by the process that watches, the 100 a second by another one, as an agent's are.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figures import Figure
from bench.plane import NAMESPACE, create, plane
from devops_bench.clusters.base import Cluster
from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.access import KubeAccess
from devops_bench.evalharness.clock import TaskClock
from devops_bench.evalharness.hold import HoldObservation, SafeguardMonitor, hold_verdict
from devops_bench.k8s.client import ApiClient, connect
from devops_bench.k8s.objects import KubeObject
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry, parse_entries

MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
WRITES = 300
SLOW_WRITES, SLOW_EVERY_SEC = 100, 0.07
LOAD_ENTRIES, LOAD_WRITES, LOAD_WRITERS, LOAD_PER_SEC = 100, 1_000, 4, 100
LOAD_AIM_MS = 100.0
_FOLDED_SEC = 60.0
_MERGE = "application/merge-patch+json"
_CHILD = """
import sys
from pathlib import Path
from bench.safeguards import write_load
write_load(Path(sys.argv[1]))
"""


class _Notes:
    """When each write was sent, and when each entry had folded what it came to."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, float]] = []
        self.took: list[float] = []
        self.folded: dict[str, list[float]] = {}
        self.recorded = 0
        self._changed = threading.Condition()

    def on_sample(self, name: str, result: VerificationResult, _: HoldObservation) -> None:
        # The baseline passes and every write fails, each in the order of revisions.
        if result.status == "fail":
            with self._changed:
                self.folded.setdefault(name, []).append(time.monotonic())
                self._changed.notify_all()

    def wait(self, entries: int) -> None:
        """Wait until all entries have folded all writes: a turn that ends holds back the last."""

        def all_folded() -> bool:
            done = [len(times) >= len(self.sent) for times in self.folded.values()]
            return len(done) == entries and all(done)

        with self._changed:
            if not self._changed.wait_for(all_folded, _FOLDED_SEC):
                raise RuntimeError(f"not every violation was latched within {_FOLDED_SEC:g} s")

    def lags_ms(self) -> list[float]:
        """Return the time from each write to each entry that read it; none may be missing."""
        at = [sent for _, sent in sorted(self.sent)]
        lags = []
        for name, folded in self.folded.items():
            if len(folded) != len(at):
                raise RuntimeError(f"{name}: {len(folded)} of {len(at)} violations were latched")
            lags += [(after - before) * 1000 for before, after in zip(at, folded, strict=True)]
        return sorted(lags)


def measure() -> Sequence[Figure]:
    """Measure everything on one plane."""
    with plane() as (cluster, client, _):
        for path in (MAPS, SECRETS):
            create(client, path, {"metadata": {"name": "it", "labels": {"v": "good"}}})
        return [
            _latency(cluster, client, "one stream", (12, 50)),
            _latency(cluster, client, "one stream, one busy thread", (25, 100), busy=True),
            _latency(cluster, client, "two streams, both written", None, kinds=2, turns=True),
            _latency(cluster, client, "two streams, the other one quiet", None, kinds=2, slow=True),
            *_load(cluster, client),
        ]


def _latency(
    cluster: Cluster,
    client: ApiClient,
    what: str,
    aims: tuple[int, int] | None,
    *,
    kinds: int = 1,
    busy: bool = False,
    turns: bool = False,
    slow: bool = False,
) -> Figure:
    over, pause = threading.Event(), threading.Event()
    if busy:
        threading.Thread(target=_spin, args=(over,), daemon=True).start()
    try:
        with _watching(cluster, client, [_raw("it", kinds)]) as notes:
            for number in range(SLOW_WRITES if slow else WRITES):
                path = SECRETS if turns and number % 2 else MAPS
                _write(client, notes, path, f"bad-{number}")
                if slow:
                    pause.wait(SLOW_EVERY_SEC)
    finally:
        over.set()
    lags = notes.lags_ms()
    p50, p99 = _percentiles(lags)
    return Figure(
        f"write sent to violation latched, {what}",
        f"p50 {p50:.1f} ms, p99 {p99:.1f} ms",
        f"the write itself p50 {statistics.median(notes.took) * 1000:.1f} ms",
        f"{p50:.1f} / {p99:.1f} ms",
        f"<= {aims[0]} / <= {aims[1]} ms" if aims else "",
        p50 <= aims[0] and p99 <= aims[1] if aims else None,
    )


def _load(cluster: Cluster, client: ApiClient) -> list[Figure]:
    names = [f"entry {number}" for number in range(LOAD_ENTRIES)]
    with _watching(cluster, client, [_raw(name, 1) for name in names]) as notes:
        command = [sys.executable, "-c", _CHILD, str(cluster.kubeconfig)]
        began = time.process_time()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            rv, sent, took = line.split()
            notes.sent.append((int(rv), float(sent)))
            notes.took.append(float(took))
        notes.wait(LOAD_ENTRIES)
        cpu = time.process_time() - began
    first, last = min(sent for _, sent in notes.sent), max(sent for _, sent in notes.sent)
    rate = len(notes.sent) / (last - first)
    if len(notes.sent) != LOAD_WRITES or set(notes.folded) != set(names):
        raise RuntimeError("not every write was made, or not every entry was judged")
    p50, p99 = _percentiles(notes.lags_ms())
    judged = LOAD_WRITES * LOAD_ENTRIES
    return [
        Figure(
            f"{rate:.0f} writes a second, each judged for {LOAD_ENTRIES} entries, to the fold",
            f"p50 {p50:.1f} ms, p99 {p99:.1f} ms",
            f"the write itself p50 {statistics.median(notes.took) * 1000:.1f} ms",
            f"{judged:,} of {judged:,}, p99 {p99:.0f} ms",
            f"nothing lost, <= {LOAD_AIM_MS:g} ms",
            p99 <= LOAD_AIM_MS,
        ),
        Figure(
            f"CPU of that, recording included ({LOAD_WRITES / LOAD_PER_SEC:g} s)",
            f"{cpu:.1f} s",
            "",
            f"{cpu / judged * 1e6:.0f} µs for each judgement",
            "",
            None,
        ),
        Figure(
            f"bytes recorded of that, for each state ({LOAD_ENTRIES} judgements)",
            f"{notes.recorded / LOAD_WRITES:.0f}",
            "",
            f"{notes.recorded / LOAD_WRITES:.0f}",
            "",
            None,
        ),
    ]


def write_load(kubeconfig: Path) -> None:
    """Write at the rate of the load; print revision, time sent and seconds taken of each write.

    Times are those of the system's monotonic clock, which all processes share.
    """
    client, printing = connect(kubeconfig), threading.Lock()
    began = time.monotonic()

    def paced(worker: int) -> None:
        pause = threading.Event()
        for number in range(worker, LOAD_WRITES, LOAD_WRITERS):
            pause.wait(max(0.0, began + number / LOAD_PER_SEC - time.monotonic()))
            rv, sent, took = _send(client, MAPS, f"load-{number}")
            with printing:
                print(rv, sent, took)

    threads = [threading.Thread(target=paced, args=(worker,)) for worker in range(LOAD_WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _write(client: ApiClient, notes: _Notes, path: str, value: str) -> None:
    rv, sent, took = _send(client, path, value)
    notes.took.append(took)
    notes.sent.append((rv, sent))


def _send(client: ApiClient, path: str, value: str) -> tuple[int, float, float]:
    """Return the revision of a write, when it was sent, and the seconds it took."""
    sent = time.monotonic()
    answer = client.request(
        "PATCH",
        f"{path}/it",
        body={"metadata": {"labels": {"v": value}}},
        content_type=_MERGE,
        timeout_sec=10,
    )
    return int(KubeObject(answer).resource_version), sent, time.monotonic() - sent


@contextlib.contextmanager
def _watching(cluster: Cluster, client: ApiClient, raw: Sequence[JsonObject]) -> Iterator[_Notes]:
    """Watch the entries from a good baseline to a fence that every one of them passed."""
    for path in (MAPS, SECRETS):
        body: JsonObject = {"metadata": {"labels": {"v": "good"}}}
        client.request("PATCH", f"{path}/it", body=body, content_type=_MERGE, timeout_sec=10)
    notes, entries = _Notes(), _parsed(raw)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        access = KubeAccess(client, kubeconfig=cluster.kubeconfig, work_dir=folder)
        sink = open_evidence(folder, entries)
        monitor = SafeguardMonitor(
            entries,
            verifier=access,
            clock=TaskClock(SYSTEM_CLOCK),
            watch=access.watch,
            sink=sink,
            on_sample=notes.on_sample,
        )
        try:
            monitor.start()
            if failures := monitor.await_baseline(30):
                raise RuntimeError(f"a safeguard does not hold: {failures[0]}")
            yield notes
            notes.wait(len(entries))
            fence = monitor.end_turn()
            why = [fence.why_not(entry.name) if fence else "no fence" for entry in entries]
            verdicts = {hold_verdict(seen)[1] for seen in monitor.get_observations().values()}
            if any(why) or verdicts != {"fail"}:
                raise RuntimeError(f"not every entry was watched and violated: {why[0]}")
        finally:
            monitor.stop()
            sink.close()
        notes.recorded = sum(path.stat().st_size for path in folder.glob("evidence*"))


def _parsed(raw: Sequence[JsonObject]) -> list[VerificationEntry]:
    entries, errors = parse_entries(list(raw))
    if errors:
        raise RuntimeError(f"the generated entries do not parse: {errors[:3]}")
    return entries


def _raw(name: str, kinds: int) -> JsonObject:
    checks: list[JsonValue] = [_check(kind) for kind in ("ConfigMap", "Secret")[:kinds]]
    return {
        "name": name,
        "role": "safeguard",
        "severity": "recoverable",
        "mode": "hold",
        "coverage": "watch",
        "check": {"type": "all", "checks": checks} if kinds > 1 else checks[0],
    }


def _check(kind: str) -> JsonObject:
    return {
        "type": "resource_property",
        "kind": kind,
        "resource_name": "it",
        "namespace": NAMESPACE,
        "path": "metadata.labels.v",
        "op": "eq",
        "value": "good",
    }


def _percentiles(ordered: Sequence[float]) -> tuple[float, float]:
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]


def _spin(over: threading.Event) -> None:
    while not over.is_set():
        sum(range(1_000))
