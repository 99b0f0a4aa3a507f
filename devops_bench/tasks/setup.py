"""``setup`` and ``controls`` of a task file: files below its folder, inline objects, scripts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.paths import resolve_below
from devops_bench.k8s.manifests import read_manifests
from devops_bench.tasks import rule_ids
from devops_bench.tasks.findings import Findings
from devops_bench.tasks.model import Controls, Oracle
from devops_bench.tasks.yaml import DocPath, decode

MAX_MANIFEST_BYTES: Final = 16 * 1024 * 1024
"""A manifest of more bytes is refused; bundles of CustomResourceDefinitions reach some MiB."""


def read_manifest_files(
    raw: JsonValue, folder: Path, findings: Findings, open_paths: Collection[DocPath]
) -> tuple[tuple[Path, ...], tuple[JsonObject, ...]]:
    """Return the manifests' files and every object in them; what is wrong is added.

    Args:
        raw: ``setup.manifests`` as the file has it; what is not a list of texts is passed over.
        folder: The spec's folder; a file outside of it is never opened.
        findings: Gets what is wrong.
        open_paths: Values with an unset variable: such a file is not looked for.
    """
    files: list[Path] = []
    objects: list[JsonObject] = []
    for index, name in enumerate(raw if isinstance(raw, list) else []):
        path: DocPath = ("setup", "manifests", index)
        if not isinstance(name, str) or path in open_paths:
            continue
        file = _file_below(folder, name, path, findings)
        if file is None:
            continue
        text = _text_of(file, name, path, findings)
        if text is None:
            continue
        try:
            objects += read_manifests(text, file)
        except InvalidInputError as exc:
            findings.extend(replace(found, rule=rule_ids.SETUP_OBJECT) for found in exc.diagnostics)
        files.append(file)
    return tuple(files), tuple(objects)


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
        objects.append(item)
    return tuple(objects)


def read_controls(
    raw: JsonValue, folder: Path, findings: Findings, open_paths: Collection[DocPath]
) -> Controls:
    """Return ``controls``; the oracle's script must be a file below ``folder``."""
    oracle = raw.get("oracle") if isinstance(raw, dict) else None
    if not isinstance(oracle, dict):
        return Controls()
    script, run = oracle.get("script"), oracle.get("run")
    if isinstance(run, str):
        return Controls(Oracle(run=run))
    path: DocPath = ("controls", "oracle", "script")
    if not isinstance(script, str) or path in open_paths:
        return Controls()
    file = _file_below(folder, script, path, findings)
    return Controls(Oracle(script=file)) if file is not None else Controls()


def _file_below(folder: Path, name: str, path: DocPath, findings: Findings) -> Path | None:
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
