"""What ``check`` does."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from devops_bench.cli.errors import printable, render_diagnostics, use_color
from devops_bench.cli.output import write_quietly, write_report
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.limits import warn_once
from devops_bench.evalharness.recorded import LastRecorded, Rejudge
from devops_bench.evalharness.recordings import Recording, find_recordings
from devops_bench.evalharness.trial import EntryTrial, LeafTrial, explained, try_entry
from devops_bench.evalharness.watching import Assignment
from devops_bench.k8s.manifests import read_manifests
from devops_bench.k8s.offline import ManifestView
from devops_bench.results.evidence.redaction import needs_result
from devops_bench.results.model import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASSED
from devops_bench.tasks.loader import LoadedTasks, LoadOptions, load_tasks
from devops_bench.tasks.model import Task
from devops_bench.verification.base import ProbeContext
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

_ONLY_A_SERVER = "only a server can tell whether it would be watched"

LOOK_TIMEOUT_SEC = 30.0
"""What judging one entry may take."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What the user asked for; see the options of ``check``. One source is given.

    Attributes:
        spec: A file or a folder.
        entries: The names of the wanted entries; empty for all.
        kubeconfig: A cluster's.
        context: A cluster's.
        objects: A manifest.
        run: The folder of a run or of a task.
        variables: Values of ``--var``.
        watch: Go on until Ctrl-C.
        as_json: Print JSON.
    """

    spec: Path
    entries: tuple[str, ...] = ()
    kubeconfig: Path | None = None
    context: str | None = None
    objects: Path | None = None
    run: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    watch: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Tried:
    """One entry of one task, judged.

    Attributes:
        task_id: The task.
        trial: What the entry came to.
        watch: What would be watched, or why it would only be sampled, for the reader.
        watched: Whether it would be watched; ``None`` when that cannot be told.
    """

    task_id: str
    trial: EntryTrial
    watch: str
    watched: bool | None


def execute(request: CheckRequest) -> int:
    """Judge what was asked for, print it, and return the exit code.

    Raises:
        InvalidInputError: Something is wrong with the request.
        ClusterError: The cluster does not answer.
    """
    warn_once()
    tasks = _load(request)
    if request.run is not None:
        return _finish(request, _by_recording(request.run, tasks))
    if request.objects is not None:
        return _finish(request, _by_objects(request.objects, tasks))
    return _by_cluster(request, tasks)


def _by_objects(file: Path, tasks: list[Task]) -> list[Tried]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as exc:
        raise InvalidInputError(f"{file} cannot be read: {exc}") from exc
    view = ManifestView(read_manifests(text, file, unique=True), str(file))
    return [
        Tried(task.id, try_entry(entry, view, LOOK_TIMEOUT_SEC), _ONLY_A_SERVER, None)
        for task in tasks
        for entry in task.entries
    ]


def _by_recording(run: Path, tasks: list[Task]) -> list[Tried]:
    recordings = {item.header.task_id: item for item in find_recordings(run)}
    tried: list[Tried] = []
    for task in tasks:
        recording = recordings.get(task.id)
        if recording is None:
            known = ", ".join(sorted(recordings))
            raise InvalidInputError(f"{run} has no task {task.id!r}, only {known}")
        last = LastRecorded(recording.evidence, recording.entries)
        tried += [
            Tried(task.id, *_recorded(entry, recording, last), None) for entry in task.entries
        ]
    return tried


def _recorded(
    entry: VerificationEntry, recording: Recording, last: LastRecorded
) -> tuple[EntryTrial, str]:
    """Return what an entry came to on the last recorded state, and where that is from."""
    then = recording.entries.get(entry.name)
    written = next(
        (one.get("check") for one in recording.header.entries if one.get("name") == entry.name),
        None,
    )
    judge = Rejudge(entry.check, None if then is None else then.check, written, last.kept)
    nothing = VerificationResult.errored("the run recorded no result of it")
    result = judge.judge(last, last.results.get(entry.name, nothing))
    where = "this is a recording"
    if needs_result(entry.check) and not judge.lacks:
        where += ", which keeps of what it reads only what it came to"
    return explained(entry, result, judge.covered(last)), where


def _by_cluster(request: CheckRequest, tasks: list[Task]) -> int:
    from devops_bench.cli.checking_live import Live  # imports the connection

    with Live(request.kubeconfig, request.context) as live, _work_dir() as folder:
        context = ProbeContext(kubeconfig=request.kubeconfig, work_dir=folder)
        tried: list[Tried] = []
        for task in tasks:
            assignment = live.assignment(task.entries)
            for entry in task.entries:
                trial = try_entry(entry, live.source, LOOK_TIMEOUT_SEC, context)
                text, watched = _watch_text(entry, assignment)
                tried.append(Tried(task.id, trial, text, watched))
        code = _finish(request, tried)
        if not request.watch:
            return code
        return live.follow(tasks, tried, as_json=request.as_json)


def _watch_text(entry: VerificationEntry, assignment: Assignment) -> tuple[str, bool]:
    streams = assignment.watched.get(entry.name)
    if streams is None:
        why = assignment.sampled.get(entry.name, "there is no watcher")
        return f"would only be sampled: {why}", False
    return f"would be watched: {', '.join(streams)}", True


def _finish(request: CheckRequest, tried: list[Tried]) -> int:
    code = exit_code(one.trial.result.status for one in tried)
    if request.as_json:
        entries = [tried_json(one) for one in tried]
        indent = None if request.watch else 2
        write_report(json.dumps({"exit_code": code, "entries": entries}, indent=indent) + "\n")
    else:
        several = len({one.task_id for one in tried}) > 1
        write_report("\n".join(_lines(tried, several=several)) + "\n")
    return code


def exit_code(statuses: Iterable[str]) -> int:
    """Return the exit code: an error goes before a failure."""
    seen = set(statuses)
    if "error" in seen:
        return EXIT_NOT_EVALUATED
    return EXIT_FAILED if "fail" in seen else EXIT_PASSED


def tried_json(one: Tried) -> JsonObject:
    """Return what an entry came to for ``--output json``."""
    watch: JsonObject = {"watched": one.watched, "detail": one.watch}
    return {"task": one.task_id, **one.trial.as_json(), "watch": watch}


def _lines(tried: list[Tried], *, several: bool) -> Iterator[str]:
    for place, one in enumerate(tried):
        entry, result = one.trial.entry, one.trial.result
        if place:
            yield ""
        prefix = f"{one.task_id}: " if several else ""
        kind = " ".join(part for part in (entry.severity, entry.role) if part)
        yield f"{result.status.upper():5} {prefix}{printable(entry.name)}"
        yield f"      {kind}, {entry.resolved_mode}; {one.watch}"
        for leaf in one.trial.leaves:
            yield from _leaf_lines(leaf, alone=len(one.trial.leaves) == 1)
        if len(one.trial.leaves) != 1:
            yield f"      together: {printable(result.reason)}"


def _leaf_lines(leaf: LeafTrial, *, alone: bool) -> Iterator[str]:
    indent = " " * 6
    if not alone:
        yield f"{indent}- {leaf.leaf.type}" + (f" {leaf.leaf.name!r}" if leaf.leaf.name else "")
        indent = " " * 8
    data = leaf.as_json()
    queries = data["queries"]
    if isinstance(queries, list) and queries:
        yield f"{indent}reads:   {printable(', '.join(map(str, queries)))}"
        if leaf.object_count is None:
            yield f"{indent}matched: unknown"
        else:
            more = leaf.object_count - len(leaf.objects)
            names = ", ".join(leaf.objects) + (f", and {more} more" if more else "")
            yield f"{indent}matched: {leaf.object_count} ({printable(names) or 'nothing'})"
    path = f"{data['path']} = " if data["path"] else ""
    if leaf.values:
        yield f"{indent}found:   {printable(path + ', '.join(leaf.values))}"
    if leaf.comparison:
        asked = f"{data['path']} " if data["path"] else ""
        yield f"{indent}asked:   {printable(asked + leaf.comparison)}"
    if leaf.result is None:
        yield f"{indent}came to: not judged, since the sequence stopped before it"
    else:
        yield f"{indent}came to: {leaf.result.status}: {printable(leaf.result.reason)}"


def _load(request: CheckRequest) -> list[Task]:
    loaded = load_tasks(
        [request.spec],
        LoadOptions(
            mode="run",
            variables=request.variables,
            built_in={"NAMESPACE": "default", "RUN_ID": "check", "CLUSTER_NAME": "check"},
        ),
    )
    loaded.raise_for_errors()
    write_quietly(render_diagnostics(loaded.diagnostics, color=use_color(sys.stderr)), sys.stderr)
    return _chosen(request, loaded)


def _chosen(request: CheckRequest, loaded: LoadedTasks) -> list[Task]:
    wanted = set(request.entries)
    known = [entry.name for task in loaded.tasks for entry in task.entries]
    for name in request.entries:
        if name not in known:
            names = ", ".join(repr(one) for one in known) or "none"
            raise InvalidInputError(f"--entry {name!r}: there is no such entry, only {names}")
    if not known:
        raise InvalidInputError(f"{request.spec} has no entries")
    if not wanted:
        return list(loaded.tasks)
    return [
        replace(task, entries=tuple(e for e in task.entries if e.name in wanted))
        for task in loaded.tasks
        if any(e.name in wanted for e in task.entries)
    ]


@contextlib.contextmanager
def _work_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="devops-bench-check-") as name:
        yield Path(name)
