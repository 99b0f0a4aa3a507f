"""Kinds that do not exist yet: their CustomResourceDefinitions are watched."""

from __future__ import annotations

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
    """

    kind: str
    resource: ApiResource
    since_rv: int


class AppearingKinds:
    """Finds the kinds that are waited for among the CustomResourceDefinitions. Pure.

    Args:
        kinds: The authors' words for them.
    """

    def __init__(self, kinds: frozenset[str]) -> None:
        # Replaced, never changed: other threads look at it.
        self._waiting = frozenset(kinds)
        self._since: dict[str, int] = {}

    def waiting(self) -> frozenset[str]:
        """Return the kinds that have not appeared."""
        return self._waiting

    def look(self, view: View, rv: int) -> list[Appeared]:
        """Look at the next state of the CustomResourceDefinitions; return what has appeared."""
        reading = view.read(CRD_QUERY)
        objects = reading.objects if isinstance(reading, Matched) else ()
        names = {obj.uid for obj in objects}
        self._since = {uid: since for uid, since in self._since.items() if uid in names}
        found: list[Appeared] = []
        for obj in objects:
            since = self._since.setdefault(obj.uid, rv)
            if not self._waiting or not _established(obj):
                continue
            catalogue = Catalogue(tuple(_resources(obj)))
            for kind in sorted(self._waiting):
                resource = catalogue.find(kind)
                if resource is not None:
                    found.append(Appeared(kind, resource, since))
                    self._waiting -= {kind}
        return found


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
