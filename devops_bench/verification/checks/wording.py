"""How checks name objects and show values. Nothing here is ever part of a judgement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from devops_bench.core.json import JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.offline import built_in
from devops_bench.k8s.secrets import may_mean_secrets
from devops_bench.k8s.view import ResourceQuery
from devops_bench.verification.path_words import without_literals
from devops_bench.verification.paths import Path

MAX_SHOWN: Final = 200
"""How many characters of one value are shown."""

REDACTED: Final = "<redacted>"
"""Stands for every value of a Secret."""


def shown(value: JsonValue, *, secret: bool) -> str:
    """Return ``value`` as JSON, bounded in length; of a Secret nothing is shown."""
    if secret:
        return REDACTED
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        return f"{json.dumps(value[:MAX_SHOWN], ensure_ascii=False)}…"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN + 2 else f"{text[:MAX_SHOWN]}…"


def is_secret(query: ResourceQuery, objects: Sequence[KubeObject]) -> bool:
    """Return whether the query is about Secrets, by its own words or by what it found."""
    found = any(obj.data.get("kind") == "Secret" for obj in objects)
    return found or may_mean_secrets(query.kind)


def shown_path(path: Path, *, secret: bool) -> str:
    """Return a path as it was written; of a Secret without what its filters compare with."""
    return without_literals(path, REDACTED) if secret else path.text


def object_label(obj: KubeObject, query: ResourceQuery) -> str:
    """Return ``Deployment web in namespace shop``."""
    kind = obj.data.get("kind")
    text = f"{kind if isinstance(kind, str) else query.kind} {obj.name}"
    return f"{text} in namespace {obj.namespace}" if obj.namespace else text


def matched_label(objects: Sequence[KubeObject], query: ResourceQuery) -> str:
    """Return what was matched: the one object, or how many of what."""
    if len(objects) == 1:
        return object_label(objects[0], query)
    return f"{len(objects)} objects of {query_label(query, objects)}"


def query_label(query: ResourceQuery, objects: Sequence[KubeObject]) -> str:
    """Return what was asked, by the kind's own name where that is known.

    Without a namespace where what was found has none.
    """
    cluster_scoped = bool(objects) and not any(obj.namespace for obj in objects)
    namespace = None if cluster_scoped else query.namespace
    return str(replace(query, kind=_kind_name(query, objects), namespace=namespace))


def _kind_name(query: ResourceQuery, objects: Sequence[KubeObject]) -> str:
    """Return ``ConfigMap`` for ``cm``; another word of the author as it is, for no objects."""
    found = {kind for obj in objects if isinstance(kind := obj.data.get("kind"), str) and kind}
    if len(found) == 1:
        return found.pop()
    known = built_in(query.kind)
    return query.kind if known is None else known.kind
