"""The phases of a task, in their order, and nothing else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import structlog

from devops_bench.agents.base import Agent, AgentStatus
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.clusters.base import Cluster, ClusterProvider
from devops_bench.clusters.leftovers import OBJECTS_FILE
from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import (
    DevopsBenchError,
    InvalidInputError,
    RunInterruptedError,
)
from devops_bench.core.faults import named
from devops_bench.evalharness.access import ClusterAccess, KubeAccess
from devops_bench.evalharness.accounts import Accounts, accounts
from devops_bench.evalharness.budget import PostRun, require_windows
from devops_bench.evalharness.clock import TaskClock
from devops_bench.evalharness.events import NullReporter, Phase, Reporter
from devops_bench.evalharness.hold import HoldObservation, SafeguardMonitor
from devops_bench.evalharness.leash import LeashOptions, leash
from devops_bench.evalharness.limits import setup_timeout_sec, verification_total_budget_sec
from devops_bench.evalharness.preparation import (
    await_ready,
    check_baseline,
    check_coverage,
    check_ground,
)
from devops_bench.evalharness.rows import hold_row
from devops_bench.evalharness.taskrun import TaskRun
from devops_bench.evalharness.turns import Given, TurnOptions, take_turn
from devops_bench.results.evidence.records import EvidenceSink
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.results.model import ReportRow, TaskResult
from devops_bench.results.trust import AccessReport
from devops_bench.tasks.model import DEFAULT_TIMEOUT_SEC, Task
from devops_bench.verification.spec import HoldScope, VerificationEntry

log = structlog.get_logger(__name__)

DELETE_TIMEOUT_SEC = 60.0
"""What deleting the setup's objects may take."""

_ABANDON_JOIN_SEC = 2.0
_LEAST_BASELINE_SEC = 0.1

OpenEvidence: TypeAlias = Callable[[Path, Sequence[VerificationEntry]], EvidenceSink]
"""Opens the recording in a folder; never raises."""


@dataclass(frozen=True, slots=True)
class HarnessOptions:
    """What the user may choose.

    Attributes:
        adopt: Whether objects of the setup that are there already are taken over.
        keep: Whether the setup's objects stay. The provider decides about the cluster itself.
        judge_only: Whether the setup is left out, so that the cluster is judged as it is.
        timeout_sec: Seconds of the agent's turn, > 0; ``None`` for the task's own.
        agent_environment: Variables that the agent gets besides the allow-list.
        sandbox: What the agent may see and reach; ``None`` for everything that this process may.
    """

    adopt: bool = False
    keep: bool = False
    judge_only: bool = False
    timeout_sec: float | None = None
    agent_environment: Mapping[str, str] = field(default_factory=dict)
    sandbox: SandboxOptions | None = None


class DefaultEvalHarness:
    """Runs tasks, one at a time.

    Args:
        provider: Where clusters come from.
        agent_factory: Makes the agent of a task; called before anything is touched.
        run_id: The run's id, part of the names of what is started.
        reporter: Who shows what happens.
        options: What the user chose.
        cancel: Handed to the agent; set it to end a turn at once.
        connect: Connects to the provided cluster; the folder is for the files of probes.
        record: Opens the recording in a task's folder; what is recorded decides no verdict.
        clock: Where time comes from.
    """

    def __init__(
        self,
        provider: ClusterProvider,
        agent_factory: Callable[[Task], Agent],
        *,
        run_id: str,
        reporter: Reporter | None = None,
        options: HarnessOptions | None = None,
        cancel: threading.Event | None = None,
        connect: Callable[[Cluster, Path], ClusterAccess] = KubeAccess.connect,
        record: OpenEvidence = open_evidence,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._provider = provider
        self._agent_factory = agent_factory
        self._run_id = run_id
        self._reporter: Reporter = reporter if reporter is not None else NullReporter()
        self._options = options if options is not None else HarnessOptions()
        self._cancel = cancel if cancel is not None else threading.Event()
        self._connect = connect
        self._record = record
        self._clock = clock

    def run_task(self, task: Task, run_dir: Path) -> TaskResult:
        """Run one task through all phases.

        Whatever goes wrong is in the result: a broken setup, a dead cluster, an agent that cannot
        be started, a bug, an interrupt. What was made is taken down in any case.

        Args:
            task: A task that was loaded for a run.
            run_dir: The run's folder; the task's goes into it.

        Raises:
            InvalidInputError: The agent or the cluster that was asked for cannot be, and nothing
                was touched.
            ValueError: An objective in hold mode has no window.
            OSError: The task's folder or its journal could not be made.
        """
        require_windows(task.entries)
        agent = self._agent_factory(task)
        # Absolute, because the agent is started in another folder.
        folder = run_dir.absolute() / task.id
        folder.mkdir(parents=True, exist_ok=True)
        run = TaskRun(
            task,
            folder,
            run_id=self._run_id,
            reporter=self._reporter,
            # Seconds after the task's start: what is folded is then exactly what is recorded.
            clock=TaskClock(self._clock),
            sink=self._record(folder, task.entries),
        )
        try:
            self._run_phases(run, agent)
        except (KeyboardInterrupt, RunInterruptedError):
            run.interrupted = True
            run.problem = "the run was interrupted"
        except InvalidInputError as exc:
            if run.cluster is None:
                run.abandon()
                raise
            run.problem = str(exc)
        except DevopsBenchError as exc:
            run.problem = str(exc)
        except Exception as exc:
            log.exception("task.failed", task=task.id)
            run.problem = f"unexpected {named(exc)}"
        return run.finish()

    def _run_phases(self, run: TaskRun, agent: Agent) -> None:
        knows = agent.name == "oracle"
        with (
            self._cluster(run) as (cluster, access),
            accounts(run, cluster, knows_the_answer=knows) as kept,
        ):
            run.records.written(Path(OBJECTS_FILE), access.record_difference)
            self._set_up(run, access)
            with (
                self._leash(run, cluster, access, kept) as given,
                self._monitor(run, access) as monitor,
            ):
                self._baseline(run, monitor)
                with kept.turn():
                    self._turn(run, agent, given, monitor)
                self._verify(run, access, monitor)

    @contextmanager
    def _leash(
        self, run: TaskRun, cluster: Cluster, access: ClusterAccess, kept: Accounts
    ) -> Iterator[Given]:
        """Give the agent the access that the task grants."""
        granted = run.task.access
        if granted is None or self._options.judge_only:
            if not self._options.judge_only:
                run.on_access(AccessReport(kind="harness"))
            yield Given(cluster, cluster.kubeconfig)
            return
        options = LeashOptions(
            granted,
            turn_sec=self._options.timeout_sec or run.task.timeout_sec or DEFAULT_TIMEOUT_SEC,
            timeout_sec=setup_timeout_sec(),
            secret={"answers": kept.cluster_canary.value},
            remove=self._options.keep or not cluster.disposable,
        )
        with leash(
            cluster,
            options,
            clock=run.clock,
            record=access.note,
            left_behind=run.leave_behind,
        ) as held:
            run.on_access(held.report)
            kept.leashed(held)
            yield Given(cluster, held.kubeconfig, held.token_folder, held.secrets)

    @contextmanager
    def _cluster(self, run: TaskRun) -> Iterator[tuple[Cluster, ClusterAccess]]:
        """Provide the cluster, and take down what was made, also when it is dead."""
        with ExitStack() as stack:
            with run.phase(Phase.CLUSTER, f"{self._provider.name} ({self._provider.why})"):
                cluster = stack.enter_context(self._provider.provide(self._run_id, run.folder))
                run.on_cluster(cluster)
                access = self._connect(cluster, run.folder)
                stack.callback(access.close)
            try:
                yield cluster, access
            finally:
                self._tear_down(run, cluster, access, stack)

    def _set_up(self, run: TaskRun, access: ClusterAccess) -> None:
        setup = run.task.setup
        judge_only = self._options.judge_only
        detail = (
            "left out, as no agent is asked for" if judge_only else f"{len(setup.objects)} objects"
        )
        with run.phase(Phase.SETUP, detail):
            if not judge_only:
                access.create(
                    setup.objects,
                    adopt=self._options.adopt,
                    record=run.on_created,
                    timeout_sec=setup_timeout_sec(),
                )
                await_ready(access, setup, setup_timeout_sec(), run.clock)
            check_ground(access, run.task.entries)

    @contextmanager
    def _monitor(self, run: TaskRun, access: ClusterAccess) -> Iterator[SafeguardMonitor]:
        """Observe the safeguards in hold mode; the monitor is stopped whatever happens."""
        monitor = SafeguardMonitor(
            _held(run.task),
            verifier=access,
            clock=run.clock,
            on_sample=run.on_sample,
            on_gap=run.on_gap,
            watch=access.watch,
            sink=run.sink,
        )
        try:
            yield monitor
        finally:
            monitor.stop(_ABANDON_JOIN_SEC)
            if run.agent is not None:
                self._judge_held(run, monitor, ("turn", "run"))

    def _baseline(self, run: TaskRun, monitor: SafeguardMonitor) -> None:
        held = _held(run.task)
        with run.phase(Phase.BASELINE, f"{len(held)} safeguards must hold"):
            deadline = run.clock.monotonic() + setup_timeout_sec()
            methods = monitor.start(setup_timeout_sec())
            run.on_methods(methods, monitor.unverified)
            check_coverage(held, methods)
            left = max(_LEAST_BASELINE_SEC, deadline - run.clock.monotonic())
            check_baseline(monitor.await_baseline(left))
            run.baseline_held = True

    def _turn(self, run: TaskRun, agent: Agent, given: Given, monitor: SafeguardMonitor) -> None:
        with run.phase(Phase.TURN, f"agent {agent.name}"):
            try:
                status = take_turn(run, agent, given, self._turn_options())
            finally:
                try:
                    run.on_fence("turn", monitor.end_turn())
                finally:
                    self._judge_held(run, monitor, ("turn",))
            if status is AgentStatus.CANCELLED:
                raise RunInterruptedError("the run was interrupted during the agent's turn")

    def _turn_options(self) -> TurnOptions:
        options = self._options
        return TurnOptions(
            timeout_sec=options.timeout_sec,
            environment=options.agent_environment,
            sandbox=options.sandbox,
            cancel=self._cancel,
        )

    def _judge_held(
        self, run: TaskRun, monitor: SafeguardMonitor, scopes: tuple[HoldScope, ...]
    ) -> None:
        """Record what the safeguards came to whose windows are over."""
        observations = monitor.get_observations()
        for entry in _held(run.task):
            if entry.hold_scope in scopes:
                run.on_outcome(entry, observations[entry.name])

    def _verify(self, run: TaskRun, access: ClusterAccess, monitor: SafeguardMonitor) -> None:
        total = run.task.verification_budget_sec or verification_total_budget_sec()
        with run.phase(Phase.VERIFY, f"within {total:g} s"):
            PostRun(
                run.task.entries,
                access,
                total_sec=total,
                clock=run.clock,
                on_outcome=run.on_outcome,
                watch=access.watch,
                sink=run.sink,
            ).run()
            run.on_fence("run", monitor.end_run())

    def _tear_down(
        self, run: TaskRun, cluster: Cluster, access: ClusterAccess, stack: ExitStack
    ) -> None:
        to_delete = bool(run.created) and not cluster.disposable
        try:
            with run.phase(Phase.TEARDOWN, "taking down what was made"):
                try:
                    if to_delete:
                        self._delete_created(run, access)
                        to_delete = False
                finally:
                    _end_cluster(run, cluster, stack)
        finally:
            if to_delete:
                run.leave_behind(f"{len(run.created)} objects: the teardown was interrupted")
            # Only ends something when the phase itself was interrupted before it did.
            _end_cluster(run, cluster, stack)

    def _delete_created(self, run: TaskRun, access: ClusterAccess) -> None:
        if self._options.keep:
            run.leave_behind(f"{len(run.created)} objects of the setup, as --keep asks")
            return
        try:
            remaining = access.delete(run.created, DELETE_TIMEOUT_SEC)
        except Exception as exc:
            # A dead cluster must not keep the rest from being taken down, nor change a verdict.
            log.exception("teardown.delete_failed", task=run.task.id)
            remaining = [f"{len(run.created)} objects of the setup: {exc}"]
        for text in remaining:
            run.leave_behind(text)

    @staticmethod
    def _hold_report_entry(entry: VerificationEntry, obs: HoldObservation | None) -> ReportRow:
        """Return the row of an entry in hold mode; without an observation it is an error."""
        return hold_row(entry, obs)


def _end_cluster(run: TaskRun, cluster: Cluster, stack: ExitStack) -> None:
    """End the connection and the cluster; what fails is told and changes no verdict."""
    try:
        # The provider learns how it ended: it keeps its logs when something went wrong.
        stack.__exit__(*sys.exc_info())
    except Exception as exc:
        log.exception("teardown.cluster_not_ended", task=run.task.id)
        run.leave_behind(f"the cluster {cluster.name} could not be ended: {exc}")


def _held(task: Task) -> list[VerificationEntry]:
    """Return what the monitor observes: safeguards in hold mode, never an objective."""
    return [e for e in task.entries if e.role == "safeguard" and e.resolved_mode == "hold"]
