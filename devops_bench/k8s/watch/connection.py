"""One TCP connection of one's own to the API server: LIST and WATCH, one after the other.

A fence only holds when its LIST and its watch are answered by the same server, so they have to go
over the same connection; a pool cannot promise that. Nothing of the environment (proxy variables,
``REQUESTS_CA_BUNDLE``) reaches this connection.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit

from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.kubeconfig import ConnectionConfig
from devops_bench.k8s.useragent import USER_AGENT

_READ_BYTES: Final = 1 << 16
# Far above the largest object that etcd stores (1.5 MiB by default).
_LINE_BYTES: Final = 1 << 26
_SHOWN_CHARS: Final = 200

_KEEPALIVE_IDLE_SEC: Final = 10
_KEEPALIVE_INTERVAL_SEC: Final = 5
_KEEPALIVE_COUNT: Final = 4
_USER_TIMEOUT_MS: Final = 30_000
"""A peer that acknowledges nothing for 30 s is dead; one that is only quiet is not."""


class Connection:
    """One connection; it is never opened again behind the caller's back.

    Used by one thread at a time, except :meth:`close_now`.

    Args:
        config: How to connect.
        timeout_sec: Seconds that connecting, and each answer, may take, > 0. A watch that is open
            has no such bound.

    Attributes:
        requests: How many requests were sent.

    Raises:
        ApiUnavailableError: The server does not answer.
    """

    def __init__(self, config: ConnectionConfig, timeout_sec: float) -> None:
        self.requests = 0
        self._config = config
        self._timeout_sec = timeout_sec
        url = urlsplit(config.server)
        self._base_path = url.path.rstrip("/")
        self._closed = False
        host = url.hostname or ""
        port = url.port or (443 if url.scheme == "https" else 80)
        self._http = http.client.HTTPConnection(host, port, timeout=timeout_sec)
        # What matters is that it stays the same connection: reconnecting would hide that it broke.
        self._http.auto_open = 0
        try:
            self._socket = _connected(config, host, port, timeout_sec)
        except (OSError, http.client.HTTPException) as exc:
            raise ApiUnavailableError(
                f"no connection to the API server {config.server}: {_text(exc)}"
            ) from exc
        self._http.sock = self._socket
        self._response: http.client.HTTPResponse | None = None

    def list(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """Return the body of a GET.

        Args:
            path: The path below the server's URL, quoted.
            query: Query parameters, unquoted.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer, or not to the end.
        """
        response = self._send(path, query or {})
        return self._body(response)

    def watch(
        self, path: str, query: Mapping[str, str], *, idle_sec: float | None = None
    ) -> Iterator[bytes]:
        """Open a watch and return its lines, without their newlines, as they come.

        The watch is open when this returns. Iterating ends when the server ends the watch between
        two lines.

        Args:
            path: The path of the collection.
            query: Query parameters beside ``watch``.
            idle_sec: Seconds without a byte after which it counts as broken; ``None`` for no bound.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer; while iterating: the connection broke, or the
                watch ended inside a line.
        """
        response = self._send(path, {**query, "watch": "1"})
        # A quiet kind sends nothing for minutes; keepalive tells a dead peer from a quiet one.
        self._socket.settimeout(idle_sec)
        return self._lines(response)

    def close_now(self) -> None:
        """End whatever another thread waits for here, at once; safe to call twice, any time."""
        self._closed = True
        with contextlib.suppress(OSError):  # not connected any more: that is what is wanted
            # Not SSLSocket.shutdown, which takes the TLS state away from the thread that reads.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it; only by the thread that uses it."""
        self._closed = True
        if self._response is not None:
            # It holds the socket open otherwise.
            self._response.close()
        self._http.close()
        self._socket.close()

    def _send(self, path: str, query: Mapping[str, str]) -> http.client.HTTPResponse:
        target = self._base_path + path + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        self.requests += 1
        try:
            self._http.request("GET", target, headers={**headers, **self._config.headers()})
            response = self._http.getresponse()
            self._response = response
        except (OSError, http.client.HTTPException) as exc:
            raise self._unavailable(_text(exc)) from exc
        if self._closed:
            raise self._unavailable("it was told to stop")
        if response.status != 200:
            body = self._body(response)
            raise _api_error(response.status, response.headers.get("Retry-After", ""), body)
        return response

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        try:
            return response.read()
        except (OSError, http.client.HTTPException) as exc:
            raise self._unavailable(_text(exc)) from exc

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        started: list[bytes] = []
        size = 0
        while True:
            try:
                chunk = response.read1(_READ_BYTES)
            except (OSError, http.client.HTTPException) as exc:
                raise self._unavailable(_text(exc)) from exc
            if not chunk:
                break
            *whole, rest = chunk.split(b"\n")
            if whole:
                whole[0] = b"".join((*started, whole[0]))
                started, size = [], 0
                yield from whole
            if rest:
                started.append(rest)
                size += len(rest)
                if size > _LINE_BYTES:
                    raise self._unavailable(f"a line is longer than {_LINE_BYTES} bytes")
        if started:
            raise self._unavailable("the watch ended inside a line")

    def _unavailable(self, why: str) -> ApiUnavailableError:
        return ApiUnavailableError(f"the connection to {self._config.server} broke: {why}")


def _connected(config: ConnectionConfig, host: str, port: int, timeout_sec: float) -> socket.socket:
    if config.proxy_url:
        proxy = urlsplit(config.proxy_url)
        tunnel = http.client.HTTPConnection(
            proxy.hostname or "", proxy.port or 80, timeout=timeout_sec
        )
        tunnel.set_tunnel(host, port)
        tunnel.connect()
        plain = tunnel.sock
    else:
        plain = socket.create_connection((host, port), timeout=timeout_sec)
    _detect_dead_peers(plain)
    if config.ssl_context is None:
        return plain
    try:
        return config.ssl_context.wrap_socket(plain, server_hostname=config.server_hostname or host)
    except OSError:
        plain.close()
        raise


def _detect_dead_peers(sock: socket.socket) -> None:
    """Let the kernel find out that the other side is gone; names differ between systems."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        "TCP_KEEPIDLE": _KEEPALIVE_IDLE_SEC,
        "TCP_KEEPALIVE": _KEEPALIVE_IDLE_SEC,
        "TCP_KEEPINTVL": _KEEPALIVE_INTERVAL_SEC,
        "TCP_KEEPCNT": _KEEPALIVE_COUNT,
        "TCP_USER_TIMEOUT": _USER_TIMEOUT_MS,
    }
    for name, value in options.items():
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def _api_error(status: int, retry_after: str, body: bytes) -> ApiError:
    try:
        parsed: JsonValue = json.loads(body)
    except ValueError:
        parsed = None
    details: JsonObject = parsed if isinstance(parsed, dict) else {}
    reason, message = details.get("reason"), details.get("message")
    shown = " ".join(body[: 4 * _SHOWN_CHARS].decode("utf-8", "replace").split())[:_SHOWN_CHARS]
    return ApiError(
        status,
        reason if isinstance(reason, str) else "",
        message if isinstance(message, str) and message else shown or f"HTTP status {status}",
        float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None,
    )


def _text(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return "no answer within the time allowed"
    if isinstance(exc, http.client.IncompleteRead):
        return "the answer ended before it was complete"
    return " ".join(f"{type(exc).__name__}: {exc}".split())
