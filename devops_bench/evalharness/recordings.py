"""Finding what runs recorded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from devops_bench.core.errors import InvalidInputError
from devops_bench.results.evidence.reader import EVIDENCE_NAME, Evidence, read_evidence
from devops_bench.results.evidence.records import Header
from devops_bench.results.model import TaskResult
from devops_bench.results.writer import RESULT_NAME, read_result
from devops_bench.verification.spec import VerificationEntry, parse_entries


@dataclass(frozen=True, slots=True)
class Recording:
    """The recording of one task.

    Attributes:
        folder: The task's folder.
        evidence: What was recorded.
        header: Its first record.
        entries: The recorded entries that can be read here, by name, in the spec's order.
        unreadable: Why a recorded entry cannot be read here (a plug-in is not installed), by name.
        result: What the run wrote about the task; ``None`` when it was killed before.
    """

    folder: Path
    evidence: Evidence
    header: Header
    entries: dict[str, VerificationEntry]
    unreadable: dict[str, str]
    result: TaskResult | None


def find_recordings(path: Path) -> list[Recording]:
    """Return the recordings below a run's folder, or the one of a task's folder.

    Of a run's folder, tasks of which nothing can be read are left out;
    :func:`unreadable_recordings` names them.

    Raises:
        InvalidInputError: There is none, or nothing can be read from any of them.
    """
    folders = [path] if (path / EVIDENCE_NAME).is_file() else _task_folders(path)
    if not folders:
        raise InvalidInputError(
            f"{path} is not the folder of a run, nor of a task of one: no {EVIDENCE_NAME} is in "
            "it, nor in a folder of it"
        )
    readable = [found for folder in folders if isinstance(found := _recording(folder), Recording)]
    if not readable:
        raise InvalidInputError("; ".join(unreadable_recordings(path).values()))
    return readable


def unreadable_recordings(path: Path) -> dict[str, str]:
    """Return why nothing can be read of some tasks, by the names of their folders."""
    folders = [path] if (path / EVIDENCE_NAME).is_file() else _task_folders(path)
    found = {folder.name: _recording(folder) for folder in folders}
    return {name: why for name, why in found.items() if isinstance(why, str)}


def _task_folders(path: Path) -> list[Path]:
    try:
        return sorted(item.parent for item in path.glob(f"*/{EVIDENCE_NAME}"))
    except OSError as exc:
        raise InvalidInputError(f"{path} cannot be read: {exc.strerror}") from exc


def _recording(folder: Path) -> Recording | str:
    """Return a recording, or why nothing can be read of it."""
    try:
        evidence = read_evidence(folder)
    except OSError as exc:
        return f"{folder / EVIDENCE_NAME}: {exc.strerror}"
    if evidence.header is None:
        why = evidence.damage or "the task ended before its cluster was there"
        return f"nothing can be read from {folder / EVIDENCE_NAME}: {why}"
    entries, errors = parse_entries(list(evidence.header.entries))
    return Recording(
        folder=folder,
        evidence=evidence,
        header=evidence.header,
        entries={entry.name: entry for entry in entries},
        unreadable={error["name"]: error["reason"] for error in errors},
        result=_result(folder, evidence.header.task_id),
    )


def _result(folder: Path, task_id: str) -> TaskResult | None:
    run_dir = folder.absolute().parent
    if not (run_dir / RESULT_NAME).is_file():
        return None
    try:
        tasks = read_result(run_dir).tasks
    except OSError as exc:
        raise InvalidInputError(f"{run_dir / RESULT_NAME} cannot be read: {exc.strerror}") from exc
    return next((task for task in tasks if task.id == task_id), None)
