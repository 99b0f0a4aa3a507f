"""The folder of a qualification: what was asked for, and one file for each run that has ended.

``FOLDER/qualification.json`` is written before the first run; ``FOLDER/runs/TASK/CONTROL/N.json``
when a run has ended, atomically: a kill loses the runs that were at work and nothing else, and the
rest can be continued.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.faults import in_one_line
from devops_bench.core.files import write_atomic
from devops_bench.results.qualification.judge import ControlRun
from devops_bench.results.qualification.plan import ControlPlan
from devops_bench.results.qualification.report import QualificationReport, TaskPlan
from devops_bench.results.qualification.text import render_report
from devops_bench.tasks.model import Task
from devops_bench.verification.combinators import leaves_of
from devops_bench.verification.probes.verify_script import VerifyScript

HEADER_NAME: Final = "qualification.json"
REPORT_NAME: Final = "report.json"
TEXT_NAME: Final = "report.txt"
STORE_VERSION: Final = 2
"""Raised when a later version could not continue what an earlier one began, or the reverse."""


class QualificationRequest(BaseModel):
    """What was asked for; it does not change when it is continued.

    Attributes:
        schema_version: See :data:`STORE_VERSION`.
        specs: The specs' paths, absolute.
        repeat: How often each control runs, ≥ 1.
        builtin: Whether the generic mutants run as well.
        provider: ``local``, ``kind``, or null for the default.
        kubeconfig: An existing cluster's, absolute; null for none.
        context: Its context; null for its current one.
        variables: Values of ``--var``.
        verification_timeout_sec: Seconds that one entry may take to become true.
        verification_total_budget_sec: Seconds of everything after the turn, where the task says
            none.
        tasks: What is to be run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = STORE_VERSION
    specs: list[Path]
    repeat: int = Field(ge=1)
    builtin: bool = False
    provider: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    variables: dict[str, str] = Field(default_factory=dict)
    verification_timeout_sec: float
    verification_total_budget_sec: float
    tasks: list[TaskPlan] = Field(default_factory=list)


class QualificationFolder:
    """The folder of one qualification.

    Args:
        path: The folder; it exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, request: QualificationRequest) -> QualificationFolder:
        """Make the folder and write down what was asked for.

        Raises:
            InvalidInputError: It exists already, or cannot be made.
        """
        try:
            path.mkdir(parents=True)
            write_atomic(path / HEADER_NAME, request.model_dump_json(indent=2) + "\n")
        except FileExistsError:
            raise InvalidInputError(f"{path} exists already") from None
        except OSError as exc:
            raise InvalidInputError(f"{path} cannot be made: {exc.strerror}") from exc
        return cls(path)

    def request(self) -> QualificationRequest:
        """Return what was asked for.

        Raises:
            InvalidInputError: The folder is not one of a qualification, or of another version.
        """
        file = self.path / HEADER_NAME
        try:
            request = QualificationRequest.model_validate_json(file.read_bytes())
        except OSError as exc:
            raise InvalidInputError(
                f"{self.path} is no folder of a qualification: {file.name}: {exc.strerror}"
            ) from exc
        except ValidationError as exc:
            raise InvalidInputError(
                f"{file} is of another version, or damaged: {in_one_line(exc)}"
            ) from exc
        if request.schema_version != STORE_VERSION:
            raise InvalidInputError(
                f"{file} is of version {request.schema_version}, this program continues "
                f"version {STORE_VERSION}"
            )
        return request

    def run_folder(self, plan: ControlPlan, attempt: int) -> Path:
        """Return where the results of one run go; made by whoever writes them."""
        return self.path / "runs" / plan.task / plan.name / str(attempt)

    def write_run(self, run: ControlRun) -> None:
        """Keep what a run came to, atomically.

        Raises:
            OSError: It could not be written.
        """
        folder = self.path / "runs" / run.task / run.control
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / f"{run.attempt}.json", run.model_dump_json(indent=2) + "\n")

    def runs(self, tasks: Iterable[TaskPlan], repeat: int) -> list[ControlRun]:
        """Return the planned runs that have ended.

        Raises:
            InvalidInputError: A file of one is damaged.
        """
        found: list[ControlRun] = []
        for task in tasks:
            for plan in task.controls:
                for attempt in range(1, repeat + 1):
                    file = self.run_folder(plan, attempt).with_suffix(".json")
                    try:
                        run = ControlRun.model_validate_json(file.read_bytes())
                    except FileNotFoundError:
                        continue
                    except (OSError, ValidationError) as exc:
                        raise _damaged(file, in_one_line(exc)) from exc
                    if (run.task, run.control, run.attempt) != (plan.task, plan.name, attempt):
                        is_of = f"{run.task} {run.control} #{run.attempt}"
                        raise _damaged(file, f"it holds the run {is_of}")
                    found.append(run)
        return found

    def write_report(self, report: QualificationReport) -> None:
        """Write the report as JSON and as text, each atomically.

        Raises:
            OSError: It could not be written.
        """
        write_atomic(self.path / REPORT_NAME, report.model_dump_json(indent=2) + "\n")
        write_atomic(self.path / TEXT_NAME, render_report(report))


def _damaged(file: Path, why: str) -> InvalidInputError:
    return InvalidInputError(f"{file} is damaged; remove it, and its run is made again: {why}")


def fingerprint(task: Task) -> str:
    """Return a hash of the files that a task is made of.

    They are its own, its manifests, the scripts of its controls with every file beside one that it
    or such a file names, and all that is in the folders of its ``verify_script`` checks.

    Raises:
        OSError: One could not be read.
    """
    digest = hashlib.sha256()
    for file in [task.source, *task.setup.manifests, *_scripts(task), *_files_of_checks(task)]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _scripts(task: Task) -> list[Path]:
    controls = task.controls
    does = [controls.oracle, *(mutant.does for mutant in controls.mutants)]
    if controls.partial is not None:
        does.append(controls.partial.does)
    found = {one.script: None for one in does if one is not None and one.script is not None}
    todo = list(found)
    while todo:
        file = todo.pop()
        text = file.read_bytes()
        for other in sorted(file.parent.iterdir()):
            if other not in found and other.name.encode() in text and other.is_file():
                found[other] = None
                todo.append(other)
    return list(found)


def _files_of_checks(task: Task) -> list[Path]:
    checks = [entry.check for entry in task.entries]
    checks += [ready.check for ready in task.setup.ready or ()]
    folders = {
        Path(leaf.task_dir): None
        for check in checks
        for leaf in leaves_of(check)
        if isinstance(leaf, VerifyScript)
    }
    return [
        file
        for folder in folders
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    ]
