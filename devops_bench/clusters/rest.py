"""The few requests that bringing up a plane needs, without any client library."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path

from devops_bench.core.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered.

    Attributes:
        status: The HTTP status code, 0 when it did not answer.
        body: The body, or why there was no answer.
    """

    status: int
    body: str

    @property
    def ok(self) -> bool:
        """Whether the status is in 200..299."""
        return 200 <= self.status < 300

    def json(self) -> JsonObject:
        """Return the body's JSON object, empty when it is something else."""
        try:
            value: JsonValue = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


class Loopback:
    """Requests to a TLS server on 127.0.0.1; proxy and CA variables of the environment are ignored.

    Args:
        port: The server's port.
        ca_file: The authority that must have signed its certificate.
        token: The bearer token, empty for none.
        timeout_sec: Seconds per request, > 0.
    """

    def __init__(self, port: int, ca_file: Path, token: str = "", timeout_sec: float = 5.0) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(ca_file))
        self._token = token
        self._timeout = timeout_sec

    def get(self, path: str) -> Answer:
        """Send a GET; never raises for a server that does not answer."""
        return self._request("GET", path, None)

    def post(self, path: str, body: JsonObject) -> Answer:
        """Send a POST of JSON; never raises for a server that does not answer."""
        return self._request("POST", path, json.dumps(body))

    def _request(self, method: str, path: str, body: str | None) -> Answer:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=self._timeout, context=self._context
        )
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(errors="replace"))
        except (OSError, http.client.HTTPException) as exc:
            return Answer(0, str(exc) or type(exc).__name__)
        finally:
            connection.close()
