"""Objects and lines for the tests of watching."""

from __future__ import annotations

import json

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.watch.events import ObjectEvent


def thing(
    name: str, rv: int, *, namespace: str = "shop", labels: dict[str, str] | None = None, v: int = 0
) -> KubeObject:
    """Return an object with one value, ``spec.v``."""
    metadata: JsonObject = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "resourceVersion": str(rv),
        "labels": dict(labels or {}),
    }
    return KubeObject({"kind": "Thing", "metadata": metadata, "spec": {"v": v}})


def written(obj: KubeObject) -> ObjectEvent:
    """Return the event of ``obj`` being stored."""
    return ObjectEvent(obj, int(obj.resource_version), deleted=False)


def removed(obj: KubeObject, rv: int) -> ObjectEvent:
    """Return the event of ``obj`` being deleted at ``rv``."""
    metadata: JsonObject = {**obj.metadata, "resourceVersion": str(rv)}
    return ObjectEvent(KubeObject({**obj.data, "metadata": metadata}), rv, deleted=True)


def line(kind: str, body: JsonObject) -> bytes:
    """Return one line of a watch."""
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def value(obj: KubeObject) -> int:
    """Return ``spec.v``."""
    spec = obj.data["spec"]
    assert isinstance(spec, dict)
    number = spec["v"]
    assert isinstance(number, int)
    return number
