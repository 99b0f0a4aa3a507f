"""The run's folder: ``RESULTS/RUN_ID/result.json``, ``summary.txt`` and a folder per task."""

from __future__ import annotations

from pathlib import Path

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.faults import in_one_line
from devops_bench.core.files import write_atomic
from devops_bench.results.model import RunResult
from devops_bench.results.summary import render_summary

RESULT_NAME = "result.json"
SUMMARY_NAME = "summary.txt"


class ResultWriter:
    """Writes the results of one run.

    Args:
        results_dir: Where runs go; made when it is missing.
        run_id: The name of the run's folder.

    Raises:
        InvalidInputError: The folder exists already or cannot be made; nothing was written.
    """

    def __init__(self, results_dir: Path, run_id: str) -> None:
        self.run_dir = results_dir / run_id
        try:
            self.run_dir.mkdir(parents=True)
        except FileExistsError:
            raise InvalidInputError(
                f"{self.run_dir} exists already; a run never writes into the folder of another"
            ) from None
        except OSError as exc:
            raise InvalidInputError(
                f"the results folder {self.run_dir} cannot be made: {exc.strerror}"
            ) from exc

    @property
    def result_path(self) -> Path:
        """Where the result is, or will be."""
        return self.run_dir / RESULT_NAME

    def task_dir(self, task_id: str) -> Path:
        """Return the folder of a task, made when it is missing.

        Args:
            task_id: The id of a loaded task, which is safe as a folder's name.
        """
        folder = self.run_dir / task_id
        folder.mkdir(exist_ok=True)
        return folder

    def write(self, result: RunResult) -> None:
        """Write the result and its summary, each atomically.

        Called after each task, so that a kill loses at most the task that was at work.

        Raises:
            OSError: It could not be written; what was there before is still there.
        """
        write_atomic(self.result_path, result.model_dump_json(indent=2) + "\n")
        write_atomic(self.run_dir / SUMMARY_NAME, render_summary(result))


def read_result(run_dir: Path) -> RunResult:
    """Return the result of a run's folder.

    Raises:
        OSError: There is none, or it could not be read.
        InvalidInputError: It is damaged, or no result of a version that this program knows.
    """
    file = run_dir / RESULT_NAME
    try:
        return RunResult.model_validate_json(file.read_bytes())
    except ValueError as exc:
        raise InvalidInputError(
            f"{file} is damaged, or of another version: {in_one_line(exc)}"
        ) from exc
