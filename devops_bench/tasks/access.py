"""``access`` of a task file: what the agent may do on the cluster."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.escalation import escalations
from devops_bench.k8s.rbac import Grant, PolicyRule
from devops_bench.tasks import rule_ids
from devops_bench.tasks.findings import Findings, did_you_mean
from devops_bench.tasks.model import Access
from devops_bench.tasks.yaml import DocPath

_PRESETS: Final = Path(__file__).with_name("access_presets.yaml")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@cache
def presets() -> dict[str, tuple[Grant, Grant]]:
    """Return the rules of each preset by its name: in the whole cluster, and in its namespaces.

    The second grant names no namespaces yet.
    """
    raw = yaml.load(_PRESETS.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    found: dict[str, tuple[Grant, Grant]] = {}
    for name, body in raw.items():
        base = found.get(body.get("extends", ""), (Grant(()), Grant(())))
        found[name] = (
            Grant((*base[0].rules, *_plain_rules(body.get("cluster")))),
            Grant((*base[1].rules, *_plain_rules(body.get("rules")))),
        )
    return found


def read_access(
    document: JsonObject,
    objects: Iterable[JsonObject],
    findings: Findings,
    open_paths: Collection[DocPath],
) -> Access | None:
    """Return what the agent may do, ``None`` when the task does not say; faults are added.

    Args:
        document: The task file, variables replaced; the shape of its ``access`` is checked
            elsewhere.
        objects: Everything that the setup creates: its namespaces are the default ones.
        findings: Gets what is wrong, each rule that escalates included.
        open_paths: Values with an unset variable: nothing is said about them.
    """
    raw = document.get("access")
    if "access" in document:
        _refuse_nulls(raw, ("access",), findings)
    if not isinstance(raw, dict):
        return None
    namespaces = _namespaces(raw.get("namespaces"), ("access", "namespaces"), findings, open_paths)
    if raw.get("namespaces") is None:
        namespaces = _of_setup(objects)
    preset = raw.get("preset")
    grants: list[Grant] = []
    if isinstance(preset, str):
        grants += _of_preset(preset, namespaces, findings)
    rules = raw.get("rules")
    for index, item in enumerate(rules if isinstance(rules, list) else []):
        if isinstance(item, dict):
            path: DocPath = ("access", "rules", index)
            grants.append(_own_rule(item, path, namespaces, findings, open_paths))
    if preset is None and not rules:
        findings.add(("access",), "it grants nothing", _GRANT_SOMETHING, key=True)
    return Access(preset if isinstance(preset, str) else None, tuple(grants))


def _refuse_nulls(raw: JsonValue, path: DocPath, findings: Findings) -> None:
    """Refuse a key without a value: read as absent, it would grant more than whoever left it so."""
    if raw is None:
        if path == ("access",):
            message = "it has no value, so it would grant everything that the harness may"
            findings.add(path, message, f"{_GRANT_SOMETHING}; or leave access: out", key=True)
        elif path[-1] in _MAY_BE_ABSENT:
            findings.add(path, f"{path[-1]} has no value", "give it one, or leave it out", key=True)
        return
    below: list[tuple[str | int, JsonValue]] = []
    if isinstance(raw, dict):
        below += raw.items()
    elif isinstance(raw, list):
        below += enumerate(raw)
    for key, value in below:
        _refuse_nulls(value, (*path, key), findings)


def _of_preset(preset: str, namespaces: tuple[str, ...], findings: Findings) -> list[Grant]:
    path = ("access", "preset")
    if preset not in presets():
        findings.add(path, f"there is no preset {preset!r}", did_you_mean(preset, presets()))
        return []
    if not namespaces:
        message = f"where the preset {preset} holds is not said, and the setup has no namespace"
        findings.add(path, message, "name them: namespaces: [shop]")
        return []
    cluster, inside = presets()[preset]
    for rule in inside.rules:
        for why in escalations(rule, namespaces):
            message = f"the preset {preset} escalates here: {why}"
            findings.add(path, message, _HINT, rule=rule_ids.ACCESS_ESCALATES)
    return [cluster, Grant(inside.rules, namespaces)]


def _own_rule(
    item: JsonObject,
    path: DocPath,
    namespaces: tuple[str, ...],
    findings: Findings,
    open_paths: Collection[DocPath],
) -> Grant:
    rule = _rule(item)
    own = item.get("namespaces")
    if item.get("cluster") is True:
        where: tuple[str, ...] = ()
        if own is not None:
            message = "a rule for the whole cluster has no namespaces"
            findings.add((*path, "namespaces"), message, "leave one of the two out", key=True)
    elif own is None:
        where = namespaces
    else:
        where = _namespaces(own, (*path, "namespaces"), findings, open_paths)
    if item.get("cluster") is not True and not where:
        message = "where the rule holds is not said, and the setup has no namespace"
        findings.add(path, message, "name them: namespaces: [shop], or say cluster: true")
        return Grant(())
    for field in ("resources", "verbs"):
        if item.get(field) == []:
            findings.add((*path, field), f"a rule needs {field}", "list at least one")
    reasons = list(dict.fromkeys(escalations(rule, where)))
    if reasons:
        message = f"this rule escalates: {'; '.join(reasons)}"
        findings.add(path, message, _HINT, rule=rule_ids.ACCESS_ESCALATES)
    return Grant((rule,), where)


# The shape says it of the others.
_MAY_BE_ABSENT: Final = ("preset", "namespaces", "apiGroups", "resourceNames")
_GRANT_SOMETHING: Final = "name a preset, or list rules"
_HINT: Final = "grant what the task needs and nothing by which more can be had"


def _of_setup(objects: Iterable[JsonObject]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for item in objects:
        metadata = item.get("metadata")
        if not isinstance(metadata, dict):
            continue
        name = metadata.get("name" if item.get("kind") == "Namespace" else "namespace")
        if isinstance(name, str) and name:
            found[name] = None
    return tuple(found)


def _namespaces(
    raw: JsonValue, path: DocPath, findings: Findings, open_paths: Collection[DocPath]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for index, name in enumerate(raw if isinstance(raw, list) else []):
        if not isinstance(name, str):
            continue
        if (*path, index) not in open_paths and not _NAMESPACE.fullmatch(name):
            message = f"{name!r} cannot be the name of a namespace"
            findings.add((*path, index), message, "letters a to z, digits and -")
        found[name] = None
    return tuple(found)


def _plain_rules(raw: JsonValue) -> tuple[PolicyRule, ...]:
    return tuple(_rule(item) for item in raw or () if isinstance(item, dict))  # type: ignore[union-attr]


def _rule(item: JsonObject) -> PolicyRule:
    groups = item.get("apiGroups")
    return PolicyRule(
        api_groups=_texts(groups) if groups is not None else ("",),
        resources=_texts(item.get("resources")),
        verbs=_texts(item.get("verbs")),
        resource_names=_texts(item.get("resourceNames")),
    )


def _texts(raw: JsonValue) -> tuple[str, ...]:
    return tuple(text for text in raw if isinstance(text, str)) if isinstance(raw, list) else ()
