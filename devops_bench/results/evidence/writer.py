"""Writes the evidence of a task while it is seen."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devops_bench.results.evidence.container import LineFile
from devops_bench.results.evidence.encode import Encoder
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.evidence.records import EvidenceRecord, EvidenceSink, Marked
from devops_bench.verification.spec import VerificationEntry

log = logging.getLogger(__name__)

BATCH_SEC: Final = 0.05
"""How long a record may wait for others: what a kill can cost."""
CLOSE_TIMEOUT_SEC: Final = 30.0
"""A disk that hangs must not hang the run."""


class EvidenceWriter:
    """The file in a task's folder, written by a thread of its own.

    A record is only queued by :meth:`record`, so that nobody who observes waits for the disk.
    A kill of the process costs what came in the last :data:`BATCH_SEC`, a failing machine what came
    since the last phase ended (the baseline; the turn and its fence; what is judged after it).

    Args:
        file: Where lines go.
        entries: The entries of the task: they say what is kept.

    Attributes:
        problem: Why the recording is cut, ``None`` while it is whole.
    """

    def __init__(self, file: LineFile, entries: Sequence[VerificationEntry]) -> None:
        self.problem: str | None = None
        self._file = file
        self._encoder = Encoder(entries)
        self._queue: queue.SimpleQueue[EvidenceRecord | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="evidence-writer", daemon=True)
        self._thread.start()

    def record(self, record: EvidenceRecord) -> None:
        """Queue a record; never raises, and never waits. After :meth:`close` it does nothing."""
        if not self._closing.is_set() and self.problem is None:
            self._queue.put(record)

    def close(self) -> None:
        """Write what is queued and end the file; bounded, never raises, safe to call twice."""
        with self._lock:
            if not self._closing.is_set():
                self._closing.set()
                self._queue.put(None)
        self._thread.join(CLOSE_TIMEOUT_SEC)
        if self._thread.is_alive():
            self._cut(f"it was not written within {CLOSE_TIMEOUT_SEC:g} s")

    def difference(self) -> str:
        """Return what others did to the file; see :class:`EvidenceSink`."""
        return self._file.difference()

    def _run(self) -> None:
        try:
            more = True
            while more:
                more = self._write(self._batch())
                self._closing.wait(BATCH_SEC)
            self._file.close()
        except OSError as exc:
            self._cut(exc.strerror or str(exc))
        except Exception as exc:
            log.exception("evidence_failed")
            self._cut(f"{type(exc).__name__}: {exc}")
        finally:
            self._file.abandon()

    def _batch(self) -> list[EvidenceRecord | None]:
        batch = [self._queue.get()]
        while not self._queue.empty():
            batch.append(self._queue.get())
        return batch

    def _write(self, batch: Sequence[EvidenceRecord | None]) -> bool:
        """Write a batch; return whether there may be more."""
        records = [record for record in batch if record is not None]
        self._file.write(self._encoder.batch(records))
        if any(isinstance(one, Marked) and one.mark == "phase" for one in records):
            # Here, where nobody waits: a sync may take as long as the disk likes.
            self._file.sync()
        return len(records) == len(batch)

    def _cut(self, problem: str) -> None:
        self.problem = f"the evidence is not whole: {problem}"
        log.warning("evidence_cut problem=%s", problem)


class CutSink:
    """Stands for a recording that could not even be begun.

    Args:
        problem: Why.
    """

    def __init__(self, problem: str) -> None:
        self.problem: str | None = problem

    def record(self, record: EvidenceRecord) -> None:
        """Do nothing."""

    def difference(self) -> str:
        """Return nothing: nothing was written."""
        return ""

    def close(self) -> None:
        """Do nothing."""


def open_evidence(folder: Path, entries: Sequence[VerificationEntry]) -> EvidenceSink:
    """Begin the recording of a task; never raises.

    Args:
        folder: The task's folder; it must exist, and hold no evidence yet.
        entries: The entries of the task: they say what is kept, and are written into the header.
    """
    try:
        file = LineFile(folder / EVIDENCE_NAME)
    except OSError as exc:
        log.warning("evidence_cut problem=%s", exc)
        return CutSink(f"the evidence could not be begun: {exc.strerror or exc}")
    return EvidenceWriter(file, entries)
