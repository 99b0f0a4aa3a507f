"""Random objects, checks and records."""

from __future__ import annotations

import gzip
from pathlib import Path

from hypothesis import strategies as st

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import ResourceQuery
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.evidence.records import EVIDENCE_VERSION, Header
from devops_bench.verification.spec import VerificationEntry, parse_entries

# Few names, so that paths often find something.
NAMES = st.sampled_from(["spec", "status", "replicas", "readyReplicas", "phase", "conditions", "a"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["Running", "x", "2"])
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def kube_objects(draw: st.DrawFn, kind: str = "Widget") -> KubeObject:
    """Return an object whose parts may be of any type."""
    metadata: JsonObject = {
        "name": draw(st.sampled_from(["web", "db", "x"])),
        "namespace": "shop",
        "uid": "u1",
        "resourceVersion": str(draw(st.integers(1, 99))),
        "managedFields": [{"manager": "kubectl"}],
    }
    metadata.update(
        draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "generation": st.integers(1, 3),
                    "deletionTimestamp": st.just("2026-01-01T00:00:00Z"),
                    "labels": st.dictionaries(NAMES, st.sampled_from(["a", "b"]), max_size=2),
                    "annotations": st.dictionaries(NAMES, st.text(max_size=5), max_size=2),
                },
            )
        )
    )
    body: JsonObject = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    for name in ("spec", "status", "a"):
        if draw(st.booleans()):
            body[name] = draw(VALUES)
    status = body.get("status")
    if isinstance(status, dict) and draw(st.booleans()):
        status["observedGeneration"] = draw(st.integers(1, 3))
    return KubeObject(body)


PATHS = st.sampled_from(
    [
        "spec.replicas",
        "status.conditions[*].phase",
        "status.phase",
        "spec",
        "spec..phase",
        "$..replicas",
        "status.conditions[?(@.phase=='Running')].a",
        "metadata.labels.a",
        "metadata.annotations.a",
        "a[0]",
        "metadata.name",
    ]
)


@st.composite
def checks(draw: st.DrawFn) -> JsonObject:
    """Return a pure check of the objects in the namespace ``shop``."""
    which = draw(st.sampled_from(["property", "presence", "pods", "scaling"]))
    if which == "pods":
        return {"type": "pod_healthy", "selector": "a=b", "namespace": "shop"}
    if which == "scaling":
        return {"type": "scaling_complete", "deployment": "web", "namespace": "shop"}
    check: JsonObject = {"type": "resource_property", "kind": "Widget", "namespace": "shop"}
    if which == "presence":
        return {**check, "op": draw(st.sampled_from(["exists", "absent"]))}
    check["path"] = draw(PATHS)
    op = draw(st.sampled_from(["exists", "absent", "eq", "gte", "contains", "matches"]))
    check["op"] = op
    if op not in ("exists", "absent"):
        check["value"] = draw(st.sampled_from(["2", "1"]))
        check["across_matches"] = draw(st.sampled_from(["every", "none"]))
    return check


def entry(check: JsonObject, name: str = "it", **fields: JsonValue) -> VerificationEntry:
    """Return a safeguard in hold mode."""
    raw = {"name": name, "role": "safeguard", "severity": "recoverable", "mode": "hold", **fields}
    entries, errors = parse_entries([{**raw, "check": check}])
    assert errors == []
    return entries[0]


def header() -> Header:
    """Return the first record."""
    return Header(EVIDENCE_VERSION, "run", "task", "1.0", "v1.36", "2026-01-01T00:00:00Z", ())


def text_of(folder: Path) -> str:
    """Return everything that is in the evidence of a folder, decompressed."""
    return gzip.decompress((folder / EVIDENCE_NAME).read_bytes()).decode()


QUERY = ResourceQuery("Widget", "shop")
