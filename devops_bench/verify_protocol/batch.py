"""Many tasks, as many at a time as there are slots."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from devops_bench.core.errors import DevopsBenchError, InvalidInputError
from devops_bench.core.faults import named
from devops_bench.verify_protocol.judge import without_verdict
from devops_bench.verify_protocol.model import Status, VerifyResult
from devops_bench.verify_protocol.results import result_path, write_result
from devops_bench.verify_protocol.runner import RunOptions, run_task
from devops_bench.verify_protocol.slots import Lease, leased_slot
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
        """A task has its result, and it is written, if it could be."""
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


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What a batch came to.

    Attributes:
        results: One for every task, in the order of the tasks; an ``ERROR`` for each that was not
            started.
        faults: What else went wrong: a slot's lock or a result that could not be written. A result
            that is not in its file is among ``results`` all the same.
    """

    results: tuple[VerifyResult, ...]
    faults: tuple[str, ...] = ()


def run_batch(batch: Batch, reporter: BatchReporter, cancel: threading.Event) -> BatchOutcome:
    """Run every task; what goes wrong with one is its own ``ERROR``, and the others run.

    The old results of all tasks are removed first, and each new one is written as soon as it is
    there, so that nothing of an earlier run is taken for this one's, however this one ends.

    Args:
        batch: What to run.
        reporter: Is told what happens.
        cancel: When it is set, running scripts are ended (an ``ERROR``), and no other starts.

    Raises:
        InvalidInputError: An old result cannot be removed; nothing was run.
    """
    for task in batch.tasks:
        old = result_path(batch.result_dir, task.id)
        try:
            old.unlink(missing_ok=True)
        except OSError as exc:
            raise InvalidInputError(f"{old} is in the way: {exc.strerror}") from exc
    work = _Work(batch, reporter, cancel)
    threads = [
        threading.Thread(target=work.work, name=f"verify-{number}") for number in range(batch.jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return work.outcome()


class _Work:
    """The state that the workers share."""

    def __init__(self, batch: Batch, reporter: BatchReporter, cancel: threading.Event) -> None:
        self._batch = batch
        self._reporter = reporter
        self._cancel = cancel
        self._queue: queue.SimpleQueue[VerifyTask] = queue.SimpleQueue()
        for task in batch.tasks:
            self._queue.put(task)
        self._results: dict[str, VerifyResult] = {}
        self._faults: list[str] = []

    def work(self) -> None:
        """Lease a slot and run tasks on it until none is left."""
        try:
            with leased_slot(
                self._batch.slots,
                prefix=self._batch.options.prefix,
                give_up=lambda: self._cancel.is_set() or self._queue.empty(),
                waiting=lambda: self._reporter.waiting(self._batch.slots),
            ) as lease:
                while lease is not None and not self._cancel.is_set():
                    try:
                        task = self._queue.get_nowait()
                    except queue.Empty:
                        return
                    self._run(task, lease)
        except DevopsBenchError as exc:
            self._faults.append(str(exc))

    def outcome(self) -> BatchOutcome:
        """Give every task without a result one that says why; once, when the workers are done."""
        why = "interrupted" if self._cancel.is_set() else "; ".join(self._faults)
        for task in self._batch.tasks:
            if task.id not in self._results:
                self._keep(self._error(task, f"it was not started: {why}"))
        results = tuple(self._results[task.id] for task in self._batch.tasks)
        return BatchOutcome(results, tuple(dict.fromkeys(self._faults)))

    def _run(self, task: VerifyTask, lease: Lease) -> None:
        began = time.monotonic()
        self._reporter.started(task, lease.slot)
        try:
            result = run_task(
                task,
                lease.slot,
                self._batch.options,
                cancel=self._cancel,
                held=(lease.descriptor,),
            )
        except Exception as exc:  # noqa: BLE001 - a fault of ours must not lose the others
            result = self._error(task, f"it was not observed: {named(exc)}")
        self._keep(result)
        self._reporter.finished(result, time.monotonic() - began)

    def _error(self, task: VerifyTask, error: str) -> VerifyResult:
        return without_verdict(task.id, Status.ERROR, error, self._batch.options.compat)

    def _keep(self, result: VerifyResult) -> None:
        self._results[result.task_id] = result
        folder = self._batch.result_dir
        try:
            folder.mkdir(parents=True, exist_ok=True)  # a script may have removed it
            write_result(folder, result)
        except OSError as exc:
            reason = exc.strerror or str(exc)
            self._faults.append(
                f"the result of {result.task_id} could not be written to {folder}: {reason}"
            )
