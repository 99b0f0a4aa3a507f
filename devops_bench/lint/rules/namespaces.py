"""Rules about the namespaces that a check reads."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.subject import Leaf, Subject
from devops_bench.tasks.yaml import DocPath
from devops_bench.verification.placeholders import has_placeholder

BUILT_IN_NAMESPACES = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
"""Those that the API server makes by itself."""


@rule(
    "DB108",
    "a namespace that nobody creates",
    level=Level.WARNING,
    exception="error for a safeguard",
    why="""
        The setup creates objects, and none of them is this namespace; Kubernetes itself only has
        default, kube-system, kube-public and kube-node-lease. Nothing will ever be found there. A
        safeguard in such a namespace is an error: the task ends as broken before the agent starts,
        unless the entry says may_appear. An objective may be about a namespace that the agent has
        to create: then the prompt names it, and nothing is said here. But the setup's own objects
        are created before the agent starts: the server refuses them in a namespace that is not
        there.
    """,
    fires=spec("""
        setup:
          objects:
            - {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
        verification_spec:
          - name: the pods are ready
            role: objective
            check: {type: pod_healthy, selector: app=web, namespace: shpo}
    """),
    near_miss=spec("""
        prompt: Deploy web to a new namespace, web.
        setup:
          objects:
            - {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
        verification_spec:
          - name: the pods are ready
            role: objective
            check: {type: pod_healthy, selector: app=web, namespace: web}
    """),
)
def unknown_namespace(subject: Subject) -> Iterator[Finding]:
    """Find namespaces that neither the setup nor Kubernetes creates."""
    objects = [KubeObject(one) for one in subject.task.setup.objects]
    if not objects:  # the environment comes from elsewhere
        return
    made = {one.name for one in objects if one.data.get("kind") == "Namespace"}
    needed = {
        namespace
        for one in objects
        if (namespace := _namespace(subject, one)) is not None and _is_missing(namespace, made)
    }
    said: set[str] = set()
    for leaf in subject.leaves:
        for query in () if leaf.is_elsewhere else leaf.queries:
            namespace = query.namespace
            if namespace is None or not _is_missing(namespace, made):
                continue
            resource = subject.resource(query.kind)
            if resource is not None and not resource.namespaced:
                continue
            finding = _missing_namespace(subject, leaf, namespace, made, needed)
            if finding is not None:
                said.add(namespace)
                yield finding
    for namespace in sorted(needed - said):
        yield Finding(
            _place_of(subject, namespace),
            f"neither the setup nor Kubernetes creates the namespace {namespace!r}, and an object "
            "of the setup is in it",
            _hint(namespace, made),
        )


def _namespace(subject: Subject, obj: KubeObject) -> str | None:
    """Return the namespace that an object of the setup names, where its kind has any."""
    resource = subject.resource(str(obj.data.get("kind")))
    return obj.namespace or None if resource is not None and resource.namespaced else None


def _is_missing(namespace: str, made: set[str]) -> bool:
    return not (namespace in made or namespace in BUILT_IN_NAMESPACES or has_placeholder(namespace))


def _place_of(subject: Subject, namespace: str) -> DocPath:
    """Return where the setup first names a namespace: inline, or in one of its files."""
    setup = subject.parts.raw.get("setup")
    listed = setup.get("objects") if isinstance(setup, dict) else None
    for index, obj in enumerate(listed if isinstance(listed, list) else []):
        metadata: JsonValue = obj.get("metadata") if isinstance(obj, dict) else None
        if isinstance(metadata, dict) and metadata.get("namespace") == namespace:
            return ("setup", "objects", index, "metadata", "namespace")
    task = subject.task.setup
    for item, obj in zip(task.manifest_items, task.objects, strict=False):
        if KubeObject(obj).namespace == namespace:
            return ("setup", "manifests", item)
    return ("setup", "manifests")


def _missing_namespace(
    subject: Subject, leaf: Leaf, namespace: str, made: set[str], needed: set[str]
) -> Finding | None:
    entry = leaf.entry.entry if leaf.entry is not None else None
    if entry is not None and entry.may_appear:
        return None
    is_safeguard = entry is not None and entry.role == "safeguard"
    is_agents = namespace not in needed and _names(subject.task.prompt, namespace)
    if entry is not None and not is_safeguard and is_agents:
        return None
    hint = _hint(namespace, made)
    if is_safeguard and namespace not in needed:
        hint += ", or say may_appear: true"
    return Finding(
        (*leaf.path, "namespace"),
        f"neither the setup nor Kubernetes creates the namespace {namespace!r}",
        hint,
        level=Level.ERROR if is_safeguard else None,
    )


def _hint(namespace: str, made: set[str]) -> str:
    close = difflib.get_close_matches(namespace, made, n=1)
    return f"did you mean {close[0]!r}?" if close else "add the Namespace to setup.objects"


def _names(prompt: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", prompt) is not None
