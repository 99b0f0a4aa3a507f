"""Kubernetes' own schemas, from the package kubernetes-validate, and what a path meets in one.

The package brings one file per version with the definitions of every kind (OpenAPI, as the API
server publishes it). It is found without importing it: its code imports what takes seconds.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue

PACKAGE: Final = "kubernetes_validate"
DEFAULT_VERSION: Final = "1.36"
"""That of the local provider's control plane."""

_FOLDER: Final = re.compile(r"v(\d+\.\d+)\.\d+-local")
_REF: Final = "#/$defs/"
_OF_EVERY_OBJECT: Final[Mapping[str, JsonObject]] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": f"{_REF}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
}
"""What an embedded object has as well
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#rawextension).
"""
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"


@dataclass(frozen=True, slots=True)
class Shape:
    """What values at one place look like.

    Attributes:
        raw: The JSON schema, references resolved at its top.
        definitions: What its references name.
    """

    raw: Mapping[str, JsonValue]
    definitions: Mapping[str, JsonValue]

    @property
    def types(self) -> frozenset[str]:
        """The JSON types it may have, ``null`` left out; empty when it may be anything."""
        if self.raw.get("x-kubernetes-int-or-string") is True:
            return frozenset({"integer", "string"})
        alternatives = self.raw.get("oneOf") or self.raw.get("anyOf")
        if "type" not in self.raw and isinstance(alternatives, list):
            found = [self._at(one).types for one in alternatives if isinstance(one, dict)]
            return frozenset().union(*found) if all(found) else frozenset()
        named = self.raw.get("type")
        listed = named if isinstance(named, list) else [named]
        types = {one for one in listed if isinstance(one, str) and one != "null"}
        if not types and "properties" in self.raw:
            return frozenset({"object"})
        return frozenset(types)

    @property
    def format(self) -> str:
        """The format of a string (``date-time``, ``byte``), else empty."""
        text = self.raw.get("format")
        return text if isinstance(text, str) else ""

    @property
    def is_quantity(self) -> bool:
        """Whether it is one of Kubernetes' quantities (``500m``)."""
        return bool(self.raw) and self.raw is self.definitions.get(_QUANTITY)

    @property
    def is_anything(self) -> bool:
        """Whether nothing is said about what is below it."""
        if self.raw.get("x-kubernetes-preserve-unknown-fields") is True or not self.types:
            return True
        if self.types == {"object"}:
            return not ("properties" in self.raw or "additionalProperties" in self.raw)
        return len(self.types) > 1 and bool(self.types & {"object", "array"})

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields, empty for anything but an object with fields."""
        properties = self.raw.get("properties")
        return tuple(properties) if isinstance(properties, dict) else ()

    def is_required(self, name: str) -> bool:
        """Return whether every object of this shape has the field."""
        required = self.raw.get("required")
        return isinstance(required, list) and name in required

    def field(self, name: str) -> Shape | None:
        """Return the shape of a field or of a map's value; ``None`` when there is none."""
        properties = self.raw.get("properties")
        if isinstance(properties, dict) and isinstance(properties.get(name), dict):
            return self._at(properties[name])
        if self.raw.get("x-kubernetes-embedded-resource") is True and name in _OF_EVERY_OBJECT:
            return self._at(_OF_EVERY_OBJECT[name])
        return self.values if self.types == {"object"} else None

    @property
    def values(self) -> Shape | None:
        """The shape of a map's values; ``None`` when it is no map."""
        extra = self.raw.get("additionalProperties")
        if extra is True:
            return Shape({}, self.definitions)
        return self._at(extra) if isinstance(extra, dict) else None

    @property
    def items(self) -> Shape | None:
        """The shape of a list's elements; ``None`` when it is no list."""
        if self.types != {"array"}:
            return None
        items = self.raw.get("items")
        return self._at(items) if isinstance(items, dict) else Shape({}, self.definitions)

    def _at(self, raw: JsonValue) -> Shape:
        seen = 0
        while isinstance(raw, dict) and isinstance(raw.get("$ref"), str) and seen < 20:
            raw = self.definitions.get(str(raw["$ref"]).rpartition(_REF)[2])
            seen += 1
        return Shape(raw if isinstance(raw, dict) else {}, self.definitions)


def installed_versions() -> tuple[str, ...]:
    """Return the versions whose schemas are installed (``1.36``), the oldest first."""
    folder = _folder()
    if folder is None:
        return ()
    names = (_FOLDER.fullmatch(entry.name) for entry in folder.iterdir())
    return tuple(sorted((match[1] for match in names if match), key=_as_numbers))


def load_definitions(version: str) -> Mapping[str, JsonValue] | None:
    """Return the definitions of a version by their names, ``None`` when the package is missing.

    Args:
        version: ``1.36``; a patch version and a ``v`` in front are of no meaning.

    Raises:
        InvalidInputError: The package is there, and does not know the version, or is broken.
    """
    folder = _folder()
    if folder is None:
        return None
    wanted = ".".join(version.removeprefix("v").split(".")[:2])
    if wanted not in installed_versions():
        known = ", ".join(installed_versions())
        raise InvalidInputError(f"there are no schemas of Kubernetes {version!r} (known: {known})")
    file = next(iter(sorted(folder.glob(f"v{wanted}.*-local"))), folder) / "_definitions.json"
    try:
        data: JsonObject = json.loads(file.read_bytes())
    except (OSError, ValueError) as exc:
        raise InvalidInputError(f"the schemas of Kubernetes {version} are broken: {exc}") from exc
    definitions = data.get("$defs")
    return definitions if isinstance(definitions, dict) else {}


def _folder() -> Path | None:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "kubernetes-json-schema"
    return folder if folder.is_dir() else None


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
