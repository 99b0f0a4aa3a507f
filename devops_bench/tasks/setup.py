"""``setup`` of a task file: files below its folder, and inline objects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.paths import resolve_below
from devops_bench.k8s.manifests import read_manifests
from devops_bench.tasks import rule_ids
from devops_bench.tasks.findings import Findings
from devops_bench.tasks.model import McpServer
from devops_bench.tasks.schema import McpServerFile
from devops_bench.tasks.yaml import DocPath, decode

MAX_MANIFEST_BYTES: Final = 16 * 1024 * 1024
"""A manifest of more bytes is refused; bundles of CustomResourceDefinitions reach some MiB."""


def read_manifest_files(
    raw: JsonValue, folder: Path, findings: Findings, open_paths: Collection[DocPath]
) -> tuple[tuple[Path, ...], tuple[JsonObject, ...], tuple[int, ...]]:
    """Return the manifests' files, every object in them, and which item each came from.

    What is wrong is added.

    Args:
        raw: ``setup.manifests`` as the file has it; what is not a list of texts is passed over.
        folder: The spec's folder; a file outside of it is never opened.
        findings: Gets what is wrong.
        open_paths: Values with an unset variable: such a file is not looked for.
    """
    files: list[Path] = []
    objects: list[JsonObject] = []
    items: list[int] = []
    for index, name in enumerate(raw if isinstance(raw, list) else []):
        path: DocPath = ("setup", "manifests", index)
        if not isinstance(name, str) or path in open_paths:
            continue
        file = file_below(folder, name, path, findings)
        if file is None:
            continue
        text = _text_of(file, name, path, findings)
        if text is None:
            continue
        try:
            found = read_manifests(text, file)
        except InvalidInputError as exc:
            findings.extend(replace(one, rule=rule_ids.SETUP_OBJECT) for one in exc.diagnostics)
            found = []
        objects += found
        items += [index] * len(found)
        files.append(file)
    return tuple(files), tuple(objects), tuple(items)


def read_objects(raw: JsonValue, findings: Findings) -> tuple[JsonObject, ...]:
    """Return ``setup.objects``; an object that could not be created or deleted is an error."""
    objects: list[JsonObject] = []
    for index, item in enumerate(raw if isinstance(raw, list) else []):
        if not isinstance(item, dict):
            continue
        path: DocPath = ("setup", "objects", index)
        if isinstance(item.get("items"), list) and str(item.get("kind")).endswith("List"):
            hint = "write its items here one by one, or put it into a file under setup.manifests"
            message = f"a {item['kind']} is not an object"
            findings.add((*path, "kind"), message, hint, rule=rule_ids.SETUP_OBJECT)
            continue
        for key in ("apiVersion", "kind"):
            _require_text(item.get(key), (*path, key), f"an object needs {key}", findings)
        metadata = item.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        message = "an object needs metadata.name"
        if "generateName" in fields:
            message += ", by which it is waited for and deleted: generateName is not enough"
        _require_text(fields.get("name"), (*path, "metadata", "name"), message, findings)
        if "namespace" in fields:
            where = (*path, "metadata", "namespace")
            _require_text(fields["namespace"], where, "the namespace is not text", findings)
        # As manifests are read: the server refuses 3.0 where it wants a whole number.
        objects.append({key: _whole(one) for key, one in item.items()})
    return tuple(objects)


def _whole(value: JsonValue) -> JsonValue:
    """Return a value with ``3`` for ``3.0``."""
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_mcp_servers(raw: JsonValue) -> dict[str, McpServer]:
    """Return ``mcp_servers``; what is wrong with one was found before, and it is left out."""
    servers: dict[str, McpServer] = {}
    for name, value in raw.items() if isinstance(raw, dict) else ():
        try:
            one = McpServerFile.model_validate(value)
        except ValidationError:
            continue
        servers[name] = McpServer(one.command, tuple(one.args), one.env, one.url)
    return servers


def file_below(folder: Path, name: str, path: DocPath, findings: Findings) -> Path | None:
    """Return the file that a spec names, or ``None`` after saying what is wrong with it.

    Args:
        folder: The spec's folder; nothing outside of it is ever opened.
        name: What the spec says, relative to ``folder``.
        path: Where the spec says it.
        findings: Gets what is wrong.
    """
    try:
        file = resolve_below(folder, name)
    except InvalidInputError as exc:
        hint = "name a file below the spec's folder, relative to it"
        findings.add(path, str(exc), hint, rule=rule_ids.SETUP_FILE)
        return None
    if not file.is_file():
        what = "is not a regular file" if file.exists() else "does not exist"
        hint = f"it is looked for in {folder}"
        findings.add(path, f"{name!r} {what}", hint, rule=rule_ids.SETUP_FILE)
        return None
    return file


def _text_of(file: Path, name: str, path: DocPath, findings: Findings) -> str | None:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_MANIFEST_BYTES + 1)
    except OSError as exc:
        message = f"{name!r} cannot be read: {exc.strerror or exc}"
        findings.add(path, message, rule=rule_ids.SETUP_FILE)
        return None
    text, diagnostics = decode(data, file, limit=MAX_MANIFEST_BYTES)
    findings.extend(replace(found, rule=rule_ids.SETUP_FILE) for found in diagnostics)
    return None if diagnostics else text


def _require_text(value: JsonValue, path: DocPath, message: str, findings: Findings) -> None:
    if not isinstance(value, str) or not value.strip():
        findings.add(path, message, "write it as non-empty text", rule=rule_ids.SETUP_OBJECT)
