"""The applications that a task may use, and what their containers are called.

The table is the data file ``sites.json`` beside this module: by application, ``container`` and
``database`` are suffixes of the container's name; without ``database`` there is none.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import DuplicateKeyError, JsonValue, parse_written

PREFIX_VARIABLE: Final = "SAAS_SLOT_PREFIX"
"""The variable of our environment that holds the first part of every container's name."""
DEFAULT_PREFIX: Final = "rollout"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_SUFFIX: Final = re.compile(r"[A-Za-z0-9_.-]*")
_KEYS: Final = frozenset({"container", "database"})


@dataclass(frozen=True, slots=True)
class Site:
    """What an application's containers are called.

    Attributes:
        container: The suffix of its container.
        database: The suffix of its database's container, ``None`` without a database.
    """

    container: str = ""
    database: str | None = None


Sites = Mapping[str, Site]
"""Applications by their name."""


def load_sites(extra: Path | None = None) -> Sites:
    """Return the built-in table, with the entries of a file of the same shape over it.

    Args:
        extra: A JSON file of the user's; an application that is in both is the file's.

    Raises:
        InvalidInputError: The file cannot be read, or is not of that shape.
    """
    sites = _read(Path(__file__).with_name("sites.json"))
    if extra is not None:
        sites.update(_read(extra))
    return MappingProxyType(sites)


def is_site_name(name: str) -> bool:
    """Return whether a name can be an application's, and so part of a variable's name."""
    return _NAME.fullmatch(name) is not None


def site_environment(
    names: Iterable[str],
    sites: Sites,
    *,
    prefix: str,
    slot: int,
    ports: Mapping[str, int],
) -> dict[str, str]:
    """Return the variables of a task's applications.

    Args:
        names: What the task declares. One that is not in ``sites`` has a container without a
            suffix and no database.
        sites: The table.
        prefix: The first part of every container's name.
        slot: The slot that the containers belong to, ≥ 0.
        ports: Ports by application; one that is missing sets no ``<APP>_PORT``.

    Raises:
        InvalidInputError: Two applications would have the same variable.
    """
    env: dict[str, str] = {}
    owners: dict[str, str] = {}
    for name in names:
        site = sites.get(name, Site())
        variable = name.upper().replace("-", "_")
        container = f"{prefix}_{slot}_{name}"
        own = {f"{variable}_CONTAINER": container + site.container}
        if name in ports:
            own[f"{variable}_PORT"] = str(ports[name])
        if site.database is not None:
            own[f"{variable}_DB_CONTAINER"] = container + site.database
        for key in own:
            other = owners.setdefault(key, name)
            if other != name:
                raise InvalidInputError(f"the sites {other!r} and {name!r} both set {key}")
        env.update(own)
    return env


def read_port_map(file: Path, known: Container[str]) -> dict[str, int]:
    """Return the ports of a JSON file, ``{"baserow": 8080}``.

    Args:
        file: The file.
        known: The names that a site may have.

    Raises:
        InvalidInputError: The file cannot be read, is not of that shape, has a name twice, or one
            that is not known.
    """
    ports: dict[str, int] = {}
    for name, port in _json_map(file).items():
        if name not in known:
            raise InvalidInputError(
                f"{file}: {name!r} is no known site and none of the tasks' (--sites adds it)"
            )
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
            raise InvalidInputError(f"{file}: the port of {name!r} should be 1 to 65535")
        ports[name] = port
    return ports


def _read(file: Path) -> dict[str, Site]:
    sites: dict[str, Site] = {}
    for name, entry in _json_map(file).items():
        if not is_site_name(name):
            raise InvalidInputError(f"{file}: {name!r} is no name: letters, digits, - and _")
        if not isinstance(entry, dict) or entry.keys() - _KEYS:
            raise InvalidInputError(
                f'{file}: {name!r} should be a map with "container" and "database", both optional'
            )
        for key, suffix in entry.items():
            if suffix is None and key == "database":
                continue
            if not isinstance(suffix, str) or not _SUFFIX.fullmatch(suffix):
                raise InvalidInputError(
                    f'{file}: {key} of {name!r} should be a suffix such as "-mysql", or ""'
                )
        container, database = entry.get("container", ""), entry.get("database")
        sites[name] = Site(str(container), None if database is None else str(database))
    return sites


def _json_map(file: Path) -> dict[str, JsonValue]:
    try:
        data = parse_written(file.read_bytes())
    except OSError as exc:
        raise InvalidInputError(f"{file} cannot be read: {exc.strerror}") from exc
    except DuplicateKeyError as exc:
        raise InvalidInputError(f"{file}: {exc}") from exc
    except ValueError as exc:
        raise InvalidInputError(f"{file} is no JSON: {exc}") from exc
    if not isinstance(data, dict):
        raise InvalidInputError(f"{file} should be a JSON object, by the name of the site")
    return data
