"""``controls`` of a task file: agents whose result is known, each a shell script."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.tasks.findings import Findings, did_you_mean
from devops_bench.tasks.model import Controls, ControlScript, Mutant, Partial
from devops_bench.tasks.setup import file_below
from devops_bench.tasks.yaml import DocPath


@dataclass(frozen=True, slots=True)
class ControlRules:
    """What controls are read by.

    Attributes:
        folder: The spec's folder; a script outside of it is never opened.
        open_paths: Values with an unset variable: such a script is not looked for.
        entry_names: The names of the task's entries, in their order.
    """

    folder: Path
    open_paths: Collection[DocPath]
    entry_names: tuple[str, ...]


def read_controls(raw: JsonValue, findings: Findings, rules: ControlRules) -> Controls:
    """Return ``controls``; what is wrong, and not found by the shape alone, is added.

    Args:
        raw: ``controls`` as the file has it; what has another shape is passed over.
        findings: Gets what is wrong.
        rules: What they are read by.
    """
    if not isinstance(raw, dict):
        return Controls()
    return Controls(
        oracle=_script(raw.get("oracle"), ("controls", "oracle"), findings, rules),
        partial=_partial(raw.get("partial"), findings, rules),
        mutants=_mutants(raw.get("mutants"), findings, rules),
    )


def _script(
    raw: JsonValue, path: DocPath, findings: Findings, rules: ControlRules
) -> ControlScript | None:
    if not isinstance(raw, dict):
        return None
    script, run = raw.get("script"), raw.get("run")
    if isinstance(run, str):
        return ControlScript(run=run)
    where: DocPath = (*path, "script")
    if not isinstance(script, str) or where in rules.open_paths:
        return None
    file = file_below(rules.folder, script, where, findings)
    return ControlScript(script=file) if file is not None else None


def _partial(raw: JsonValue, findings: Findings, rules: ControlRules) -> Partial | None:
    does = _script(raw, ("controls", "partial"), findings, rules)
    score = raw.get("score") if isinstance(raw, dict) else None
    if does is None or not isinstance(score, dict):
        return None
    least, most = _number(score.get("min")), _number(score.get("max"))
    return Partial(does, least, most) if least is not None and most is not None else None


def _mutants(raw: JsonValue, findings: Findings, rules: ControlRules) -> tuple[Mutant, ...]:
    mutants: list[Mutant] = []
    names: set[str] = set()
    for index, item in enumerate(raw if isinstance(raw, list) else []):
        path: DocPath = ("controls", "mutants", index)
        if not isinstance(item, dict):
            continue
        name = item.get("name")
        if isinstance(name, str) and name in names:
            findings.add((*path, "name"), f"another mutant is named {name!r}", "name it otherwise")
        does = _script(item, path, findings, rules)
        caught_by = _caught_by(item, path, findings, rules)
        if isinstance(name, str) and does is not None:
            names.add(name)
            mutants.append(Mutant(name, does, caught_by))
    return tuple(mutants)


def _caught_by(
    item: JsonObject, path: DocPath, findings: Findings, rules: ControlRules
) -> tuple[str, ...]:
    listed = item.get("caught_by")
    names: list[str] = []
    for index, name in enumerate(listed if isinstance(listed, list) else []):
        where: DocPath = (*path, "caught_by", index)
        if not isinstance(name, str) or where in rules.open_paths:
            continue
        if name not in rules.entry_names:
            hint = did_you_mean(name, rules.entry_names)
            findings.add(where, f"no entry is named {name!r}", hint)
        names.append(name)
    return tuple(names)


def _number(value: JsonValue) -> float | None:
    """Return a share; what is not one was found before."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
