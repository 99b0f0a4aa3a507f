"""Which credentials the harness knows, so that they are kept out of the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from devops_bench.core.json import JsonValue
from devops_bench.core.redaction import PRIVATE_KEY_BEGIN, SECRET_NAMES

# https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/#AuthInfo
_FILES: Final = frozenset({"tokenFile", "client-key"})


def secrets_of_environment(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables whose names say that they are secrets; a path is none.

    Args:
        environment: The variables.
    """
    for name, value in environment.items():
        if SECRET_NAMES.search(name) and not _is_path(value):
            yield value


def secrets_of_file(path: Path) -> Iterator[str]:
    """Yield the credentials in a kubeconfig and in the files that it names, or a private key.

    What cannot be read holds none that an agent gets.

    Args:
        path: The kubeconfig, or a file with a private key.
    """
    text = _text(path)
    if PRIVATE_KEY_BEGIN.match(text):
        yield text
        return
    try:
        config: JsonValue = yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return
    users = config.get("users") if isinstance(config, dict) else None
    queue: list[tuple[str, JsonValue]] = [("", users)]
    while queue:
        name, value = queue.pop()
        if isinstance(value, dict):
            queue += value.items()
            named = value.get("name")
            if isinstance(named, str):  # a variable of a plug-in
                queue.append((named, value.get("value")))
        elif isinstance(value, list):
            queue += [(name, item) for item in value]
        elif isinstance(value, str) and name in _FILES:
            yield _text(path.parent / value).strip()
        elif isinstance(value, str) and SECRET_NAMES.search(name):
            yield value


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _is_path(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or it holds a NUL
        return False
