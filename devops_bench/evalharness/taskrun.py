"""What one task has come to so far, kept where an interrupt cannot lose it."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from devops_bench import __version__
from devops_bench.clusters.base import Cluster
from devops_bench.core.clock import Clock
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.budget import EntryOutcome
from devops_bench.evalharness.conclusion import conclude
from devops_bench.evalharness.events import Phase, Reporter
from devops_bench.evalharness.observation import HoldObservation
from devops_bench.evalharness.recordfiles import RecordFiles
from devops_bench.evalharness.rows import invalid_row, row_of, verdict_of
from devops_bench.evalharness.trail import Trail
from devops_bench.evalharness.window import Method
from devops_bench.k8s.delete import CreatedObject
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.evidence.records import (
    EVIDENCE_VERSION,
    EvidenceSink,
    Header,
    Mark,
    Marked,
)
from devops_bench.results.evidence.specification import entry_as_json
from devops_bench.results.journal import JOURNAL_NAME, Journal
from devops_bench.results.model import (
    AgentReport,
    ClusterReport,
    PhaseReport,
    ReportRow,
    TaskResult,
)
from devops_bench.results.trust import AccessReport, Attribution, IntegrityReport
from devops_bench.tasks.model import Task
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)


class TaskRun:
    """One task at work: what was seen, journalled and told as it happens.

    Args:
        task: The task.
        folder: Its folder; it must exist.
        run_id: The run.
        reporter: Who shows what happens.
        clock: Where time comes from.
        sink: Where what decides a verdict is recorded.
    """

    def __init__(
        self,
        task: Task,
        folder: Path,
        *,
        run_id: str,
        reporter: Reporter,
        clock: Clock,
        sink: EvidenceSink,
    ) -> None:
        self.task = task
        self.folder = folder
        self.trail = Trail(sink, task.entries)
        self.sink: EvidenceSink = self.trail
        self._run_id = run_id
        self._recording = False
        self.created: list[CreatedObject] = []
        self.outcomes: dict[str, EntryOutcome] = {}
        self.cluster: ClusterReport | None = None
        self.agent: AgentReport | None = None
        self.access: AccessReport | None = None
        self.attribution: list[Attribution] = []
        self.integrity: IntegrityReport | None = None
        self.left_behind: list[str] = []
        self.records = RecordFiles()
        self.record_lost: str | None = None
        self.unverified: list[str] = []
        self.problem: str | None = None
        self.interrupted = False
        self.baseline_held = False
        self.journal = Journal(folder, clock=clock)
        self.records.written(folder / JOURNAL_NAME, self.journal.difference)
        self.records.written(folder / EVIDENCE_NAME, sink.difference)
        self.clock = clock
        self._reporter = reporter
        self.started_at: dt.datetime = clock.now()
        self._start = clock.monotonic()
        self._phases: list[PhaseReport] = []
        self._last_status: dict[str, str] = {}
        self._shown: dict[str, tuple[str, str]] = {}
        self._readers: dict[str, list[str]] = {}
        self._told_gaps: set[tuple[str, int, str]] = set()
        self._lock = threading.Lock()
        self.journal.write("task_started", task=task.id, entries=[e.name for e in task.entries])
        self._tell(lambda: reporter.task_started(task.id, task.title or task.name))

    @contextmanager
    def phase(self, phase: Phase, detail: str) -> Iterator[None]:
        """Journal and time what is done inside as one phase."""
        began = self.clock.monotonic()
        self.journal.write("phase_started", phase=phase.value, detail=detail)
        self._tell(lambda: self._reporter.phase_started(self.task.id, phase, detail))
        try:
            yield
        finally:
            elapsed = self.clock.monotonic() - began
            self._phases.append(
                PhaseReport(
                    name=phase.value, started_at_sec=began - self._start, elapsed_sec=elapsed
                )
            )
            self._mark("phase", detail=self._phases[-1].model_dump())
            self.journal.write("phase_ended", phase=phase.value, elapsed_sec=round(elapsed, 4))

    def on_cluster(self, cluster: Cluster) -> None:
        """Record where the task runs."""
        self.cluster = ClusterReport(
            name=cluster.name,
            provider=cluster.provider,
            description=cluster.description,
            server_version=cluster.server_version,
        )
        self._begin_recording(cluster.server_version)
        self.journal.write("cluster_ready", **self.cluster.model_dump())
        self.notice(f"cluster: {cluster.description}")

    def on_access(self, report: AccessReport) -> None:
        """Record what the agent can do from now on."""
        self.access = report
        self.journal.write("access", **report.model_dump(mode="json"))
        self.notice(f"agent access: {report}")

    def on_created(self, created: CreatedObject) -> None:
        """Record an object that teardown must delete."""
        self.created.append(created)
        self.journal.write(
            "object_created",
            kind=created.kind,
            namespace=created.namespace,
            name=created.name,
            uid=created.uid,
        )

    def on_sample(self, name: str, result: VerificationResult, obs: HoldObservation) -> None:
        """Journal and tell a safeguard's sample if it changed its state; thread-safe.

        Before the baseline holds a failure is nobody's violation yet.
        """
        with self._lock:
            changed = self._last_status.get(name) != result.status
            self._last_status[name] = result.status
        if not changed:
            return
        held = self.baseline_held
        self.journal.write(
            "hold_violation" if held and result.status == "fail" else "sample_changed",
            entry=name,
            status=result.status,
            reason=result.reason,
            sample=obs.sample_count,
        )
        self._tell(
            lambda: self._reporter.safeguard_sampled(
                self.task.id, name, result.status, result.reason, held and obs.violated
            )
        )

    def on_methods(self, methods: Mapping[str, Method], unverified: Sequence[str]) -> None:
        """Journal how each safeguard is observed, and tell what a watcher cannot do for it.

        Args:
            methods: How each is observed, by name; those that can only be sampled are told of.
            unverified: What about the identity of what is watched could not be fixed.
        """
        self.unverified = list(unverified)
        for text in unverified:
            self.notice(f"what is watched could be replaced unnoticed: {text}")
        for name, method in methods.items():
            if method.mode == "watched":
                for stream in method.streams:
                    self._readers.setdefault(stream, []).append(name)
                self.journal.write("watched", entry=name, streams=list(method.streams))
                continue
            every = method.interval_sec
            self.journal.write("sampled", entry=name, interval_sec=every, reason=method.why_sampled)
            text = f"safeguard {name} is sampled every {every:g} s, not watched"
            self._tell_notice(f"{text}: {method.why_sampled}")

    def on_gap(self, name: str, gap: Gap) -> None:
        """Journal a gap, and tell of one that was not closed, once; thread-safe."""
        self.journal.write(
            "gap",
            entry=name,
            stream=gap.stream,
            cause=gap.cause,
            from_rv=gap.from_rv,
            to_rv=gap.to_rv,
            closed=gap.closed,
            how=gap.how,
        )
        if gap.closed:
            return
        readers = self._readers.get(gap.stream, [])
        told = (gap.stream, gap.number, gap.cause)
        with self._lock:
            again = told in self._told_gaps
            if name in readers:
                # The others are told of the same gap, one after the other.
                self._told_gaps.add(told)
        if not again:
            names = ", ".join(readers if name in readers else [name])
            self._tell_notice(f"{names}: not everything was seen of {gap.stream}: {gap.cause}")

    def on_fence(self, which: str, fence: FenceResult | None) -> None:
        """Journal how a fence ended; ``None`` for none, because nothing is watched."""
        if fence is None:
            return
        self.journal.write(
            "fence",
            which=which,
            elapsed_sec=round(fence.elapsed_sec, 4),
            failure=fence.failure,
            streams={name: one.how for name, one in fence.streams.items()},
            not_passed=[name for name, one in fence.streams.items() if not one.passed],
        )

    def on_agent(self, report: AgentReport) -> None:
        """Record how the turn went."""
        self.agent = report
        self._mark("agent", detail=report.model_dump())
        self.journal.write("turn_ended", **report.model_dump())

    def on_outcome(self, entry: VerificationEntry, outcome: EntryOutcome) -> None:
        """Record what an entry came to; told again, it is only shown if the verdict changed."""
        self.outcomes[entry.name] = outcome
        verdict = verdict_of(entry, outcome)
        if self._shown.get(entry.name) == (verdict.status, verdict.reason):
            return
        self._shown[entry.name] = (verdict.status, verdict.reason)
        after = outcome.after_turn if isinstance(outcome, HoldObservation) else None
        if after is not None and after.violated:
            self.journal.write("after_turn", entry=entry.name, reason=after.first_violation_reason)
        self.journal.write(
            "entry_judged", entry=entry.name, status=verdict.status, reason=verdict.reason
        )
        self._tell(
            lambda: self._reporter.entry_judged(
                self.task.id, entry.name, verdict.status, verdict.reason
            )
        )

    def notice(self, text: str) -> None:
        """Tell and journal something that the reader should know."""
        self.journal.write("notice", text=text)
        self._tell_notice(text)

    def leave_behind(self, text: str) -> None:
        """Record that something of this run is still on the cluster."""
        self.left_behind.append(text)
        self.notice(f"left on the cluster: {text}")

    def abandon(self) -> None:
        """End a task that never touched anything."""
        self.journal.close()
        self.sink.close()

    def finish(self) -> TaskResult:
        """Score what was seen, close the journal, and return the result."""
        rows = self._rows()
        came_to = conclude(rows, self.problem, interrupted=self.interrupted)
        self._end_recording(rows)
        result = TaskResult(
            id=self.task.id,
            status=came_to.status,
            outcome=came_to.outcome,
            scores=came_to.scores,
            reason=came_to.reason,
            verification_report=rows,
            name=self.task.name,
            source=f"{self.task.source.parent.name}/{self.task.source.name}",
            agent=self.agent,
            cluster=self.cluster,
            phases=self._phases,
            left_behind=self.left_behind,
            unverified=self.unverified,
            recording_cut=self.sink.problem or self.journal.problem or self.record_lost,
            started_at=self.started_at,
            elapsed_sec=self.clock.monotonic() - self._start,
            access=self.access,
            attribution=self.attribution,
            integrity=self.integrity,
        )
        self.journal.write("task_ended", status=result.status, outcome=result.outcome)
        self.journal.close()
        self._tell(lambda: self._reporter.task_finished(result))
        return result

    def _rows(self) -> list[ReportRow]:
        missing = self.problem or "the run ended before"
        rows = [
            row_of(entry, self.outcomes.get(entry.name), missing) for entry in self.task.entries
        ]
        return rows + [invalid_row(error) for error in self.task.entry_errors]

    def _begin_recording(self, server_version: str) -> None:
        self.sink.record(
            Header(
                schema_version=EVIDENCE_VERSION,
                run_id=self._run_id,
                task_id=self.task.id,
                harness_version=__version__,
                server_version=server_version,
                started_at=self.started_at.isoformat(),
                entries=tuple(entry_as_json(entry) for entry in self.task.entries),
                entry_errors=tuple((e.name, e.reason) for e in self.task.entry_errors),
            )
        )
        self._recording = True

    def _end_recording(self, rows: Iterable[ReportRow]) -> None:
        for row in rows:
            verdict: JsonObject = {"status": row["status"], "reason": row["reason"]}
            self._mark("outcome", row["name"], verdict)
        if self.problem is not None:
            self._mark("problem", detail={"reason": self.problem, "interrupted": self.interrupted})
        self._mark("task_end")
        self.sink.close()

    def _mark(self, mark: Mark, entry: str | None = None, detail: JsonObject | None = None) -> None:
        if self._recording:
            self.sink.record(Marked(mark, self.clock.monotonic(), entry, detail))

    def _tell_notice(self, text: str) -> None:
        self._tell(lambda: self._reporter.notice(self.task.id, text))

    def _tell(self, tell: Callable[[], None]) -> None:
        """Tell the reporter; showing must never change what is seen."""
        try:
            tell()
        except Exception:
            log.exception("reporter.failed", task=self.task.id)
