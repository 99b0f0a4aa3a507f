"""Where a sandboxed agent finds what it may reach: addresses on the loopback of its own network."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from devops_bench.agents.sandbox.options import DEFAULT_PORT, Endpoint
from devops_bench.core.errors import AgentError
from devops_bench.core.json import JsonObject, JsonValue

_NAMED = ipaddress.IPv4Address("127.0.77.1")
"""The address of the first host that has a name; the next ones follow."""


@dataclass(frozen=True, slots=True)
class Door:
    """One thing that may be reached.

    Attributes:
        listen: The address at which the agent finds it, in its own network.
        target: What is behind it, in ours.
    """

    listen: Endpoint
    target: Endpoint

    def as_json(self) -> JsonObject:
        """Return it for the order of ``jail.py``."""
        return {
            "listen": [self.listen.host, self.listen.port],
            "target": [self.target.host, self.target.port],
        }


def make_doors(targets: Iterable[Endpoint]) -> tuple[Door, ...]:
    """Return a door for each target, in their order, each once.

    An address is found under itself. A name is found at a loopback address that :func:`hosts_file`
    says; all ports of a name have the same one.
    """
    addresses: dict[str, str] = {"localhost": "127.0.0.1"}
    doors = []
    for target in dict.fromkeys(targets):
        host = target.host
        if not _is_address(host) and host not in addresses:
            addresses[host] = str(_NAMED + len(addresses) - 1)
        doors.append(Door(Endpoint(addresses.get(host, host), target.port), target))
    return tuple(doors)


def hosts_file(doors: Iterable[Door]) -> str:
    """Return the text of ``/etc/hosts``: ``localhost`` and the names of the doors, nothing else."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for door in doors:
        host = door.target.host
        line = f"{door.listen.host} {host}"
        if host != "localhost" and not _is_address(host) and line not in lines:
            lines.append(line)
    return "\n".join(lines) + "\n"


def api_servers(kubeconfig: Path | None) -> tuple[Endpoint, ...]:
    """Return where the clusters of a kubeconfig are.

    Args:
        kubeconfig: The agent's own, whose clusters are all its business; ``None`` for none.

    Raises:
        AgentError: It cannot be read, or a server in it is no URL.
    """
    if kubeconfig is None:
        return ()
    try:
        config: JsonValue = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as exc:
        raise AgentError(f"the agent's kubeconfig cannot be read: {exc}") from exc
    clusters = config.get("clusters") if isinstance(config, dict) else None
    found = []
    for entry in clusters if isinstance(clusters, list) else []:
        cluster = entry.get("cluster") if isinstance(entry, dict) else None
        server = cluster.get("server") if isinstance(cluster, dict) else None
        if isinstance(server, str):
            found.append(_endpoint_of(server))
    return tuple(dict.fromkeys(found))


def _endpoint_of(url: str) -> Endpoint:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None:
        raise AgentError(f"the server {url!r} of the agent's kubeconfig is no URL")
    return Endpoint(host, port or (80 if parts.scheme == "http" else DEFAULT_PORT))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
