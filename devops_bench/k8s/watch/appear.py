"""Kinds that do not exist yet: their CustomResourceDefinitions are watched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource, Catalogue
from devops_bench.k8s.view import Matched, ResourceQuery, View

CRD_QUERY: Final = ResourceQuery("customresourcedefinitions.apiextensions.k8s.io")
"""What the internal subscription reads."""


@dataclass(frozen=True, slots=True)
class Appeared:
    """A kind that was established.

    Attributes:
        kind: The author's word for it.
        resource: What the CustomResourceDefinition says it is.
        since_rv: The revision at which the CustomResourceDefinition was first seen: no object of
            the kind can be older.
        definition: The CustomResourceDefinition.
    """

    kind: str
    resource: ApiResource
    since_rv: int
    definition: KubeObject


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A second kind that the author's word may mean, because it has the same name.

    Attributes:
        kind: The author's word.
        first: The kind that appeared first.
        second: The other one.
    """

    kind: str
    first: ApiResource
    second: ApiResource


class AppearingKinds:
    """Finds the kinds that are waited for among the CustomResourceDefinitions. Pure.

    Which of several kinds of one name a word means depends on the order of their groups, so a
    second one is told of: whoever defines it first must not decide what is looked at.

    Args:
        kinds: The authors' words for them.
    """

    def __init__(self, kinds: frozenset[str]) -> None:
        self._kinds = sorted(kinds)
        # Replaced, never changed: other threads look at it.
        self._found: dict[str, ApiResource] = {}
        self._told: set[tuple[str, str]] = set()
        self._since: dict[str, int] = {}
        self._looked: dict[str, str] = {}

    def waiting(self) -> frozenset[str]:
        """Return the kinds that have not appeared."""
        return frozenset(self._kinds) - frozenset(self._found)

    def meaning(self, kind: str) -> ApiResource | None:
        """Return what a word was found to mean, ``None`` while it has not appeared."""
        return self._found.get(kind)

    def look(self, view: View, rv: int) -> list[Appeared | Ambiguous]:
        """Look at the next state of the CustomResourceDefinitions; return what is new in it."""
        reading = view.read(CRD_QUERY)
        objects = reading.objects if isinstance(reading, Matched) else ()
        uids = {obj.uid for obj in objects}
        self._since = {uid: since for uid, since in self._since.items() if uid in uids}
        self._looked = {uid: version for uid, version in self._looked.items() if uid in uids}
        found: list[Appeared | Ambiguous] = []
        for obj in objects:
            since = self._since.setdefault(obj.uid, rv)
            if self._looked.get(obj.uid) == obj.resource_version:
                continue
            self._looked[obj.uid] = obj.resource_version
            if _established(obj):
                found += self._named(obj, since)
        return found

    def _named(self, definition: KubeObject, since_rv: int) -> Iterator[Appeared | Ambiguous]:
        catalogue = Catalogue(tuple(_resources(definition)))
        for kind in self._kinds:
            resource = catalogue.find(kind)
            if resource is None:
                continue
            first = self._found.get(kind)
            if first is None:
                self._found = {**self._found, kind: resource}
                yield Appeared(kind, resource, since_rv, definition)
            elif str(first) != str(resource) and (kind, str(resource)) not in self._told:
                self._told.add((kind, str(resource)))
                yield Ambiguous(kind, first, resource)


def _established(crd: KubeObject) -> bool:
    conditions = _object(crd.data.get("status")).get("conditions")
    return any(
        isinstance(item, dict)
        and item.get("type") == "Established"
        and item.get("status") == "True"
        for item in (conditions if isinstance(conditions, list) else [])
    )


def _resources(crd: KubeObject) -> list[ApiResource]:
    """Return what a CustomResourceDefinition serves, in the server's order of versions."""
    spec = _object(crd.data.get("spec"))
    names = _object(_object(crd.data.get("status")).get("acceptedNames")) or _object(
        spec.get("names")
    )
    versions = spec.get("versions")
    short = names.get("shortNames")
    kind = _text(names.get("kind"))
    return [
        ApiResource(
            group=_text(spec.get("group")),
            version=_text(item.get("name")),
            resource=_text(names.get("plural")),
            kind=kind,
            namespaced=spec.get("scope") == "Namespaced",
            verbs=("get", "list", "watch"),
            singular=_text(names.get("singular")) or kind.lower(),
            short_names=tuple(_text(name) for name in short) if isinstance(short, list) else (),
        )
        for item in (versions if isinstance(versions, list) else [])
        if isinstance(item, dict) and item.get("served") is True
    ]


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
