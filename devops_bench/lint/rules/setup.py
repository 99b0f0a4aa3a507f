"""Rules about the objects of the setup."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonObject
from devops_bench.core.similar import closest
from devops_bench.k8s.names import has_plain_names, is_dns_subdomain, plain_name_hint
from devops_bench.lint.kinds import Kinds
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.objects import ObjectFault, object_faults
from devops_bench.lint.subject import Subject
from devops_bench.tasks.yaml import DocPath, format_path
from devops_bench.verification.placeholders import has_placeholder

_EXPERIMENTAL: Final = ".x-k8s.io"
"""How groups end that are Kubernetes' own projects' and alike to its own."""
_SLIP: Final = 2
_ALIKE: Final = 0.9
"""How many characters longer or shorter a misspelt group is, and how much of it is the same."""


@rule(
    "DB109",
    "an object of the setup that the server refuses",
    level=Level.ERROR,
    why="""
        By the schema of its kind: a field that there is not, a number where a text is wanted, data
        of a Secret that is not base64, an apiVersion that does not have the kind. Or another object
        of the setup has its name already. The objects are
        created with strict validation, as kubectl does it, so that the setup would fail and no
        agent start. The value of a variable is always text, and so cannot stand where a number is
        wanted. What must be there, and which names and values are allowed, only the server knows.
    """,
    fires=spec("""
        setup:
          objects:
            - apiVersion: apps/v1
              kind: Deployment
              metadata: {name: web}
              spec:
                replica: 3
                selector: {matchLabels: {app: web}}
                template:
                  metadata: {labels: {app: web}}
                  spec: {containers: [{name: web, image: web}]}
        verification_spec:
          - name: ready
            role: objective
            check: {type: pod_healthy, selector: app=web}
    """),
    near_miss=spec("""
        setup:
          objects:
            - apiVersion: apps/v1
              kind: Deployment
              metadata: {name: web, labels: {replica: a}}
              spec:
                replicas: 3
                selector: {matchLabels: {app: web}}
                template:
                  metadata: {labels: {app: web}}
                  spec: {containers: [{name: web, image: web}]}
        verification_spec:
          - name: ready
            role: objective
            check: {type: pod_healthy, selector: app=web}
    """),
)
def refused_object(subject: Subject) -> Iterator[Finding]:
    """Find objects that do not follow the schema of their kind, or are there twice."""
    yield from _repeated(subject)
    for path, obj in _objects(subject):
        for fault in _faults(subject, obj):
            if _is_inline(path):
                where = (*path, *fault.path)
                yield Finding(where, fault.message, fault.hint, key=fault.is_field)
            else:
                metadata = obj.get("metadata")
                name = metadata.get("name") if isinstance(metadata, dict) else None
                message = f"{obj.get('kind')} {name}, {format_path(fault.path)}: {fault.message}"
                yield Finding(path, message, fault.hint)


def _objects(subject: Subject) -> Iterator[tuple[DocPath, JsonObject]]:
    """Yield every object and its place: for one of a file the item that names the file."""
    setup, raw = subject.task.setup, subject.parts.raw.get("setup")
    for item, obj in zip(setup.manifest_items, setup.objects, strict=False):
        yield ("setup", "manifests", item), obj
    listed = raw.get("objects") if isinstance(raw, dict) else None
    for index, one in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(one, dict):
            yield ("setup", "objects", index), one


def _is_inline(path: DocPath) -> bool:
    return path[1] == "objects"


def _faults(subject: Subject, obj: JsonObject) -> Iterator[ObjectFault]:
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    kinds = subject.kinds
    if not isinstance(api_version, str) or not isinstance(kind, str) or kinds.version is None:
        return
    shape = kinds.shapes.get((api_version, kind))
    if shape is not None:
        yield from _faults_of_name(obj, api_version, kind)
        yield from object_faults(obj, shape)
        return
    resources = kinds.catalogue.resources
    group = api_version.rpartition("/")[0]
    if has_placeholder(api_version + kind) or _may_be_another_clusters(group, kinds):
        return
    if any((one.api_version, one.kind) == (api_version, kind) for one in resources):
        return
    message = f"there is no {kind} in {api_version}"
    yield ObjectFault(("apiVersion",), message, _right_kind(kinds, api_version, kind))


def _right_kind(kinds: Kinds, api_version: str, kind: str) -> str:
    resources = kinds.catalogue.resources
    elsewhere = [one.api_version for one in resources if one.kind == kind]
    if elsewhere:
        return f"it is in {elsewhere[0]}"
    right = closest(kind, [one.kind for one in resources if one.api_version == api_version])
    if right is not None:
        return f"did you mean {right!r}?"
    meant = kinds.find(kind) or kinds.find(closest(kind, [one.kind for one in resources]) or "")
    if meant is not None:
        return f"did you mean {meant.kind} in {meant.api_version}?"
    return f"--kubernetes-version is {kinds.version}"


def _may_be_another_clusters(group: str, kinds: Kinds) -> bool:
    """Return whether a definition that is not in the setup may bring the group.

    The group of a definition has a dot
    (https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/),
    and nobody else may have one that differs from Kubernetes' own in a letter or two.
    """
    known = {one.group for one in kinds.catalogue.resources}
    if group in known or "." not in group:
        return False
    return group.endswith(_EXPERIMENTAL) or not any(
        _differs_in_little(group, one) for one in known if "." in one
    )


@lru_cache(maxsize=4096)
def _differs_in_little(group: str, known: str) -> bool:
    same_length = abs(len(group) - len(known)) <= _SLIP
    return same_length and SequenceMatcher(None, group, known).ratio() >= _ALIKE


def _repeated(subject: Subject) -> Iterator[Finding]:
    """Find objects of the same name: the second is there already when it is created."""
    first: set[tuple[str, ...]] = set()
    for path, obj in _objects(subject):
        kind, metadata = str(obj.get("kind")), obj.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        name, namespace = fields.get("name"), fields.get("namespace")
        if not isinstance(name, str) or has_placeholder(f"{kind} {name} {namespace}"):
            continue
        key = (str(obj.get("apiVersion")).rpartition("/")[0], kind, str(namespace), name)
        if key in first:
            where = (*path, "metadata", "name") if _is_inline(path) else path
            message = f"the setup has another {kind} {name} already"
            yield Finding(where, message, "leave one of them out, or name it otherwise")
        first.add(key)


def _faults_of_name(obj: JsonObject, api_version: str, kind: str) -> Iterator[ObjectFault]:
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name.strip() or has_placeholder(name):
        return  # DB010 says so
    if has_plain_names(api_version.rpartition("/")[0], kind) and not is_dns_subdomain(name):
        message = f"{name[:80]!r} is no name that a {kind} can have"
        yield ObjectFault(("metadata", "name"), message, plain_name_hint(name))
