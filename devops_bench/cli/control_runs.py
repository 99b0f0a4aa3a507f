"""Runs controls, each by a ``devops-bench run`` of its own: an ordinary run, and nothing shared."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devops_bench.core.process import EndedBy, ProcessResult, Program, run_program
from devops_bench.results.model import RunResult, TaskResult
from devops_bench.results.qualification.judge import ControlRun, record_of
from devops_bench.results.qualification.plan import ControlPlan
from devops_bench.results.qualification.store import QualificationFolder

_GRACE_SEC: Final = 60.0
"""What a run that is asked to end may take for its teardown."""

STDOUT_NAME: Final = "stdout.json"
STDERR_NAME: Final = "stderr.txt"


@dataclass(frozen=True, slots=True)
class Job:
    """One run to make.

    Attributes:
        plan: Of which control.
        attempt: Which repeat, from 1.
        source: The task's file.
        timeout_sec: Seconds after which it is ended, > 0.
    """

    plan: ControlPlan
    attempt: int
    source: Path
    timeout_sec: float


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What all runs share; see the options of ``run``."""

    provider: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> list[str]:
        """Return them as the words of a command line."""
        given = (
            ("--provider", self.provider),
            ("--kubeconfig", self.kubeconfig),
            ("--context", self.context),
        )
        words = [f"{option}={value}" for option, value in given if value is not None]
        return words + [f"--var={name}={value}" for name, value in self.variables.items()]


def run_jobs(
    jobs: Sequence[Job],
    settings: RunSettings,
    folder: QualificationFolder,
    at_once: int,
    cancel: threading.Event,
) -> Iterator[ControlRun]:
    """Make runs, and yield what each came to as it ends.

    Args:
        jobs: What to run, in this order.
        settings: What they share.
        folder: Where their results go.
        at_once: How many are at work at a time, ≥ 1.
        cancel: Ends those at work and starts no more; they yield nothing.
    """
    with ThreadPoolExecutor(at_once, thread_name_prefix="control") as pool:
        waiting = [pool.submit(_run, job, settings, folder, cancel) for job in jobs]
        try:
            for future in as_completed(waiting):
                run = future.result()
                if run is not None:
                    yield run
        finally:
            if any(not future.done() for future in waiting):
                cancel.set()


def _run(
    job: Job, settings: RunSettings, folder: QualificationFolder, cancel: threading.Event
) -> ControlRun | None:
    """Make one run; ``None`` when it was ended by ``cancel``."""
    if cancel.is_set():
        return None
    home = folder.run_folder(job.plan, job.attempt)
    home.mkdir(parents=True, exist_ok=True)
    stdout, stderr = home / STDOUT_NAME, home / STDERR_NAME
    program = Program(
        argv=[*_COMMAND, *_words(job, settings, home)],
        cwd=Path.cwd(),
        env=dict(os.environ),
        stdout=stdout,
        stderr=stderr,
        grace_sec=_GRACE_SEC,
        alone_first=True,  # a run takes its control plane down itself, after what needs it
    )
    for left in (stdout, stderr):  # of a run that was killed
        left.unlink(missing_ok=True)
    ended = run_program(program, timeout_sec=job.timeout_sec, cancel=cancel)
    result, run_id = _result(stdout)
    whole = ended.ended_by is EndedBy.ITSELF and (result is None or result.status != "interrupted")
    if cancel.is_set() and not whole:
        return None
    if result is None:
        return ControlRun(
            task=job.plan.task,
            control=job.plan.name,
            attempt=job.attempt,
            status="error",
            reason=_why_there_is_none(ended, stderr),
            elapsed_sec=ended.elapsed_sec,
        )
    return record_of(
        job.plan,
        job.attempt,
        result,
        elapsed_sec=ended.elapsed_sec,
        folder=str((home / run_id).relative_to(folder.path)),
    )


_COMMAND: Final = (sys.executable, "-m", "devops_bench", "run")


def _words(job: Job, settings: RunSettings, home: Path) -> list[str]:
    return [
        f"--spec={job.source}",
        "--agent=control",
        f"--results-dir={home}",
        "--output=json",
        *settings.words(),
        "--",
        job.plan.name,
    ]


def _result(stdout: Path) -> tuple[TaskResult | None, str]:
    """Return the one task's result and the run's id, as the run printed them."""
    try:
        run = RunResult.model_validate(json.loads(stdout.read_bytes()))
    except (OSError, ValueError):  # it printed none: its error stream says why
        return None, ""
    return (run.tasks[0] if run.tasks else None), run.run_id


def _why_there_is_none(ended: ProcessResult, stderr: Path) -> str:
    if ended.ended_by is EndedBy.DEADLINE:
        return f"the run was ended after {ended.elapsed_sec:.0f} s"
    try:
        lines = stderr.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    said = " ".join(line for line in lines if line.startswith("error"))
    if ended.exit_code is None or ended.exit_code < 0:
        said = f"it was killed from outside; {said}" if said else "it was killed from outside"
    code = "" if ended.exit_code is None else f" (exit code {ended.exit_code})"
    return f"the run has no result{code}: {said or 'it says nothing of an error'}"
