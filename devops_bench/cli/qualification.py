"""What ``qualify`` does: plan the controls, run each as ``run`` would, keep and report."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from devops_bench import __version__
from devops_bench.agents.control import control_agent
from devops_bench.agents.mutants import builtin_mutants
from devops_bench.cli.clusters import choose_provider
from devops_bench.cli.control_runs import Job, RunSettings, run_jobs
from devops_bench.cli.errors import printable
from devops_bench.cli.execution import new_run_id
from devops_bench.cli.output import write_quietly, write_report
from devops_bench.cli.outputfile import OutputFile
from devops_bench.core.errors import DevopsBenchError, InvalidInputError
from devops_bench.evalharness.limits import (
    setup_timeout_sec,
    verification_timeout_sec,
    verification_total_budget_sec,
)
from devops_bench.results.qualification.judge import ControlRun, judge
from devops_bench.results.qualification.junit import render_junit
from devops_bench.results.qualification.plan import ControlPlan, plan_controls
from devops_bench.results.qualification.report import (
    EntryInfo,
    QualificationReport,
    TaskPlan,
    make_report,
)
from devops_bench.results.qualification.store import (
    QualificationFolder,
    QualificationRequest,
    fingerprint,
)
from devops_bench.results.qualification.text import render_report
from devops_bench.tasks.loader import LoadOptions, load_tasks
from devops_bench.tasks.model import DEFAULT_TIMEOUT_SEC, Task


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for; see the options of ``qualify``."""

    specs: tuple[Path, ...] = ()
    repeat: int = 1
    jobs: int = 1
    builtin: bool = False
    provider: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    results_dir: Path = Path("results")
    resume: Path | None = None
    as_json: bool = False
    junit: OutputFile | None = None


def qualify_specs(order: Order) -> int:
    """Qualify what was asked for, and return the exit code.

    Raises:
        InvalidInputError: Something is wrong with the request or a spec, and nothing was touched.
        DevopsBenchError: What came of it could not be written.
    """
    if order.junit is not None:
        order.junit.require_writable()
    if order.resume is None:
        request = _requested(order)
        tasks = _load(request)
        request = request.model_copy(
            update={"tasks": [_plan(task, builtin=request.builtin) for task in tasks.values()]}
        )
        folder = QualificationFolder.create(order.results_dir / f"qualify-{new_run_id()}", request)
    else:
        folder = QualificationFolder(order.resume)
        request = folder.request()
        tasks = _load(request)
        _require_unchanged(request, tasks)
    with _sole_owner(folder.path):
        return _Qualification(order, request, folder, tasks).run()


def _requested(order: Order) -> QualificationRequest:
    kubeconfig = order.kubeconfig
    return QualificationRequest(
        specs=[path.absolute() for path in order.specs],
        repeat=order.repeat,
        builtin=order.builtin,
        provider=order.provider,
        kubeconfig=None if kubeconfig is None else kubeconfig.expanduser().absolute(),
        context=order.context,
        variables=dict(order.variables),
        verification_timeout_sec=verification_timeout_sec(),
        verification_total_budget_sec=verification_total_budget_sec(),
    )


def _load(request: QualificationRequest) -> dict[str, Task]:
    """Load every task, and find all that is wrong with it before anything is touched."""
    choice = choose_provider(
        request.provider, request.kubeconfig, request.context, keep=False, say=_say
    )
    loaded = load_tasks(
        request.specs,
        LoadOptions(
            mode="run",
            variables=request.variables,
            built_in={"NAMESPACE": "default", "RUN_ID": "x", "CLUSTER_NAME": "x"},
            total_budget_sec=verification_total_budget_sec(),
        ),
    )
    loaded.raise_for_errors()
    if not loaded.tasks:
        raise InvalidInputError("there is no task to qualify")
    choice.require(loaded.tasks)
    without = [task for task in loaded.tasks if task.controls.oracle is None]
    if without:
        names = "; ".join(f"{task.id} ({task.source})" for task in without)
        raise InvalidInputError(f"without controls.oracle a task cannot be qualified: {names}")
    return {task.id: task for task in loaded.tasks}


def _plan(task: Task, *, builtin: bool) -> TaskPlan:
    controls = plan_controls(task)
    not_applicable: list[str] = []
    if builtin:
        generic = builtin_mutants(task)
        not_applicable += generic.not_applicable
        controls += [
            ControlPlan(task=task.id, name=one.name, kind="builtin", title=one.title)
            for one in generic.mutants
        ]
    for plan in controls:
        control_agent(task, plan.name)  # a script that is not there is found here
    notices = []
    if not task.controls.mutants:
        notices.append("it names no mutants: whether its safeguards see harm was not tested")
    if task.controls.partial is None:
        notices.append("it names no partial control: whether half the work scores half is unknown")
    return TaskPlan(
        task=task.id,
        source=str(task.source),
        fingerprint=_fingerprint(task),
        controls=controls,
        entries=[EntryInfo(name=e.name, role=e.role, severity=e.severity) for e in task.entries],
        not_applicable=not_applicable,
        notices=notices,
    )


def _fingerprint(task: Task) -> str:
    try:
        return fingerprint(task)
    except OSError as exc:
        raise InvalidInputError(f"{exc.filename} cannot be read: {exc.strerror}") from exc


def _require_unchanged(request: QualificationRequest, tasks: Mapping[str, Task]) -> None:
    """Refuse to mix runs of two versions of a spec, or under two bounds, in one report."""
    for variable, now, then in (
        ("VERIFICATION_TIMEOUT_SEC", verification_timeout_sec(), request.verification_timeout_sec),
        (
            "VERIFICATION_TOTAL_BUDGET_SEC",
            verification_total_budget_sec(),
            request.verification_total_budget_sec,
        ),
    ):
        if now != then:
            raise InvalidInputError(
                f"it began with {then:g} s for {variable}, and now it is {now:g} s: the runs would "
                f"not be alike; set {variable}={then:g}"
            )
    for plan in request.tasks:
        task = tasks.get(plan.task)
        if task is None or _fingerprint(task) != plan.fingerprint:
            raise InvalidInputError(
                f"task {plan.task} ({plan.source}) has changed since: what was run then says "
                "nothing about it now; qualify it anew"
            )


@contextlib.contextmanager
def _sole_owner(folder: Path) -> Iterator[None]:
    """Keep a second process from working on the same folder."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InvalidInputError(f"{folder} is at work in another process") from None
    try:
        yield
    finally:
        os.close(descriptor)


class _Qualification:
    """One qualification at work."""

    def __init__(
        self,
        order: Order,
        request: QualificationRequest,
        folder: QualificationFolder,
        tasks: Mapping[str, Task],
    ) -> None:
        self._order = order
        self._request = request
        self._folder = folder
        self._tasks = tasks
        self._runs = folder.runs(request.tasks, request.repeat)
        self._cancel = threading.Event()
        self._total = sum(len(task.controls) for task in request.tasks) * request.repeat

    def run(self) -> int:
        """Run what is missing, report, and return the exit code."""
        jobs = self._missing()
        self._tell(f"runs to make in {self._folder.path}: {len(jobs)}")
        if self._runs:
            self._tell(f"ended before: {len(self._runs)}")
        settings = RunSettings(
            provider=self._request.provider,
            kubeconfig=self._request.kubeconfig,
            context=self._request.context,
            variables=self._request.variables,
        )
        with _signals_set(self._cancel):
            for run in run_jobs(jobs, settings, self._folder, self._order.jobs, self._cancel):
                self._keep(run)
        report = self._report()
        self._write(report)
        return report.exit_code

    def _missing(self) -> list[Job]:
        """Return what has not ended yet: every control once, then every control again."""
        ended = {(run.task, run.control, run.attempt) for run in self._runs}
        return [
            Job(plan, attempt, self._tasks[plan.task].source, self._bound(plan.task))
            for attempt in range(1, self._request.repeat + 1)
            for task in self._request.tasks
            for plan in task.controls
            if (plan.task, plan.name, attempt) not in ended
        ]

    def _bound(self, task_id: str) -> float:
        """Return the seconds that a run of the task takes at most, with everything that is slow."""
        task = self._tasks[task_id]
        turn = task.timeout_sec or DEFAULT_TIMEOUT_SEC
        after = task.verification_budget_sec or verification_total_budget_sec()
        return turn + after + 4 * setup_timeout_sec()

    def _keep(self, run: ControlRun) -> None:
        try:
            self._folder.write_run(run)
        except OSError as exc:
            self._cancel.set()
            raise DevopsBenchError(f"a run could not be written down: {exc.strerror}") from exc
        self._runs.append(run)
        plan = next(
            plan
            for task in self._request.tasks
            for plan in task.controls
            if (plan.task, plan.name) == (run.task, run.control)
        )
        judgement, why = judge(plan, run)
        said = f", {judgement.replace('_', ' ')}: {why}" if why else ""
        self._tell(
            f"[{len(self._runs)}/{self._total}] {run.task} {run.control} #{run.attempt}: "
            f"{run.status} in {run.elapsed_sec:.1f} s{said}"
        )

    def _report(self) -> QualificationReport:
        return make_report(
            self._request.tasks,
            self._runs,
            repeat=self._request.repeat,
            verification_timeout_sec=self._request.verification_timeout_sec,
            harness_version=__version__,
            interrupted=self._cancel.is_set(),
        )

    def _write(self, report: QualificationReport) -> None:
        """Write it everywhere: what cannot be written in one place does not cost the others."""
        with contextlib.ExitStack() as last_to_first:
            if report.missing:
                last_to_first.callback(self._tell, f"continue it with --resume {self._folder.path}")
            if self._order.junit is not None:
                last_to_first.callback(self._order.junit.write, render_junit(report).encode())
            last_to_first.callback(self._print, report)
            last_to_first.callback(self._store, report)

    def _store(self, report: QualificationReport) -> None:
        try:
            self._folder.write_report(report)
        except OSError as exc:
            raise DevopsBenchError(
                f"the report could not be written to {self._folder.path}: {exc.strerror}"
            ) from exc

    def _print(self, report: QualificationReport) -> None:
        if self._order.as_json:
            write_report(report.model_dump_json(indent=2) + "\n")
        else:
            write_report(f"\n{render_report(report)}")

    def _tell(self, text: str) -> None:
        stream = sys.stderr if self._order.as_json else sys.stdout
        write_quietly(f"{printable(text)}\n", stream)


def _say(line: str) -> None:
    write_quietly(f"{printable(line)}\n", sys.stderr)


@contextlib.contextmanager
def _signals_set(cancel: threading.Event) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the runs at work in order, and what was seen be kept."""

    def on_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if not cancel.is_set():
            cancel.set()
            # Not by a buffered stream: the signal may have come while it was written to.
            text = f"\n{signal.Signals(number).name}: ending the runs at work\n"
            with contextlib.suppress(OSError):  # a terminal that was closed
                os.write(2, text.encode())

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.getsignal(number) for number in numbers}
    for number, handler in previous.items():
        # nohup(1) and some CI systems ignore SIGHUP on purpose.
        if handler is not signal.SIG_IGN:
            signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
