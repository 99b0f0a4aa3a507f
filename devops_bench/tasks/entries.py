"""The entries of a task file: parsed by the verification package, placed in the file here."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from devops_bench.core.diagnostics import Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.paths import resolve_below
from devops_bench.k8s.names import is_dns_subdomain
from devops_bench.k8s.secrets import may_mean_secrets
from devops_bench.tasks import rule_ids
from devops_bench.tasks.findings import Findings
from devops_bench.tasks.model import EntryError
from devops_bench.tasks.yaml import DocPath, format_path
from devops_bench.verification.probes.verify_script import VerifyScript
from devops_bench.verification.problems import ProblemKind
from devops_bench.verification.spec import (
    EntryProblem,
    VerificationEntry,
    parse_entries_located,
)
from devops_bench.verify_protocol.runner import DEFAULT_TIMEOUT_SEC
from devops_bench.verify_protocol.task import SCRIPT_NAME

Mode: TypeAlias = Literal["lint", "run"]


_RULES_BY_KIND: Final[Mapping[ProblemKind, str]] = {
    "unknown_type": rule_ids.UNKNOWN_CHECK_TYPE,
    "unknown_field": rule_ids.UNKNOWN_FIELD,
    "repeated_name": rule_ids.REPEATED_NAME,
    "path_form": rule_ids.PATH_FORM,
    "pattern_form": rule_ids.PATTERN_FORM,
    "selector_form": rule_ids.SELECTOR_FORM,
}


@dataclass(frozen=True, slots=True)
class EntryRules:
    """How entries are taken.

    Attributes:
        mode: ``lint`` warns of what a later version or a plug-in may know; ``run`` refuses it.
        allow_invalid: Entries that do not parse are kept as errors of the report.
        total_budget_sec: Seconds that a soak, and a script, must fit in.
        folder: The spec's folder, which the paths of checks must not leave.
        open_paths: Values with an unset variable: such a path is not looked for.
    """

    mode: Mode
    allow_invalid: bool
    total_budget_sec: float
    folder: Path
    open_paths: Collection[DocPath] = frozenset()


def read_entries(
    raw: JsonValue, root: DocPath, findings: Findings, rules: EntryRules
) -> tuple[tuple[VerificationEntry, ...], tuple[EntryError, ...]]:
    """Return the entries of ``raw`` and those that do not parse; everything found is added.

    Args:
        raw: The list as the file has it, variables replaced.
        root: Where it stands in the file.
        findings: Gets what is wrong.
        rules: How entries are taken.
    """
    for index, item in enumerate(raw if isinstance(raw, list) else []):
        if isinstance(item, dict):
            _resolve_task_dirs(item.get("check"), (*root, index, "check"), findings, rules)
    entries, problems = parse_entries_located(raw)
    if rules.mode == "run":  # what a run says is written down, and variables are replaced by then
        problems = tuple(_without_secrets(problem, raw) for problem in problems)
    for problem in problems:
        _add(problem, (*root, *problem.loc), findings, rules)
    unread = {problem.index for problem in problems if problem.kind != "other_cluster"}
    for index, item in enumerate(raw if isinstance(raw, list) else []):
        if isinstance(item, dict):
            _look_at(item.get("check"), (*root, index, "check"), findings)
            if not (rules.allow_invalid and index in unread):  # such an entry is never judged
                _fits_budget(item, (*root, index), findings, rules)
                _is_of_this_cluster(item.get("check"), (*root, index, "check"), findings, rules)
    return entries, _entry_errors(problems) if rules.allow_invalid else ()


def read_checks(
    raw: Sequence[JsonValue], root: DocPath, findings: Findings, rules: EntryRules
) -> tuple[VerificationEntry, ...]:
    """Return ``setup.ready``: each check as an objective in converge mode, named by its place."""
    for index, check in enumerate(raw):
        _resolve_task_dirs(check, (*root, index), findings, rules)
    wrapped: list[JsonValue] = [
        {"name": f"ready[{index}]", "role": "objective", "mode": "converge", "check": check}
        for index, check in enumerate(raw)
    ]
    entries, problems = parse_entries_located(wrapped)
    strict = replace(rules, allow_invalid=False)
    for problem in problems:
        _add(problem, (*root, *problem.loc[:1], *problem.loc[2:]), findings, strict)
    for index, check in enumerate(raw):
        _look_at(check, (*root, index), findings)
        _is_of_this_cluster(check, (*root, index), findings, rules)
    return entries


def _add(problem: EntryProblem, path: DocPath, findings: Findings, rules: EntryRules) -> None:
    level, message = Level.ERROR, problem.message
    if problem.kind == "other_cluster":
        if rules.mode == "lint":
            return
    elif rules.allow_invalid:
        level = Level.WARNING
    elif problem.kind == "unknown_type" and rules.mode == "lint":
        level, message = Level.WARNING, f"{message} yet"
    field = path[-1] if path else ""
    is_field = len(problem.loc) > 1 and isinstance(field, str)
    if is_field and message.startswith(("is ", "should ", "belongs ")):
        message = f"{field} {message}"
    rule = _rule_of(problem)
    findings.add(path, message, problem.hint, level, key=rule == rule_ids.UNKNOWN_FIELD, rule=rule)


def _without_secrets(problem: EntryProblem, raw: JsonValue) -> EntryProblem:
    """Return a problem without what a check of Secrets compares with: messages quote it."""
    node: JsonValue = raw
    for step in problem.loc[:-1]:
        if isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            node = node.get(str(step)) if isinstance(node, dict) else None
    kind = node.get("kind") if isinstance(node, dict) else None
    if problem.loc[-1:] in (("path",), ("value",)) and may_mean_secrets(str(kind)):
        return replace(problem, message=_HIDDEN, hint="lint shows it")
    return problem


_HIDDEN: Final = "is not valid; what is wrong is not quoted, since the check reads Secrets"


def _rule_of(problem: EntryProblem) -> str:
    """Return the stable id of what ``problem`` is."""
    return _RULES_BY_KIND.get(problem.kind, rule_ids.ENTRY_FIELD)


def _entry_errors(problems: Sequence[EntryProblem]) -> tuple[EntryError, ...]:
    """Return one error per entry that was not read, with every fault of it."""
    reasons: dict[int, tuple[str, list[str]]] = {}
    for problem in problems:
        if problem.kind == "other_cluster":
            continue
        place = format_path(problem.loc[1:])
        text = f"{place}: {problem.message}" if place else problem.message
        reasons.setdefault(problem.index, (problem.name, []))[1].append(text)
    return tuple(EntryError(name, "; ".join(texts)) for name, texts in reasons.values())


def _fits_budget(entry: JsonObject, path: DocPath, findings: Findings, rules: EntryRules) -> None:
    """What cannot end within the budget could only ever be an error.

    Judged on what the file has, so that it is said also of an entry with other faults.
    """
    nodes = [node for node, _ in _nodes(entry.get("check"), path)]
    scripts = [node for node in nodes if node.get("type") == "verify_script"]
    seconds = sum(
        _seconds(script.get("timeout_sec", DEFAULT_TIMEOUT_SEC)) + VerifyScript.ending_sec
        for script in scripts
    )
    if seconds > rules.total_budget_sec:
        findings.add(
            (*path, "check"),
            f"its verify_script may take {seconds:g} s to its end, more than the "
            f"{rules.total_budget_sec:g} s that everything after the turn may take",
            "shorten its timeout_sec, or raise verification_budget_sec",
            rule=rule_ids.WINDOW_OVER_BUDGET,
        )
    if entry.get("mode") != "hold" or entry.get("role") == "safeguard":
        return
    needed = _seconds(entry.get("hold_settle_sec")) + _seconds(entry.get("hold_window_sec"))
    if needed > rules.total_budget_sec:
        findings.add(
            (*path, "hold_window_sec"),
            f"settle and window take {needed:g} s, more than the {rules.total_budget_sec:g} s "
            "that everything after the turn may take",
            "shorten it, or raise verification_budget_sec",
            rule=rule_ids.WINDOW_OVER_BUDGET,
        )


def _seconds(value: JsonValue) -> float:
    """Return a duration as the model reads it; one that it refuses counts as none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0.0
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _is_of_this_cluster(
    check: JsonValue, path: DocPath, findings: Findings, rules: EntryRules
) -> None:
    """Refuse, in a run, a check on another cluster, also in a check with other faults."""
    for node, place in _nodes(check, path) if rules.mode == "run" else ():
        for field in ("kubeconfig", "context"):
            value = node.get(field)
            if isinstance(value, str):
                message = f"the check names another cluster ({field}: {value[:80]})"
                hint = "a run judges only the cluster that it prepared"
                findings.add((*place, field), message, hint, rule=rule_ids.ENTRY_FIELD)


def _resolve_task_dirs(
    check: JsonValue, path: DocPath, findings: Findings, rules: EntryRules
) -> None:
    """Replace the task folders of scripts by their real paths, below the spec's folder."""
    for node, place in _nodes(check, path):
        name, at = node.get("task_dir"), (*place, "task_dir")
        if node.get("type") != "verify_script" or not isinstance(name, str) or not name:
            continue
        if at in rules.open_paths:
            continue
        try:
            folder = resolve_below(rules.folder, name)
        except InvalidInputError as exc:
            findings.add(at, str(exc), "name a folder below the spec's", rule=rule_ids.ENTRY_FIELD)
            continue
        if not (folder / SCRIPT_NAME).is_file():
            message = f"there is no {name}/{SCRIPT_NAME}"
            findings.add(at, message, "name a task's folder", rule=rule_ids.ENTRY_FIELD)
        node["task_dir"] = str(folder)


def _look_at(check: JsonValue, path: DocPath, findings: Findings) -> None:
    """Warn of what loads, and is hardly what was meant."""
    for node, place in _nodes(check, path):
        selects = "resource_name" in node or "selector" in node
        name = node.get("name")
        if node.get("type") != "resource_property" or not isinstance(name, str) or selects:
            continue
        if is_dns_subdomain(name):  # anything else is a title
            findings.add(
                (*place, "name"),
                "name is only a label: the check reads every object of the kind in the namespace",
                "select the object with resource_name, or leave name out",
                Level.WARNING,
                key=True,
                rule=rule_ids.NAME_SELECTS_NOTHING,
            )


def _nodes(check: JsonValue, path: DocPath) -> Iterator[tuple[JsonObject, DocPath]]:
    if not isinstance(check, dict):
        return
    yield check, path
    children = check.get("checks")
    for index, child in enumerate(children if isinstance(children, list) else []):
        yield from _nodes(child, (*path, "checks", index))
