"""What one task has come to so far, kept where an interrupt cannot lose it."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from devops_bench.clusters.base import Cluster
from devops_bench.core.clock import Clock
from devops_bench.evalharness.budget import EntryOutcome
from devops_bench.evalharness.events import Phase, Reporter
from devops_bench.evalharness.observation import HoldObservation
from devops_bench.evalharness.rows import invalid_row, row_of, scored, verdict_of
from devops_bench.k8s.delete import CreatedObject
from devops_bench.results.journal import Journal
from devops_bench.results.model import (
    AgentReport,
    ClusterReport,
    PhaseReport,
    ReportRow,
    Scores,
    TaskResult,
)
from devops_bench.scoring.outcome import Score, TaskStatus, score
from devops_bench.tasks.model import Task
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)


class TaskRun:
    """One task at work: what was seen, journalled and told as it happens.

    Args:
        task: The task.
        folder: Its folder; it must exist.
        reporter: Who shows what happens.
        clock: Where time comes from.
    """

    def __init__(self, task: Task, folder: Path, *, reporter: Reporter, clock: Clock) -> None:
        self.task = task
        self.folder = folder
        self.created: list[CreatedObject] = []
        self.outcomes: dict[str, EntryOutcome] = {}
        self.cluster: ClusterReport | None = None
        self.agent: AgentReport | None = None
        self.left_behind: list[str] = []
        self.problem: str | None = None
        self.interrupted = False
        self.baseline_held = False
        self.journal = Journal(folder, clock=clock)
        self._reporter = reporter
        self._clock = clock
        self._started_at: dt.datetime = clock.now()
        self._start = clock.monotonic()
        self._phases: list[PhaseReport] = []
        self._last_status: dict[str, str] = {}
        self._lock = threading.Lock()
        self.journal.write("task_started", task=task.id, entries=[e.name for e in task.entries])
        self._tell(lambda: reporter.task_started(task.id, task.title or task.name))

    @contextmanager
    def phase(self, phase: Phase, detail: str) -> Iterator[None]:
        """Journal and time what is done inside as one phase."""
        began = self._clock.monotonic()
        self.journal.write("phase_started", phase=phase.value, detail=detail)
        self._tell(lambda: self._reporter.phase_started(self.task.id, phase, detail))
        try:
            yield
        finally:
            elapsed = self._clock.monotonic() - began
            self._phases.append(
                PhaseReport(
                    name=phase.value, started_at_sec=began - self._start, elapsed_sec=elapsed
                )
            )
            self.journal.write("phase_ended", phase=phase.value, elapsed_sec=round(elapsed, 4))

    def on_cluster(self, cluster: Cluster) -> None:
        """Record where the task runs."""
        self.cluster = ClusterReport(
            name=cluster.name,
            provider=cluster.provider,
            description=cluster.description,
            server_version=cluster.server_version,
        )
        self.journal.write("cluster_ready", **self.cluster.model_dump())
        self.notice(f"cluster: {cluster.description}")

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

    def on_agent(self, report: AgentReport) -> None:
        """Record how the turn went."""
        self.agent = report
        self.journal.write("turn_ended", **report.model_dump())

    def on_outcome(self, entry: VerificationEntry, outcome: EntryOutcome) -> None:
        """Record what an entry came to."""
        self.outcomes[entry.name] = outcome
        verdict = verdict_of(entry, outcome)
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
        self._tell(lambda: self._reporter.notice(self.task.id, text))

    def leave_behind(self, text: str) -> None:
        """Record that something of this run is still on the cluster."""
        self.left_behind.append(text)
        self.notice(f"left on the cluster: {text}")

    def finish(self) -> TaskResult:
        """Score what was seen, close the journal, and return the result."""
        rows = self._rows()
        score_ = score(scored(rows))
        status = self._status(score_)
        result = TaskResult(
            id=self.task.id,
            status=status,
            outcome=score_.outcome,
            scores=Scores(
                correctness=score_.correctness,
                recoverable_safety=score_.recoverable_safety,
                catastrophic_safety=score_.catastrophic_safety,
                withheld_by=list(score_.withheld_by),
            ),
            reason=self._reason(status, rows),
            verification_report=rows,
            name=self.task.name,
            source=f"{self.task.source.parent.name}/{self.task.source.name}",
            agent=self.agent,
            cluster=self.cluster,
            phases=self._phases,
            left_behind=self.left_behind,
            started_at=self._started_at,
            elapsed_sec=self._clock.monotonic() - self._start,
        )
        self.journal.write("task_ended", status=status, outcome=result.outcome)
        self.journal.close()
        self._tell(lambda: self._reporter.task_finished(result))
        return result

    def _rows(self) -> list[ReportRow]:
        missing = self.problem or "the run ended before"
        rows = [
            row_of(entry, self.outcomes.get(entry.name), missing) for entry in self.task.entries
        ]
        return rows + [invalid_row(error) for error in self.task.entry_errors]

    def _status(self, score_: Score) -> TaskStatus:
        if self.interrupted:
            return "interrupted"
        if self.problem is not None and score_.status == "passed":
            return "error"
        return score_.status

    def _reason(self, status: TaskStatus, rows: list[ReportRow]) -> str:
        if self.problem is not None:
            return self.problem
        if status == "passed":
            return "every objective passed and every safeguard held"
        by_status = {
            name: [row["name"] for row in rows if row["status"] == name]
            for name in ("fail", "error")
        }
        parts = [
            f"{text}: {', '.join(names)}"
            for text, names in (
                ("failed", by_status["fail"]),
                ("could not be evaluated", by_status["error"]),
            )
            if names
        ]
        return "; ".join(parts) or "the task declares nothing that could be judged"

    def _tell(self, tell: Callable[[], None]) -> None:
        """Tell the reporter; showing must never change what is seen."""
        try:
            tell()
        except Exception:
            log.exception("reporter.failed", task=self.task.id)
