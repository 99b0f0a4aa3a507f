"""Whether what is read is still what was read at the baseline.

A kind's URL can be pointed at another server (an APIService with a service), and the address can
lead to another cluster. Both are fixed at the baseline and looked at again whenever a connection
was opened anew, after it was opened: then what it brought came from the same place. An APIService
or a CustomResourceDefinition that was written in between is read write by write: only what changed
who serves the kind, or what its objects look like, counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.events import parse_version
from devops_bench.k8s.watch.past import States, Unknown

_SCHEMA: Final = "the schema of its CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Served:
    """Who serves one group and version.

    Attributes:
        uid: The APIService's uid.
        version: Its resourceVersion: unchanged means that it was not written in between.
        remote: ``namespace/name`` of the Service behind it, empty for the API server itself.
        automatic: Whether the API server made it for a CustomResourceDefinition.
    """

    uid: str
    version: str
    remote: str
    automatic: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """What a CustomResourceDefinition says about how stored objects are read.

    Attributes:
        uid: Its uid.
        version: Its resourceVersion: unchanged means that it was not written in between.
        schema: What of it counts, see :func:`read_schema`.
        rv: The revision at which it was looked at.
    """

    uid: str
    version: str
    schema: JsonValue
    rv: int


@dataclass(frozen=True, slots=True)
class Redefined:
    """Stored objects were, or may have been, read differently than at an earlier look.

    Attributes:
        why: A sentence for the reader, to be put behind "since".
        first_rv: The revision from which on they were no longer read as at the earlier look.
        last_rv: The revision from which on they are read as now; ``None`` where that is not known.
    """

    why: str
    first_rv: int
    last_rv: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found.

    Attributes:
        cluster: The uid of the namespace ``kube-system``; ``None`` where it may not be read.
        served: By ``group/version``; ``None`` where APIServices may not be read.
        definitions: By resource, what defines a custom kind, ``None`` where that may not be read or
            is gone; built-in kinds are not in it.
        requests: How many requests it took.
        cluster_why: Why the first may not be read: what the server said.
        served_why: Why the second may not be read.
        served_rv: The revision at which APIServices were looked at.
        served_since: For each ``group/version`` whose APIService was written since the facts that
            these continue: why it is not sure that the API server itself served it all the time,
            empty where that is sure.
        defined_since: For each resource whose CustomResourceDefinition was written since then: how
            stored objects may have been read differently, ``None`` where they were not.
    """

    cluster: str | None
    served: Mapping[str, Served] | None
    definitions: Mapping[ApiResource, Definition | None]
    requests: int
    cluster_why: str = ""
    served_why: str = ""
    served_rv: int = 0
    served_since: Mapping[str, str] = field(default_factory=dict)
    defined_since: Mapping[ApiResource, Redefined | None] = field(default_factory=dict)

    def unverified(self) -> tuple[str, ...]:
        """Return what may not be read, so that a change of it would not be noticed."""
        missing = []
        if self.cluster is None:
            missing.append("the uid of the namespace kube-system may not be read")
        if self.served is None:
            missing.append("who serves which kind (APIServices) may not be read")
        return tuple(missing)


def difference(before: Facts, now: Facts, resource: ApiResource) -> str | None:
    """Say what makes ``resource`` not the same kind of the same server any more, if anything does.

    What can no longer be read is not known to be the same, which is said in other words than that
    it is another.

    Returns:
        ``None`` when nothing does. What could not be read at the baseline is not compared.
    """
    if before.cluster is not None and now.cluster is None:
        return (
            "whether it is still the same cluster is not known: "
            f"the uid of kube-system can no longer be read: {now.cluster_why}"
        )
    if before.cluster is not None and now.cluster != before.cluster:
        return (
            "the address leads to another cluster: the uid of kube-system was "
            f"{before.cluster} and is {now.cluster}"
        )
    if before.served is None:
        return None
    if now.served is None:
        return (
            f"whether the same server still serves {resource} is not known: "
            f"APIServices can no longer be read: {now.served_why}"
        )
    old, new = before.served.get(group_version(resource)), now.served.get(group_version(resource))
    what = f"the APIService {service_name(resource)}"
    if new is None:
        return f"{what} is gone" if old is not None else f"{what} is not there"
    if new.remote:
        return f"{what} was pointed at the Service {new.remote}"
    if old is not None and (old.uid, old.version) == (new.uid, new.version):
        return None
    why = now.served_since.get(group_version(resource), "who answered in between was not read")
    return f"{what} was changed during the run: {why}" if why else None


def redefined(before: Facts, now: Facts, resource: ApiResource) -> Redefined | None:
    """Return how stored objects may have been read differently than at an earlier look.

    Args:
        before: The earlier look.
        now: A look that continues it.
        resource: The kind.

    Returns:
        ``None`` when they were not. What is built in, or could not be read at the earlier look, is
        not compared.
    """
    old, new = before.definitions.get(resource), now.definitions.get(resource)
    if old is None:
        return None
    if new is None:
        return Redefined(f"{_SCHEMA} can no longer be read", old.rv + 1, None)
    if (old.uid, old.version) == (new.uid, new.version):
        return None
    unknown = Redefined(f"{_SCHEMA} may have changed", old.rv + 1, None)
    return now.defined_since.get(resource, unknown)


def rewritten(before: Facts, now: Facts, resource: ApiResource) -> bool:
    """Return whether a CustomResourceDefinition was written between two looks."""
    old, new = before.definitions.get(resource), now.definitions.get(resource)
    versions = [(one.uid, one.version) for one in (old, new) if one is not None]
    return old is not None and (new is None or versions[0] != versions[1])


def remote_service(facts: Facts, resource: ApiResource) -> str | None:
    """Return ``namespace/name`` of the Service that serves a kind, ``None`` for the server itself.

    A kind that is served elsewhere has its own storage, or none: its revisions prove nothing.
    """
    entry = (facts.served or {}).get(group_version(resource))
    return entry.remote if entry is not None and entry.remote else None


def read_definition(crd: KubeObject, version: str, rv: int) -> Definition:
    """Return what a CustomResourceDefinition says about the objects of one of its versions.

    Args:
        crd: The CustomResourceDefinition.
        version: The version that is read.
        rv: The revision at which it was looked at.
    """
    return Definition(crd.uid, crd.resource_version, read_schema(crd.data, version), rv)


def read_schema(crd: JsonObject, version: str) -> JsonValue:
    """Return what decides how stored objects of a CustomResourceDefinition are read.

    Its kind, its scope, its conversion, its storage version, and the schemas of that and of
    ``version``. Its uid does not: one that is deleted and made again alike reads alike.
    """
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return None
    versions, names = spec.get("versions"), spec.get("names")
    listed = (
        [item for item in versions if isinstance(item, dict)] if isinstance(versions, list) else []
    )
    storage = [item.get("name") for item in listed if item.get("storage") is True]
    return {
        "kind": names.get("kind") if isinstance(names, dict) else None,
        "scope": spec.get("scope"),
        "conversion": spec.get("conversion"),
        "preserve": spec.get("preserveUnknownFields"),
        "storage": list(storage),
        "schemas": [
            item.get("schema")
            for name in (version, *storage)
            for item in listed
            if item.get("name") == name
        ],
    }


def why_not_local(states: States | Unknown) -> str:
    """Return why it is not sure that the API server itself answered in all these states.

    Where there is no APIService, it does, or nobody.
    """
    if isinstance(states, Unknown):
        return f"who answered in between could not be read again: {states.why}"
    for state in states:
        remote = remote_of(state.data.get("spec")) if state is not None else ""
        if remote:
            return f"in between it was pointed at the Service {remote}"
    return ""


def redefined_by(
    states: States | Unknown, version: str, old: Definition, new: Definition
) -> Redefined | None:
    """Return how a CustomResourceDefinition made stored objects be read differently.

    Args:
        states: Every state that it had between two looks; where it did not exist nothing was read.
        version: The version of the kind that is read.
        old: What it said at the earlier look.
        new: What it says now.
    """
    now_rv = parse_version(new.version)
    if isinstance(states, Unknown):
        return Redefined(f"{_SCHEMA} may have changed ({states.why})", old.rv + 1, now_rv)
    schema, first_rv, last_rv = old.schema, None, now_rv
    for state in states:
        if state is None or (read := read_schema(state.data, version)) == schema:
            continue
        schema, last_rv = read, parse_version(state.resource_version)
        first_rv = first_rv or last_rv
    if first_rv is None and schema == new.schema:
        return None
    back = ", and changed back" if old.schema == new.schema else ""
    return Redefined(f"{_SCHEMA} was changed{back}", first_rv or old.rv + 1, last_rv)


def group_version(resource: ApiResource) -> str:
    """Return the key of a kind among what is served: ``group/version``."""
    return f"{resource.group}/{resource.version}"


def service_name(resource: ApiResource) -> str:
    """Return the name of the APIService of a kind: ``version.group``."""
    return f"{resource.version}.{resource.group}"


def remote_of(spec: JsonValue) -> str:
    """Return ``namespace/name`` of the Service behind an APIService, empty for none."""
    service = spec.get("service") if isinstance(spec, dict) else None
    if not isinstance(service, dict):
        return ""
    return f"{service.get('namespace')}/{service.get('name')}"
