"""Loads task files: everything that is wrong with all of them at once, or tasks ready to run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.tasks import rule_ids
from devops_bench.tasks.access import read_access
from devops_bench.tasks.controls import ControlRules, read_controls
from devops_bench.tasks.entries import EntryRules, Mode, read_checks, read_entries
from devops_bench.tasks.find import find_tasks
from devops_bench.tasks.findings import Findings
from devops_bench.tasks.model import DEFAULT_TOTAL_BUDGET_SEC, Setup, Task
from devops_bench.tasks.schema import ENTRY_KEYS, SAFE_ID
from devops_bench.tasks.setup import read_manifest_files, read_mcp_servers, read_objects
from devops_bench.tasks.shape import check_shape, default_variables, used_part
from devops_bench.tasks.variables import Replacement, replace_variables
from devops_bench.tasks.yaml import DocPath, Document, parse, read_text

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How tasks are loaded.

    Attributes:
        mode: ``lint`` accepts what may still get a value or a meaning (unset variables, a missing
            prompt, check types of later versions, other clusters); ``run`` refuses it.
        variables: Values of ``--var``; they go before a task's defaults.
        built_in: Values of :data:`devops_bench.tasks.variables.BUILT_IN_VARIABLES`; a task's
            defaults go before them.
        total_budget_sec: Seconds of everything after the turn, for tasks that do not say their own.
        allow_invalid_entries: Entries that do not parse become warnings and
            :attr:`Task.entry_errors` instead of errors.
    """

    mode: Mode = "run"
    variables: Mapping[str, str] = field(default_factory=dict)
    built_in: Mapping[str, str] = field(default_factory=dict)
    total_budget_sec: float = DEFAULT_TOTAL_BUDGET_SEC
    allow_invalid_entries: bool = False


@dataclass(frozen=True, slots=True)
class LoadedParts:
    """What could be read of a file, whether or not there are errors in it: what lint looks at.

    Attributes:
        document: The file, with the places of its values.
        raw: Its keys that have an effect, variables replaced.
        task: Everything that could be read; of no use to a run unless it is the result's task.
        entries_path: Where the list of entries stands.
        open_paths: Values in which an unset variable still stands.
        declared: The names under ``variables:``.
    """

    document: Document
    raw: JsonObject
    task: Task
    entries_path: DocPath
    open_paths: frozenset[DocPath]
    declared: frozenset[str]


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came of one file.

    Attributes:
        task: The task; ``None`` exactly when there is an error among the diagnostics.
        diagnostics: Everything found, in the order of the text.
        text: The file's text, for showing the lines of the diagnostics.
        task_id: The id and its place, also of a task with errors.
        used_variables: Every variable that the task refers to.
        parts: What could be read, also of a task with errors; ``None`` when it is no mapping.
    """

    task: Task | None
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    task_id: tuple[str, Diagnostic] | None = None
    used_variables: frozenset[str] = frozenset()
    parts: LoadedParts | None = None


@dataclass(frozen=True, slots=True)
class LoadedTasks:
    """What came of all that was selected.

    Attributes:
        files: What came of each file, in order.
        diagnostics: Everything found in all of them, ids that are there twice included.
        skipped: YAML files in the folders that are not tasks.
        unreadable: One line for each path that cannot be read or holds no task.
    """

    files: Mapping[Path, LoadResult]
    diagnostics: tuple[Diagnostic, ...]
    skipped: int = 0
    unreadable: tuple[str, ...] = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Every task without errors."""
        return tuple(found.task for found in self.files.values() if found.task is not None)

    def raise_for_errors(self) -> None:
        """Raise when anything keeps the selection from running.

        Raises:
            InvalidInputError: A path cannot be read, or there is an error; with the diagnostics.
        """
        errors = sum(found.level is Level.ERROR for found in self.diagnostics)
        if self.unreadable:
            raise InvalidInputError("; ".join(self.unreadable), self.diagnostics)
        if errors:
            count = f"{errors} error{'s' if errors > 1 else ''}"
            raise InvalidInputError(f"{count} in the specs, nothing was run", self.diagnostics)


def load_tasks(paths: Iterable[Path], options: LoadOptions) -> LoadedTasks:
    """Load every task in ``paths``, files or folders; the same file twice is loaded once.

    Never raises: what cannot be read is in :attr:`LoadedTasks.unreadable`.
    """
    files: dict[Path, LoadResult] = {}
    unreadable: list[str] = []
    skipped = 0
    seen: set[Path] = set()
    for path in paths:
        try:
            found = find_tasks(path)
        except InvalidInputError as exc:
            unreadable.append(str(exc))
            continue
        skipped += found.skipped
        for file in found.files:
            real = file.resolve()
            if real in seen:
                continue
            seen.add(real)
            try:
                files[file] = _load_file(file, options)
            except InvalidInputError as exc:
                unreadable.append(str(exc))
    diagnostics = [one for result in files.values() for one in result.diagnostics]
    diagnostics += _repeated_ids(files.values())
    return LoadedTasks(files, tuple(diagnostics), skipped, tuple(unreadable))


def load_task(
    path: Path,
    *,
    variables: Mapping[str, str] = _NONE,
    mode: Mode = "run",
    built_in: Mapping[str, str] = _NONE,
    total_budget_sec: float = DEFAULT_TOTAL_BUDGET_SEC,
    allow_invalid_entries: bool = False,
) -> LoadResult:
    """Load one task file; the arguments are those of :class:`LoadOptions`.

    Raises:
        InvalidInputError: The file cannot be read. What is wrong inside of it is in the result.
    """
    options = LoadOptions(mode, variables, built_in, total_budget_sec, allow_invalid_entries)
    return _load_file(path, options)


def _load_file(path: Path, options: LoadOptions) -> LoadResult:
    try:
        text, diagnostics = read_text(path)
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise InvalidInputError(f"{path} cannot be read: {reason}") from exc
    if diagnostics:
        return LoadResult(None, tuple(diagnostics), text)
    return load_text(text, path, options)


def load_text(text: str, path: Path, options: LoadOptions) -> LoadResult:
    """Load a task from its text; ``path`` says where it stands, and its folder what it may read."""
    document, diagnostics = parse(text, path)
    if document is None:
        return LoadResult(None, tuple(diagnostics), text)
    findings = Findings(path, document)
    findings.extend(diagnostics)
    if not isinstance(document.value, dict):
        findings.add((), "a task is a mapping of keys to values", "begin it with id: my-task")
        return LoadResult(None, tuple(findings.ordered()), text)
    raw = used_part(document.value, findings)
    defaults = default_variables(raw.get("variables"), findings)
    variables = {**options.built_in, **defaults, **options.variables}
    replaced = _replaced(raw, variables, findings, options)
    raw = replaced.value if isinstance(replaced.value, dict) else {}
    task = _read(raw, path, findings, options, replaced)
    return LoadResult(
        task=None if findings.failed() else replace(task, variables=variables),
        diagnostics=tuple(findings.ordered()),
        text=text,
        task_id=_placed_id(raw, document, path),
        used_variables=frozenset(replaced.used),
        parts=LoadedParts(
            document=document,
            raw=raw,
            task=replace(task, variables=variables),
            entries_path=_entries_path(raw),
            open_paths=frozenset(replaced.open_paths),
            declared=frozenset(defaults),
        ),
    )


def _replaced(
    raw: JsonObject, variables: Mapping[str, str], findings: Findings, options: LoadOptions
) -> Replacement:
    """Replace everywhere but in the defaults themselves."""
    rest: JsonValue = {key: value for key, value in raw.items() if key != "variables"}
    result = replace_variables(rest, variables, allow_unset=options.mode == "lint")
    for fault in result.faults:
        findings.add(fault.path, fault.message, fault.hint, rule=rule_ids.VARIABLE_FORM)
    findings.opaque_paths = result.opaque_paths
    if "variables" in raw and isinstance(result.value, dict):
        result.value["variables"] = raw["variables"]
    return result


def _read(
    raw: JsonObject, path: Path, findings: Findings, options: LoadOptions, replaced: Replacement
) -> Task:
    """Read every part, whatever is wrong with the others; the task is only good without errors."""
    check_shape(raw, findings)
    prompt = _text(raw.get("prompt"))
    if options.mode == "run" and not prompt.strip():
        place = ("prompt",) if "prompt" in raw else ()
        findings.add(place, "the prompt is missing or blank", "say what the agent is to do")
    timeout, budget = _seconds(raw.get("timeout_sec")), _seconds(raw.get("verification_budget_sec"))
    folder = path.resolve().parent
    rules = EntryRules(
        mode=options.mode,
        allow_invalid=options.allow_invalid_entries,
        total_budget_sec=_total_budget_sec(raw, budget, options),
        folder=folder,
        open_paths=replaced.open_paths,
    )
    root = _entries_path(raw)
    listed = raw.get(str(root[0]))
    entries, errors = read_entries(listed, root, findings, rules) if listed else ((), ())
    setup = _setup(raw.get("setup"), folder, findings, rules, replaced)
    return Task(
        id=str(raw.get("id", raw.get("task_id"))),
        prompt=prompt,
        source=path.resolve(),
        name=_text(raw.get("name")),
        title=_text(raw.get("title")),
        description=_text(raw.get("description")),
        timeout_sec=timeout,
        verification_budget_sec=budget,
        setup=setup,
        requires=_texts(raw.get("requires")),
        controls=read_controls(
            raw.get("controls"),
            findings,
            ControlRules(folder, replaced.open_paths, _entry_names(listed)),
        ),
        mcp_servers=read_mcp_servers(raw.get("mcp_servers")),
        entries=entries,
        entry_errors=errors,
        access=read_access(raw, setup.objects, findings, replaced.open_paths),
    )


def _entries_path(raw: JsonObject) -> DocPath:
    return next(((key,) for key in ENTRY_KEYS if raw.get(key) is not None), ("",))


def _setup(
    raw: JsonValue, folder: Path, findings: Findings, rules: EntryRules, replaced: Replacement
) -> Setup:
    if not isinstance(raw, dict):
        return Setup()
    files, objects, items = read_manifest_files(
        raw.get("manifests"), folder, findings, replaced.open_paths
    )
    inline = read_objects(raw.get("objects"), findings)
    checks = raw.get("ready")
    ready = None
    if isinstance(checks, list):
        ready = read_checks(checks, ("setup", "ready"), findings, rules)
    return Setup((*objects, *inline), ready, files, items)


def _placed_id(raw: JsonObject, document: Document, path: Path) -> tuple[str, Diagnostic] | None:
    key = "id" if raw.get("id") is not None else "task_id"
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if not SAFE_ID.fullmatch(str(value)):
        return None
    place = document.place((key,))
    message = f"the id {str(value)!r} is already taken"
    return str(value), Diagnostic(
        message, "", path, place.line, place.column, key, rule=rule_ids.REPEATED_ID
    )


def _repeated_ids(results: Iterable[LoadResult]) -> list[Diagnostic]:
    first: dict[str, Diagnostic] = {}
    repeated: list[Diagnostic] = []
    for result in results:
        if result.task_id is None:
            continue
        name, place = result.task_id
        if name in first:
            hint = f"{first[name].file} has it; the ids of all selected tasks must differ"
            repeated.append(replace(place, hint=hint))
        first.setdefault(name, place)
    return repeated


def _total_budget_sec(raw: JsonObject, budget: float | None, options: LoadOptions) -> float:
    """Return what a soak must fit in: anything, while the task's own budget cannot be read."""
    if raw.get("verification_budget_sec") is None:
        return options.total_budget_sec
    return budget if budget is not None and budget > 0 else math.inf


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: JsonValue) -> frozenset[str]:
    return frozenset(_text(item) for item in value) if isinstance(value, list) else frozenset()


def _entry_names(listed: JsonValue) -> tuple[str, ...]:
    items = listed if isinstance(listed, list) else []
    return tuple(_text(item.get("name")) for item in items if isinstance(item, dict))


def _seconds(value: JsonValue) -> float | None:
    """Return a duration; what is not one was found before."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
