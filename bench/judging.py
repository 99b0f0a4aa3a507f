"""What judging costs without a server: a backlog with and without the recording, and memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import Figure
from bench.plane import NAMESPACE, deployment
from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.hold import SafeguardMonitor, hold_verdict
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.events import ObjectList, parse_list
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.results import FenceResult, Started, StreamFence
from devops_bench.k8s.watch.types import (
    Listener,
    NewStream,
    Recorder,
    Source,
    StreamKey,
    Subscription,
)
from devops_bench.results.evidence.records import EvidenceSink, NullSink
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.verification.combinators import queries_of
from devops_bench.verification.spec import VerificationEntry, parse_entries

PAIRS = 5
STATES = 5_000
OBJECTS = 10_000
_PADDING = 1_500
_BEGIN_SEC = 30.0
_KEY = StreamKey(ApiResource("apps", "v1", "deployments", "Deployment", namespaced=True), NAMESPACE)

# A process of its own: a peak is that of the process's whole life.
_CHILD = """
import sys
from pathlib import Path
from bench.judging import resident, store_objects
body = Path(sys.argv[1]).read_bytes()
before = resident("VmRSS")
kept = store_objects(body)
peak = resident("VmHWM")
del body
print(before, resident("VmRSS"), peak, sep="\\n")
"""


@dataclass(slots=True)
class _Backlog:
    """A watch whose stream is a list of lines that all wait already."""

    judge: Judge
    lines: Sequence[bytes]
    subscription: str = ""
    source: Source = field(default_factory=lambda: Source(_KEY, lambda: None))

    def start(self, subscriptions: Sequence[Subscription], _: float) -> Started:
        readers = tuple(subscriptions)
        self.subscription = readers[0].id
        baseline = _parsed(_list_body(1))
        queries = readers[0].queries
        self.judge.start()
        self.judge.add([NewStream(_KEY, queries, readers, baseline, SYSTEM_CLOCK.monotonic())])
        return Started({self.subscription: (str(_KEY),)}, {}, (), 0.0, 0)

    def fence(self, _: float) -> FenceResult:
        rv = self.judge.held(_KEY).rv
        stream = StreamFence(str(_KEY), passed=True, rv=rv, how="", elapsed_sec=0.0, requests=0)
        return FenceResult(
            {str(_KEY): stream}, {self.subscription: (str(_KEY),)}, {}, None, elapsed_sec=0.0
        )

    def again(self, subscription: str) -> None:
        self.judge.again(subscription)

    def stop(self, timeout_sec: float = 5.0) -> bool:
        return self.judge.stop(timeout_sec)

    def feed(self) -> None:
        now = SYSTEM_CLOCK.monotonic()
        for line in self.lines:
            self.judge.line(self.source, line, now)
        self.judge.held(_KEY)


def measure() -> Sequence[Figure]:
    """Measure the backlog in pairs, then memory."""
    lines = [_line(number + 2) for number in range(STATES)]
    plain, recorded, whole, sizes = [], [], [], []
    for _ in range(PAIRS):
        plain.append(_judge(lines, NullSink())[0])
        with tempfile.TemporaryDirectory() as name:
            judged, written = _judge(lines, open_evidence(Path(name), [_entry()]))
            recorded.append(judged)
            whole.append(written)
            sizes.append(sum(path.stat().st_size for path in Path(name).glob("evidence*")) / STATES)
    without, with_it = statistics.median(plain), statistics.median(recorded)
    size = statistics.mean(len(line) for line in lines) / 1000
    return [
        Figure(
            f"states judged a second for one entry, {size:.1f} KB each",
            f"recorded: {STATES / with_it:,.0f}/s",
            f"not recorded: {STATES / without:,.0f}/s",
            f"{with_it / without:.2f} x the time",
            "",
            None,
        ),
        _plain("the same, until the recording is on disk", STATES / statistics.median(whole), "/s"),
        _plain("bytes recorded for each state of that", statistics.median(sizes), ""),
        *_memory(),
    ]


def _judge(lines: Sequence[bytes], sink: EvidenceSink) -> tuple[float, float]:
    """Return the seconds until all was judged and folded, and until all was written as well."""
    made: list[_Backlog] = []

    def factory(listener: Listener, recorder: Recorder, clock: Clock) -> _Backlog:
        made.append(_Backlog(Judge(listener, recorder, clock), lines))
        return made[-1]

    monitor = SafeguardMonitor([_entry()], watch=factory, sink=sink)
    monitor.start()
    if failures := monitor.await_baseline(_BEGIN_SEC):
        raise RuntimeError(f"the safeguard does not hold: {failures[0]}")
    began = time.perf_counter()
    made[0].feed()
    judged = time.perf_counter() - began
    monitor.end_turn()
    seen = monitor.get_observations()["it"]
    monitor.stop()
    sink.close()
    written = time.perf_counter() - began
    if hold_verdict(seen)[1] != "pass" or seen.sample_count < len(lines):
        raise RuntimeError(f"not everything was judged: {seen}")
    return judged, written


def _memory() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "list.json"
        path.write_bytes(_list_body(OBJECTS))
        command = [sys.executable, "-c", _CHILD, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        size = path.stat().st_size / 2**20
    before, after, peak = map(float, done.stdout.split())
    return [
        Figure(
            f"memory for {OBJECTS:,} objects, {size / OBJECTS * 2**20 / 1000:.1f} KB each",
            f"{after - before + size:.0f} MiB kept",
            f"{size:.0f} MiB as JSON",
            f"{peak - before + size:.0f} MiB at the peak",
            "",
            None,
        )
    ]


def store_objects(body: bytes) -> Judge:
    """Take a LIST into a store, as a baseline does; return what holds it."""

    class Ignore:
        def on_state(self, *_: object) -> None:
            pass

        def on_gap(self, *_: object) -> None:
            pass

    entry = _entry(name=None)
    queries = queries_of(entry.check)
    listing = _parsed(body)
    judge = Judge(Ignore())
    judge.start()
    judge.add([NewStream(_KEY, queries, (Subscription("it", queries),), listing, 0.0)])
    judge.held(_KEY)
    return judge


def _parsed(body: bytes) -> ObjectList:
    listing = parse_list(body)
    if isinstance(listing, ObjectList):
        return listing
    raise RuntimeError(f"the generated LIST does not parse: {listing.reason}")


def resident(field_name: str) -> float:
    """Return ``VmRSS`` (now) or ``VmHWM`` (the most so far) of this process, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field_name + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"the system does not say {field_name}")


def _entry(name: str | None = "web-0") -> VerificationEntry:
    check: JsonObject = {
        "type": "resource_property",
        "kind": "Deployment",
        "namespace": NAMESPACE,
        "path": "spec.replicas",
        "op": "gte",
        "value": 4,
    }
    check |= {"across_matches": "every"} if name is None else {"resource_name": name}
    raw: JsonObject = {
        "name": "it",
        "role": "safeguard",
        "severity": "recoverable",
        "mode": "hold",
        "coverage": "watch",
        "check": check,
    }
    entries, errors = parse_entries([raw])
    if errors:
        raise RuntimeError(f"the generated entry does not parse: {errors}")
    return entries[0]


def _object(number: int, rv: int) -> JsonObject:
    body = deployment(f"web-{number}")
    metadata = body["metadata"]
    if not isinstance(metadata, dict):
        raise TypeError("an object without metadata")
    metadata |= {"namespace": NAMESPACE, "resourceVersion": str(rv), "uid": f"u{number}"}
    metadata["labels"] = {"team": "shop"}
    metadata["annotations"] = {"padding": "x" * _PADDING}
    return body


def _line(rv: int) -> bytes:
    return json.dumps({"type": "MODIFIED", "object": _object(0, rv)}).encode()


def _list_body(count: int) -> bytes:
    items: list[JsonObject] = [_object(number, 1) for number in range(count)]
    listing = {"kind": "DeploymentList", "apiVersion": "apps/v1", "items": items}
    return json.dumps(listing | {"metadata": {"resourceVersion": "1"}}).encode()


def _plain(what: str, value: float, unit: str) -> Figure:
    text = f"{value:,.0f}{unit}"
    return Figure(what, text, "", text, "", None)
