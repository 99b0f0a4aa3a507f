"""Many tasks, as many at a time as there are slots."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from devops_bench.core.errors import DevopsBenchError
from devops_bench.verify_protocol.model import VerifyResult
from devops_bench.verify_protocol.results import result_path, write_result
from devops_bench.verify_protocol.runner import RunOptions, run_task
from devops_bench.verify_protocol.slots import leased_slot
from devops_bench.verify_protocol.task import VerifyTask


class BatchReporter(Protocol):
    """Is told what happens now, from several threads."""

    def waiting(self, slots: Sequence[int]) -> None:
        """Every slot is used by another run."""
        ...

    def started(self, task: VerifyTask, slot: int) -> None:
        """A task's script is started."""
        ...

    def finished(self, result: VerifyResult, elapsed_sec: float) -> None:
        """A task has its result, and it is written."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """What to run, and where.

    Attributes:
        tasks: Tasks with different ids.
        result_dir: Where the results go; it exists.
        slots: The slots that may be used, at least one.
        jobs: How many scripts run at a time, from 1 to the number of slots.
        options: How they are run.
    """

    tasks: Sequence[VerifyTask]
    result_dir: Path
    slots: Sequence[int]
    jobs: int
    options: RunOptions


def run_batch(batch: Batch, reporter: BatchReporter, cancel: threading.Event) -> list[VerifyResult]:
    """Run every task, and return the results in the order of the tasks.

    Each result is written as soon as it is there. A task's old result is removed when its script
    starts, so that nothing of an earlier run is taken for this one's.

    Args:
        batch: What to run.
        reporter: Is told what happens.
        cancel: When it is set, running scripts are ended (an ``ERROR``), and no other starts; the
            tasks that were not started are not among the results.

    Raises:
        DevopsBenchError: A result or a lock could not be written; the other scripts were ended.
    """
    work = _Work(batch, reporter, cancel)
    threads = [
        threading.Thread(target=work.work, name=f"verify-{number}") for number in range(batch.jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if work.failure is not None:
        raise work.failure
    return [work.results[task.id] for task in batch.tasks if task.id in work.results]


class _Work:
    """The state that the workers share."""

    def __init__(self, batch: Batch, reporter: BatchReporter, cancel: threading.Event) -> None:
        self._batch = batch
        self._reporter = reporter
        self._cancel = cancel
        self._queue: queue.SimpleQueue[VerifyTask] = queue.SimpleQueue()
        for task in batch.tasks:
            self._queue.put(task)
        self.results: dict[str, VerifyResult] = {}
        self.failure: Exception | None = None

    def work(self) -> None:
        """Lease a slot and run tasks on it until none is left."""
        try:
            with leased_slot(
                self._batch.slots,
                prefix=self._batch.options.prefix,
                give_up=lambda: self._cancel.is_set() or self._queue.empty(),
                waiting=lambda: self._reporter.waiting(self._batch.slots),
            ) as slot:
                while slot is not None and not self._cancel.is_set():
                    try:
                        task = self._queue.get_nowait()
                    except queue.Empty:
                        return
                    self._run(task, slot)
        except Exception as exc:  # noqa: BLE001 - raised again in the thread that waits for us
            self.failure = exc
            self._cancel.set()

    def _run(self, task: VerifyTask, slot: int) -> None:
        began = time.monotonic()
        self._reporter.started(task, slot)
        try:
            result_path(self._batch.result_dir, task.id).unlink(missing_ok=True)
            result = run_task(task, slot, self._batch.options, cancel=self._cancel)
            write_result(self._batch.result_dir, result)
        except OSError as exc:
            raise DevopsBenchError(
                f"the result of {task.id} could not be written to {self._batch.result_dir}: {exc}"
            ) from exc
        self.results[task.id] = result
        self._reporter.finished(result, time.monotonic() - began)
