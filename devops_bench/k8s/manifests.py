"""Manifests, read as kubectl reads them: into the objects that they hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.go_yaml import Document, DocumentError, read_documents


def read_manifests(
    text: str, file: Path | None = None, *, unique: bool = False
) -> list[JsonObject]:
    """Read every object of a manifest.

    Several documents, JSON, and lists (``kind: List``, ``kind: ConfigMapList``, …, nested ones too)
    are read as kubectl reads them; empty documents are skipped.

    Args:
        text: The manifest.
        file: Where it comes from, for messages.
        unique: Whether a key that stands twice is refused; kubectl takes the last one.

    Returns:
        The objects in their order, each with an ``apiVersion``, a ``kind`` and a name. kubectl also
        creates what has a ``generateName`` alone; here every object must be known by its name.

    Raises:
        InvalidInputError: The text is not valid, or something in it is not an object; all of its
            faults are diagnostics of the error.
    """
    try:
        documents = read_documents(text, unique=unique)
    except DocumentError as exc:
        found = Diagnostic(str(exc), file=file, line=exc.line, column=exc.column)
        raise InvalidInputError(f"a manifest cannot be read: {exc}", [found]) from None
    objects: list[JsonObject] = []
    faults: list[Diagnostic] = []
    for document in documents:
        if document.value is None:
            continue
        for path, value in _flattened(document.value, ""):
            message, hint = _fault(value)
            if message:
                faults.append(_diagnostic(document, file, path, message, hint))
            elif isinstance(value, dict):
                objects.append(value)
    if faults:
        more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise InvalidInputError(f"a manifest is not valid: {faults[0].message}{more}", faults)
    return objects


def _flattened(value: JsonValue, path: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield what a list holds instead of the list itself, each with its path."""
    items = value.get("items") if isinstance(value, dict) else None
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str) or not kind.endswith("List"):
        yield path, value
        return
    if items is None:
        return
    if not isinstance(items, list):
        yield path, value
        return
    for index, item in enumerate(items):
        if kind != "List" and isinstance(item, dict):
            # The items of a typed list need not repeat what the list says.
            inherited: JsonObject = {
                "apiVersion": value.get("apiVersion"),
                "kind": kind.removesuffix("List"),
            }
            item = {**inherited, **item}
        yield from _flattened(item, f"{path}items[{index}].")


def _fault(value: JsonValue) -> tuple[str, str]:
    """Return what keeps ``value`` from being an object, and what would be right; else empty."""
    if not isinstance(value, dict):
        return "a manifest must be a mapping", "apiVersion, kind, metadata, …"
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            return f"the object has no {key}", f"add {key}: …"
    if isinstance(value.get("items"), dict) and str(value["kind"]).endswith("List"):
        return "items must be a list", ""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return f"the {value['kind']} has no metadata", "add metadata: {name: …}"
    name = metadata.get("name")
    if not isinstance(name, str) or not name.strip():
        wrong = f"the name {name!r}, which is not text" if name else "no name"
        if isinstance(name, str) and name:
            wrong = "a blank name"
        elif not name and "generateName" in metadata:
            wrong = "a generateName and no name, by which it is waited for and deleted"
        return f"the {value['kind']} has {wrong}", "add metadata.name, quoted if it is a number"
    if not isinstance(metadata.get("namespace"), str | None):
        return f"the namespace of the {value['kind']} {name} is not text", "quote it"
    return "", ""


def _diagnostic(
    document: Document, file: Path | None, path: str, message: str, hint: str
) -> Diagnostic:
    return Diagnostic(
        message,
        hint=hint,
        file=file,
        line=document.line,
        column=document.column,
        path=path.removesuffix("."),
    )
