"""What ``replay`` does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devops_bench.cli.errors import printable, printable_lines, render_diagnostics, use_color
from devops_bench.cli.output import write_quietly, write_report
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.recordings import (
    Recording,
    find_recordings,
    unreadable_recordings,
)
from devops_bench.evalharness.replay import Difference, Replayed, replay
from devops_bench.results.model import RunResult, TaskResult
from devops_bench.results.summary import render_task
from devops_bench.tasks.loader import LoadOptions, load_tasks
from devops_bench.tasks.model import Task


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What the user asked for; see the options of ``replay``.

    Attributes:
        run: The folder of a run or of a task.
        spec: Another spec, or ``None``.
        variables: Values of ``--var``.
        as_json: Print JSON.
    """

    run: Path
    spec: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    as_json: bool = False


def execute(request: ReplayRequest) -> int:
    """Judge again, print it, and return the exit code.

    Raises:
        InvalidInputError: The run or the spec cannot be read.
    """
    recordings = find_recordings(request.run)
    unreadable = unreadable_recordings(request.run)
    tasks = {} if request.spec is None else _tasks(request, request.spec, recordings)
    replayed: list[Replayed] = []
    for recording in recordings:
        task = tasks.get(recording.header.task_id)
        if task is None:
            replayed.append(replay(recording))
        else:
            replayed.append(replay(recording, task.entries, task.entry_errors))
    result = RunResult(
        run_id=recordings[0].header.run_id,
        tasks=[_task_result(one) for one in replayed],
        harness_version=recordings[0].header.harness_version,
        # What cannot be judged again counts as not evaluated.
        planned=[*(recording.header.task_id for recording in recordings), *unreadable],
    )
    if request.as_json:
        body = {**_as_json(result, replayed), "unreadable": dict(unreadable)}
        write_report(json.dumps(body, indent=2) + "\n")
    else:
        lines = [*_lines(result, replayed), *(f"\n{text}" for text in unreadable.values())]
        write_report(printable_lines("\n".join(lines)) + "\n")
    return result.exit_code


def _tasks(request: ReplayRequest, spec: Path, recordings: list[Recording]) -> dict[str, Task]:
    first = recordings[0]
    cluster = first.result.cluster if first.result is not None else None
    loaded = load_tasks(
        [spec],
        LoadOptions(
            mode="run",
            variables=request.variables,
            built_in={
                "NAMESPACE": "default",
                "RUN_ID": first.header.run_id,
                "CLUSTER_NAME": cluster.name if cluster is not None else "",
            },
            allow_invalid_entries=True,
        ),
    )
    loaded.raise_for_errors()
    write_quietly(render_diagnostics(loaded.diagnostics, color=use_color(sys.stderr)), sys.stderr)
    tasks = {task.id: task for task in loaded.tasks}
    recorded = [recording.header.task_id for recording in recordings]
    if not tasks.keys() & set(recorded):
        raise InvalidInputError(
            f"{spec} has the task {', '.join(tasks) or '(none)'}, and the run {', '.join(recorded)}"
        )
    return tasks


def _task_result(one: Replayed) -> TaskResult:
    """Return a result in which what is not judged again is as it was."""
    conclusion = one.conclusion
    was = one.recording.result or TaskResult(id=one.recording.header.task_id, status="error")
    return was.model_copy(
        update={
            "status": conclusion.status,
            "outcome": conclusion.outcome,
            "scores": conclusion.scores,
            "reason": conclusion.reason,
            "verification_report": list(one.rows),
        }
    )


def _as_json(result: RunResult, replayed: list[Replayed]) -> JsonObject:
    tasks: list[JsonValue] = []
    for task, one in zip(result.tasks, replayed, strict=True):
        dumped: JsonObject = task.model_dump(mode="json")
        tasks.append(
            {
                "id": task.id,
                "status": task.status,
                "outcome": task.outcome,
                "scores": dumped["scores"],
                "reason": task.reason,
                "verification_report": dumped["verification_report"],
                "recorded_status": _recorded_status(one),
                "differences": None
                if one.differences is None
                else [_difference_json(item) for item in one.differences],
                "lacks": {name: list(texts) for name, texts in one.lacks.items() if texts},
                "notes": list(one.notes),
            }
        )
    return {"run_id": result.run_id, "exit_code": result.exit_code, "tasks": tasks}


def _recorded_status(one: Replayed) -> str | None:
    return None if one.recording.result is None else one.recording.result.status


def _difference_json(item: Difference) -> JsonObject:
    def side(pair: tuple[str, str] | None) -> JsonValue:
        return None if pair is None else {"status": pair[0], "reason": pair[1]}

    return {
        "entry": item.entry,
        "was": side(item.was),
        "now": side(item.now),
        "only_details": item.only_details,
    }


def _lines(result: RunResult, replayed: list[Replayed]) -> Iterator[str]:
    yield f"Run {result.run_id}, judged again"
    for task, one in zip(result.tasks, replayed, strict=True):
        yield ""
        yield render_task(task).rstrip("\n")
        for note in one.notes:
            yield f"  note: {printable(note)}"
        yield from _difference_lines(one)


def _difference_lines(one: Replayed) -> Iterator[str]:
    if one.differences is None:
        yield "  the run wrote no result to compare with"
        return
    if not one.differences:
        yield "  no difference: every row is as the run wrote it"
        return
    was = _recorded_status(one)
    if was != one.conclusion.status:
        yield f"  the task was {str(was).upper()} and is {one.conclusion.status.upper()}"
    yield "  differences:"
    for item in one.differences:
        yield f"    {item.entry}: {_change(item)}"
        if item.only_details:
            continue
        for word, pair in (("was", item.was), ("now", item.now)):
            if pair is not None:
                yield f"      {word}: {printable(pair[1])}"


def _change(item: Difference) -> str:
    if item.was is None:
        return f"new, {item.now[0] if item.now else ''}"
    if item.now is None:
        return f"was {item.was[0]}, is no more"
    if item.only_details:
        return f"{item.now[0]} as before, in other numbers"
    return f"was {item.was[0]}, is {item.now[0]}"
