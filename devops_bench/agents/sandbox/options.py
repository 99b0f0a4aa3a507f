"""What an agent may see and reach in a sandbox."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from devops_bench.core.errors import InvalidInputError

SandboxKind = Literal["bwrap", "docker"]

DEFAULT_PORT = 443
"""The port of an allowed host that names none."""

_NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\Z")


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """A host and a port that may be reached.

    Attributes:
        host: A name in lower case, or an IP address.
        port: 1 to 65535.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    """What the user asked for.

    Attributes:
        kind: Which sandbox.
        allowed: What may be reached besides the API server.
        readable: Files and folders that may be read besides the system's programs; absolute.
        hidden: Folders of ours (the spec's, the results') that must not be seen even where one is
            below what a sandbox shows; absolute.
        image: The image of ``docker``, as its daemon knows it; ``None`` for ``bwrap``.
    """

    kind: SandboxKind
    allowed: tuple[Endpoint, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    image: str | None = None


def parse_endpoint(text: str) -> Endpoint:
    """Return ``HOST``, ``HOST:PORT``, ``ADDRESS``, ``ADDRESS:PORT`` or ``[ADDRESS]:PORT``.

    Raises:
        InvalidInputError: It is something else: a URL, a wildcard, a port out of range.
    """
    host, port_text = text, ""
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", text)
    if bracketed is not None:
        host, port_text = bracketed[1], bracketed[2] or ""
    elif text.count(":") == 1:
        host, _, port_text = text.partition(":")
        if not port_text:
            port_text = "-"
    port = int(port_text) if port_text.isascii() and port_text.isdigit() else None
    if not port_text:
        port = DEFAULT_PORT
    host = host.lower().rstrip(".")
    if port is None or not 0 < port < 65536 or not _is_host(host):
        raise InvalidInputError(
            f"--allow-host {text!r} is not HOST or HOST:PORT (no URL, no wildcard, no network)"
        )
    return Endpoint(host, port)


def require_resolvable(endpoint: Endpoint) -> None:
    """Look its name up, as the door to it will for each connection.

    Raises:
        InvalidInputError: It has no address, or nobody says which.
    """
    try:
        socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        reason = (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
        raise InvalidInputError(
            f"--allow-host {endpoint}: {endpoint.host} does not resolve on this machine "
            f"({reason}), so the agent could not reach it"
        ) from exc


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return (
            len(host) <= 253
            and _NAME.match(host) is not None
            and not host.rpartition(".")[2].isdigit()
        )
    return True
