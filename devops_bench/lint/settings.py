"""Lint's settings: ``[tool.devops-bench.lint]`` of a pyproject.toml, or a devops-bench.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from devops_bench.core.diagnostics import Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.similar import closest

FailOn: TypeAlias = Literal["error", "warning", "notice", "never"]

OWN_FILE: Final = "devops-bench.toml"
PROJECT_FILE: Final = "pyproject.toml"
FAIL_ON: Final[tuple[FailOn, ...]] = ("error", "warning", "notice", "never")
_DEEPEST: Final = 2
_KEYS: Final = ("select", "ignore", "fail-on", "kubernetes-version", "crds")
_FAILING: Final[Mapping[FailOn, frozenset[Level]]] = {
    "error": frozenset({Level.ERROR}),
    "warning": frozenset({Level.ERROR, Level.WARNING}),
    "notice": frozenset(Level),
    "never": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a file says; ``None`` or empty for what it does not say.

    Attributes:
        select: Rules that are looked for.
        ignore: Rules that are not.
        fail_on: From which level on a finding makes the exit code 1.
        kubernetes_version: Of the schemas.
        crds: Files with CustomResourceDefinitions, absolute.
        file: Where this was read.
        passed_over: A file of the same folder with settings, too, which are not read.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: FailOn | None = None
    kubernetes_version: str | None = None
    crds: tuple[Path, ...] = ()
    file: Path | None = None
    passed_over: Path | None = None


def fails(level: Level, fail_on: FailOn) -> bool:
    """Return whether a finding of ``level`` makes the exit code 1."""
    return level in _FAILING[fail_on]


def find_settings(folder: Path) -> Settings:
    """Return the settings of ``folder``: those of the first file in it or above that has any.

    In one folder a devops-bench.toml goes before a pyproject.toml. A file only counts with its
    table, ``[lint]`` or ``[tool.devops-bench.lint]``.

    Raises:
        InvalidInputError: The file cannot be read, or says something that is not known.
    """
    absolute = folder.resolve()
    for parent in (absolute, *absolute.parents):
        files = (parent / name for name in (OWN_FILE, PROJECT_FILE))
        found = [read_settings(file, required=False) for file in files if file.is_file()]
        said = [one for one in found if one is not None]
        if said:
            return replace(said[0], passed_over=said[1].file if len(said) > 1 else None)
    return Settings()


def read_settings(file: Path, *, required: bool = True) -> Settings | None:
    """Read the settings of one file.

    Args:
        file: A pyproject.toml or any file in the form of devops-bench.toml.
        required: Whether a file without our table is an error; else it is ``None``.

    Raises:
        InvalidInputError: The file cannot be read, or says something that is not known.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise InvalidInputError(f"{file} cannot be read: {reason}") from exc
    keys = ("tool", "devops-bench", "lint") if file.name == PROJECT_FILE else ("lint",)
    table: object = data
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    if table is None:
        if required:
            raise InvalidInputError(f"{file} has no table [{'.'.join(keys)}]{_instead(data, keys)}")
        return None
    if not isinstance(table, dict):
        raise InvalidInputError(f"{file}: [{'.'.join(keys)}] is not a table")
    return _settings(table, file)


def _instead(data: Mapping[str, object], keys: tuple[str, ...]) -> str:
    """Return what a file has in the place of our table, for a message."""
    there = {".".join(path): path for path in _tables(data)}
    ours = ".".join(keys)
    for other in ("tool.devops-bench.lint", "lint"):
        if other in there:
            where = f"a {PROJECT_FILE}" if other != "lint" else "any other file"
            return f" (it has [{other}], which is for {where}: write [{ours}])"
    if found := closest(ours, there):
        return f" (it has [{found}]: write [{ours}])"
    if used := next((key for key in _KEYS if key in data), None):
        return f" (it has {used} at the top: write [{ours}] above it)"
    return ""


def _tables(data: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield (*above, key)
            if len(above) < _DEEPEST:
                yield from _tables(value, (*above, key))


def _settings(table: Mapping[str, object], file: Path) -> Settings:
    for key in table:
        if key not in _KEYS:
            close = closest(key, _KEYS)
            hint = f"did you mean {close!r}?" if close is not None else f"known: {', '.join(_KEYS)}"
            raise InvalidInputError(f"{file}: the setting {key!r} is not known ({hint})")
    fail_on = _text(table, "fail-on", file)
    if fail_on is not None and fail_on not in FAIL_ON:
        raise InvalidInputError(f"{file}: fail-on is one of {', '.join(FAIL_ON)}")
    return Settings(
        select=_texts(table, "select", file),
        ignore=_texts(table, "ignore", file),
        fail_on=fail_on,
        kubernetes_version=_text(table, "kubernetes-version", file),
        crds=tuple(file.parent / name for name in _texts(table, "crds", file)),
        file=file,
    )


def _text(table: Mapping[str, object], key: str, file: Path) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{file}: {key} is text in quotes")
    return value


def _texts(table: Mapping[str, object], key: str, file: Path) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise InvalidInputError(f"{file}: {key} is a list of texts")
    return tuple(value)
