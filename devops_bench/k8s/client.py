"""A connection to one API server: raw JSON requests, with every failure named.

The Kubernetes client library is used for configuration and authentication only; its typed APIs
cost half a second to load and more per read. Requests go through a pool of our own, which heeds
no proxy variable and no ``REQUESTS_CA_BUNDLE`` of the environment.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InsecureRequestWarning,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.kubeconfig import ConnectionConfig, load_connection, minimal_kubeconfig
from devops_bench.k8s.useragent import USER_AGENT

__all__ = ["ApiClient", "ConnectionConfig", "connect", "load_connection", "minimal_kubeconfig"]

_CHUNK_BYTES: Final = 1 << 16
_SHOWN_BODY_CHARS: Final = 200
_RENEW_INTERVAL_SEC: Final = 10.0


def connect(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    timeout_sec: float = 10.0,
    shown_as: str = "",
) -> ApiClient:
    """Connect to a cluster and make sure that it answers and accepts the credentials.

    Args:
        kubeconfig: The file; ``None`` for the files of ``$KUBECONFIG``, else ``~/.kube/config``.
        context: A context's name; ``None`` for the current context.
        timeout_sec: Seconds that the server may take to answer, > 0.
        shown_as: What messages call the file, when it is a copy of the user's.

    Returns:
        A client that has been answered once.

    Raises:
        InvalidInputError: The kubeconfig or the context is wrong.
        ApiUnavailableError: The server did not answer.
        ApiError: It answered with an error, e.g. 401 for credentials that it does not accept.
        ClusterError: A credential plug-in failed.
    """

    def load() -> ConnectionConfig:
        return load_connection(kubeconfig, context, shown_as=shown_as)

    client = ApiClient(load(), renew=load)
    try:
        client.server_version(timeout_sec)
    except BaseException:
        client.close()
        raise
    return client


class ApiClient:
    """Sends requests to one API server. Thread-safe: connections are pooled.

    Args:
        config: How to connect.
        renew: Loads the configuration again; called when the server answers 401 and the
            configuration is renewable, at most once in ten seconds.
        clock: Where durations come from.
    """

    def __init__(
        self,
        config: ConnectionConfig,
        *,
        renew: Callable[[], ConnectionConfig] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._connection = _Connection(config)
        self._renew = renew
        self._renewed_at = float("-inf")
        self._renew_lock = threading.Lock()
        self._clock = clock

    @property
    def config(self) -> ConnectionConfig:
        """How this client connects now, for connections of one's own (watching)."""
        return self._connection.config

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout_sec: float,
    ) -> JsonObject:
        """Send one request and return the parsed answer. Nothing is retried.

        Args:
            method: The HTTP method.
            path: The path below the server's URL, quoted, e.g. ``/api/v1/namespaces``.
            query: Query parameters, unquoted.
            body: The body, sent as JSON; ``None`` for none.
            content_type: What the body is, e.g. ``application/apply-patch+yaml``.
            accept: The media types that are understood.
            timeout_sec: Seconds until the last byte of the answer, > 0.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer in time, or not with a JSON object.
        """
        headers = {"Accept": accept, "User-Agent": USER_AGENT}
        data: bytes | None = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        target = f"{path}?{urlencode(query)}" if query else path
        deadline = self._clock.monotonic() + timeout_sec
        connection = self._connection
        status, answer_headers, answer = self._send(
            connection, method, target, data, headers, deadline
        )
        if status == 401 and self._renew_credentials(connection):
            connection = self._connection
            status, answer_headers, answer = self._send(
                connection, method, target, data, headers, deadline
            )
        if status >= 300:
            raise _api_error(connection.config, status, answer_headers, answer)
        return _parsed(connection.config, target, answer)

    def server_version(self, timeout_sec: float) -> str:
        """Return the server's version as it says it, e.g. ``v1.36.3``.

        Args:
            timeout_sec: Seconds that the answer may take, > 0.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer.
        """
        version = self.request("GET", "/version", timeout_sec=timeout_sec).get("gitVersion")
        return version if isinstance(version, str) else "unknown"

    def close(self) -> None:
        """Close the pooled connections; a later request opens new ones."""
        self._connection.pool.clear()

    def _send(
        self,
        connection: _Connection,
        method: str,
        target: str,
        data: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
    ) -> tuple[int, Mapping[str, str], bytes]:
        config = connection.config
        all_headers = {**headers, **config.headers()}
        remaining = deadline - self._clock.monotonic()
        if remaining <= 0:
            _unavailable(config, "no time was left to ask it")
        try:
            response = connection.pool.request(
                method,
                config.server + target,
                body=data,
                headers=all_headers,
                timeout=urllib3.Timeout(total=remaining),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            answer = self._read(config, response, deadline)
        except (HTTPError, OSError) as exc:
            raise ApiUnavailableError(
                f"the API server {config.server} did not answer: {_cause(exc, config)}"
            ) from exc
        return response.status, response.headers, answer

    def _read(
        self, config: ConnectionConfig, response: urllib3.BaseHTTPResponse, deadline: float
    ) -> bytes:
        chunks: list[bytes] = []
        complete = False
        try:
            # urllib3's timeout is per read: an answer that trickles in would have no end.
            while chunk := response.read1(_CHUNK_BYTES):
                chunks.append(chunk)
                if self._clock.monotonic() > deadline:
                    _unavailable(config, "its answer was not complete in time")
            complete = True
        finally:
            if complete:
                response.release_conn()
            else:
                response.close()
        return b"".join(chunks)

    def _renew_credentials(self, used: _Connection) -> bool:
        """Load the credentials again after a 401; return whether another try makes sense."""
        if self._renew is None or not used.config.renewable:
            return False
        with self._renew_lock:
            if self._connection is not used:
                return True
            if self._clock.monotonic() - self._renewed_at < _RENEW_INTERVAL_SEC:
                return False
            self._renewed_at = self._clock.monotonic()
            self._connection = _Connection(self._renew())
            used.pool.clear()
            return True


class _Connection:
    """A configuration and the pool that was made from it: they change together."""

    def __init__(self, config: ConnectionConfig) -> None:
        self.config = config
        self.pool = _pool(config)


def _pool(config: ConnectionConfig) -> urllib3.PoolManager:
    # Without a limit that blocks: a view must never wait for another one's connection.
    options: dict[str, object] = {"num_pools": 2, "maxsize": 64, "block": False, "retries": False}
    context = config.ssl_context
    if context is not None:
        options["ssl_context"] = context
        if config.server_hostname is not None:
            options["server_hostname"] = config.server_hostname
        if not context.check_hostname:
            # The kubeconfig says so; a warning with every request would drown everything else.
            urllib3.disable_warnings(InsecureRequestWarning)
    if config.proxy_url:
        return urllib3.ProxyManager(config.proxy_url, **options)  # type: ignore[arg-type]
    return urllib3.PoolManager(**options)  # type: ignore[arg-type]


def _parsed(config: ConnectionConfig, target: str, answer: bytes) -> JsonObject:
    try:
        parsed = json.loads(answer)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ApiUnavailableError(
            f"{config.server}{target} did not answer with a JSON object: is it an API server?"
        )
    return parsed


def _api_error(
    config: ConnectionConfig, status: int, headers: Mapping[str, str], answer: bytes
) -> ApiError:
    """Make an error of a ``Status`` object, or of whatever stood in its place."""
    try:
        parsed = json.loads(answer)
    except ValueError:
        parsed = None
    details: JsonObject = parsed if isinstance(parsed, dict) else {}
    reason = details.get("reason")
    message = details.get("message")
    if not isinstance(message, str) or not message:
        text = " ".join(answer[: 4 * _SHOWN_BODY_CHARS].decode("utf-8", "replace").split())
        message = text[:_SHOWN_BODY_CHARS] or f"HTTP status {status}"
    if status == 401:
        message = (
            f"the API server {config.server} does not accept the credentials of {config.source} "
            f"(401 {message}): a token or certificate that expired or is not its own?"
        )
    retry_after = headers.get("Retry-After", "")
    return ApiError(
        status,
        reason if isinstance(reason, str) else "",
        message,
        float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None,
    )


def _unavailable(config: ConnectionConfig, why: str) -> NoReturn:
    raise ApiUnavailableError(f"the API server {config.server} did not answer: {why}")


def _cause(exc: Exception, config: ConnectionConfig) -> str:
    """Say in a few words why no answer came."""
    root = exc.__cause__ or exc.__context__
    if isinstance(root, socket.gaierror):
        return f"its name does not resolve ({root.strerror})"
    if isinstance(exc, NewConnectionError):
        why = root.strerror if isinstance(root, OSError) and root.strerror else exc
        return " ".join(str(why).lower().split())
    if isinstance(exc, ConnectTimeoutError):
        return "no connection within the time allowed"
    if isinstance(exc, ReadTimeoutError):
        return "no answer within the time allowed"
    if isinstance(exc, SSLError):
        return (
            f"TLS failed ({' '.join(str(exc).split())}): does the certificate authority of "
            f"{config.source} belong to this server?"
        )
    return " ".join(f"{type(exc).__name__}: {exc}".split())
