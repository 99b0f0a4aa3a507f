"""One form for checks that ask the same, however they are written. Pure."""

from __future__ import annotations

import json
from decimal import Decimal

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.selectors import parse_selector
from devops_bench.lint.subject import Subject
from devops_bench.verification.base import CheckNode
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.combinators import Some
from devops_bench.verification.path_words import whole
from devops_bench.verification.paths import parse_path
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.quantity import is_marked, quantity_of
from devops_bench.verification.tree import Combinator
from devops_bench.verification.values import ORDERING_OPS

_ORDERED = "sequence"


def canonical_check(subject: Subject, node: CheckNode, raw: JsonValue) -> str:
    """Return a text that two checks share when they judge the same in the same way.

    Names of checks, defaults that are written out, the order of children, other words for a kind,
    other ways to write a path, a selector or a quantity make no difference.

    Args:
        subject: The spec.
        node: The check.
        raw: What the spec says of it.
    """
    return json.dumps(_check(subject, node, raw), sort_keys=True)


def _check(subject: Subject, node: CheckNode, raw: JsonValue) -> JsonValue:
    if isinstance(node, Combinator):
        return _combined(subject, node, raw)
    if isinstance(node, ResourceProperty):
        return _property(subject, node)
    said = raw if isinstance(raw, dict) else {}
    if type(node).__module__.startswith("devops_bench.verification.checks."):
        said = node.model_dump(mode="json")
    return {key: value for key, value in said.items() if key != "name"}


def _combined(subject: Subject, node: Combinator, raw: JsonValue) -> JsonValue:
    said = raw.get("checks") if isinstance(raw, dict) else None
    raws = said if isinstance(said, list) else [None] * len(node.checks)
    below = [_check(subject, one, its) for one, its in zip(node.checks, raws, strict=True)]
    if len(below) == 1 and node.type != "none":
        return below[0]
    if node.type != _ORDERED:
        below.sort(key=lambda one: json.dumps(one, sort_keys=True))
    needed = node.at_least if isinstance(node, Some) else None
    return {"type": node.type, "at_least": needed, "checks": below}


def _property(subject: Subject, node: ResourceProperty) -> JsonObject:
    resource = subject.resource(node.kind)
    found: JsonObject = {
        "kind": node.kind.lower(),
        "namespace": node.namespace,
        "name": node.resource_name,
        "selector": canonical_selector(node.selector),
        "path": canonical_path(node.path),
        "op": node.op,
        "value": _value(node.op, node.value),
        "across": node.across_matches,
        "elsewhere": [node.kubeconfig, node.context],
    }
    if resource is not None:
        found["kind"] = f"{resource} {resource.version}"
        found["namespace"] = node.namespace if resource.namespaced else None
    return found


def canonical_path(text: str | None) -> str | None:
    """Return a path in one form: ``$.spec['a']`` is ``spec.a``."""
    return text if text is None or has_placeholder(text) else whole(parse_path(text))


def canonical_selector(text: str | None) -> str | None:
    """Return a selector in one form, whatever the order of its requirements."""
    if text is None or has_placeholder(text):
        return text
    found = parse_selector(text).requirements
    return json.dumps(sorted([one.key, one.operator, sorted(one.values)] for one in found))


def _value(op: str, value: JsonValue) -> JsonValue:
    """Return a value such that equal ones are compared in the same way: ``1Gi`` is ``1024Mi``."""
    is_text = isinstance(value, str) and not is_marked(value) and op not in ORDERING_OPS
    number = None if is_text or op in ("matches", "contains") else quantity_of(value)
    return value if number is None else {"quantity": str(_plain(number))}


def _plain(number: Decimal) -> Decimal:
    return number.normalize() if number else Decimal(0)
