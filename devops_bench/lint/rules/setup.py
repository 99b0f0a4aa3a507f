"""Rules about the objects of the setup."""

from __future__ import annotations

from collections.abc import Iterator

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


@rule(
    "DB109",
    "an object of the setup that the server refuses",
    level=Level.ERROR,
    why="""
        By the schema of its kind: a field that there is not, a number where a text is wanted, data
        of a Secret that is not base64, an apiVersion that does not have the kind. The objects are
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
    """Find objects that do not follow the schema of their kind."""
    for path, obj in _objects(subject):
        for fault in _faults(subject, obj):
            if path is not None:
                where = (*path, *fault.path)
                yield Finding(where, fault.message, fault.hint, key=fault.is_field)
            else:
                metadata = obj.get("metadata")
                name = metadata.get("name") if isinstance(metadata, dict) else None
                message = f"{obj.get('kind')} {name}, {format_path(fault.path)}: {fault.message}"
                yield Finding(("setup", "manifests"), message, fault.hint)


def _objects(subject: Subject) -> Iterator[tuple[DocPath | None, JsonObject]]:
    """Yield every object and its place, which an object of a file has none of in the spec."""
    raw = subject.parts.raw.get("setup")
    listed = raw.get("objects") if isinstance(raw, dict) else None
    inline: list[tuple[DocPath, JsonObject]] = [
        (("setup", "objects", index), obj)
        for index, obj in enumerate(listed if isinstance(listed, list) else [])
        if isinstance(obj, dict)
    ]
    own = [obj for _, obj in inline]
    for obj in subject.task.setup.objects:
        if not any(obj is one for one in own):
            yield None, obj
    yield from inline


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
    if has_placeholder(api_version + kind) or not any(one.group == group for one in resources):
        return  # of a definition that the cluster has
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
    return f"did you mean {right!r}?" if right else f"--kubernetes-version is {kinds.version}"


def _faults_of_name(obj: JsonObject, api_version: str, kind: str) -> Iterator[ObjectFault]:
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name.strip() or has_placeholder(name):
        return  # DB010 says so
    if has_plain_names(api_version.rpartition("/")[0], kind) and not is_dns_subdomain(name):
        message = f"{name[:80]!r} is no name that a {kind} can have"
        yield ObjectFault(("metadata", "name"), message, plain_name_hint(name))
