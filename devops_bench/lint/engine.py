"""Lints specs: loads them, lets every rule look, takes away what is ignored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.manifests import read_manifests
from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.ignoring import about_ignores, read_ignores, without_ignored
from devops_bench.lint.kinds import Kinds, common_kinds, kinds_of
from devops_bench.lint.model import RULES, Finding, Rule
from devops_bench.lint.schemas import DEFAULT_VERSION, load_definitions
from devops_bench.lint.subject import Subject
from devops_bench.tasks.find import is_task
from devops_bench.tasks.loader import LoadedParts, LoadedTasks, LoadOptions, LoadResult, load_tasks
from devops_bench.tasks.yaml import format_path

NO_SCHEMAS: Final = (
    "Kubernetes' schemas are not installed: paths and types were not looked up (DB101, DB102, "
    "DB104, DB109, parts of DB202); install devops-bench[lint]"
)


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What is looked for.

    Attributes:
        select: Ids of rules, or how they begin; only those are looked for. Empty for all. What
            keeps a spec from running is always said.
        ignore: Ids of rules, or how they begin, that are not looked for.
        kubernetes_version: Of the schemas.
        crds: Files with CustomResourceDefinitions.
        variables: Values of variables, as ``run`` would get them with ``--var``.
        tasks_only: Pass over files that are no tasks, as is done in folders, instead of reading
            each as one.
    """

    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    kubernetes_version: str = DEFAULT_VERSION
    crds: Sequence[Path] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    tasks_only: bool = False


@dataclass(frozen=True, slots=True)
class LintReport:
    """What was found.

    Attributes:
        files: The specs that were looked at.
        diagnostics: Every finding, by file and place.
        ignored: Findings that comments ignore.
        skipped: YAML files that are no specs.
        unreadable: One line for each path that cannot be read or holds no task.
        kubernetes_version: Of the schemas that were used; ``None`` without any.
        notes: What the reader has to know about what was not looked at.
    """

    files: tuple[Path, ...]
    diagnostics: tuple[Diagnostic, ...]
    ignored: tuple[Diagnostic, ...] = ()
    skipped: int = 0
    unreadable: tuple[str, ...] = ()
    kubernetes_version: str | None = None
    notes: tuple[str, ...] = ()


def lint_paths(paths: Iterable[Path], options: LintOptions) -> LintReport:
    """Lint every task in ``paths``, files or folders.

    Raises:
        InvalidInputError: A rule that there is not, or one that cannot be ignored; a version
            without schemas; a file of CustomResourceDefinitions that cannot be read.
    """
    wanted = _wanted(options)
    kinds = _kinds(options)
    selected, passed_over = _selected(paths, options)
    loaded = load_tasks(selected, LoadOptions(mode="lint", variables=options.variables))
    kept: list[Diagnostic] = []
    ignored: list[Diagnostic] = []
    outside = _outside_of(loaded)
    for file, result in loaded.files.items():
        found = [*result.diagnostics, *outside.get(file, ())]
        if result.parts is not None:
            looked = _looked_at(result.parts, file, kinds, result.used_variables, wanted)
            found += _not_following(looked, result.diagnostics)
        found = [one for one in found if _is_wanted(one, wanted)]
        here, taken = _after_ignoring(found, result, file, wanted)
        kept += sorted(here, key=lambda one: (one.file != file, one.line, one.column, one.rule))
        ignored += taken
    return LintReport(
        files=tuple(loaded.files),
        diagnostics=tuple(kept),
        ignored=tuple(ignored),
        skipped=loaded.skipped + passed_over,
        unreadable=loaded.unreadable,
        kubernetes_version=kinds.version,
        notes=() if kinds.version is not None else (NO_SCHEMAS,),
    )


def _selected(paths: Iterable[Path], options: LintOptions) -> tuple[list[Path], int]:
    """Return the paths to load, and how many files are no tasks."""
    given = list(paths)
    if not options.tasks_only:
        return given, 0
    kept = [path for path in given if not path.is_file() or _may_be_task(path)]
    return kept, len(given) - len(kept)


def _may_be_task(file: Path) -> bool:
    try:
        return is_task(file)
    except OSError:  # the loader says why
        return True


def _outside_of(loaded: LoadedTasks) -> dict[Path, list[Diagnostic]]:
    """Return what was found between files (ids that are there twice), by the file it stands in."""
    within = {id(one) for result in loaded.files.values() for one in result.diagnostics}
    found: dict[Path, list[Diagnostic]] = {}
    for one in loaded.diagnostics:
        if id(one) not in within and one.file is not None:
            found.setdefault(one.file, []).append(one)
    return found


def _looked_at(
    parts: LoadedParts,
    file: Path,
    kinds: Kinds,
    used: frozenset[str],
    wanted: Mapping[str, Rule],
) -> list[Diagnostic]:
    own = kinds.with_definitions(parts.task.setup.objects)
    subject = Subject(parts, own, used)
    return [
        _placed(one, rule, parts, file)
        for rule in wanted.values()
        if rule.look is not None
        for one in rule.look(subject)
    ]


def _not_following(found: list[Diagnostic], errors: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield what is not about a value that could not even be read as it was meant."""
    unread = {(one.line, one.column) for one in errors if one.level is Level.ERROR}
    return (one for one in found if (one.line, one.column) not in unread)


def _placed(found: Finding, rule: Rule, parts: LoadedParts, file: Path) -> Diagnostic:
    place = parts.document.place(found.path, key=found.key)
    return Diagnostic(
        found.message,
        found.hint,
        file,
        place.line,
        place.column,
        format_path(found.path),
        found.level or rule.level,
        rule.id,
    )


def _after_ignoring(
    found: list[Diagnostic], result: LoadResult, file: Path, wanted: Mapping[str, Rule]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    if result.parts is None:
        return found, []
    ignores = read_ignores(result.text, result.parts.document)
    own = [one for one in found if one.file == file]
    others = [one for one in found if one.file != file]
    kept, ignored = without_ignored(own, ignores)
    about = (replace(one, file=file) for one in about_ignores(ignores, wanted))
    return [*kept, *others, *(one for one in about if one.rule in wanted)], ignored


def _wanted(options: LintOptions) -> dict[str, Rule]:
    """Return the rules that are looked for, by id."""
    rules = {rule.id: rule for rule in all_rules()}
    for text in (*options.select, *options.ignore):
        if not text:  # every id begins so
            raise InvalidInputError(
                "an empty id names no rule: give one (DB203), or how some begin (DB2)"
            )
        if not any(name.startswith(text) for name in rules):
            raise InvalidInputError(f"there is no rule that begins with {text!r}")
    for text in options.ignore:
        if text in RULES and RULES[text].is_load_error:
            raise InvalidInputError(f"{text} keeps a spec from running and cannot be ignored")
    return {
        name: rule
        for name, rule in rules.items()
        if rule.is_load_error
        or (
            name.startswith(tuple(options.select) or "")
            and not (options.ignore and name.startswith(tuple(options.ignore)))
        )
    }


def _is_wanted(found: Diagnostic, wanted: Mapping[str, Rule]) -> bool:
    # An error of the loader is said whatever its rule: a run would refuse the spec.
    return found.rule in wanted or (found.level is Level.ERROR and found.rule not in RULES)


def _kinds(options: LintOptions) -> Kinds:
    definitions = load_definitions(options.kubernetes_version)
    if definitions is None:
        kinds = common_kinds()
    else:
        kinds = kinds_of(definitions, options.kubernetes_version)
    objects: list[JsonObject] = []
    for file in options.crds:
        try:
            objects += read_manifests(file.read_text(encoding="utf-8"), file)
        except (OSError, UnicodeDecodeError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
            raise InvalidInputError(f"{file} cannot be read: {reason}") from exc
    return kinds.with_definitions(objects)
