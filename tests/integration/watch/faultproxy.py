"""A proxy between the watcher and the API server that breaks what the test tells it to break.

The watcher speaks plain HTTP to it; it speaks TLS to the API server with the watcher's own token.
It understands requests and the lines of a watch, so a fault can be placed exactly.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

_TIMEOUT_SEC = 120.0


@dataclass(frozen=True)
class Request:
    """One request of the watcher."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def watch(self) -> bool:
        return self.query.get("watch") in ("1", "true")


@dataclass
class Answer:
    """An answer of the proxy's own, in the server's place."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"kind":"Status","status":"Failure","message":"made by the test"}'


class Reset(Exception):  # noqa: N818
    """Send ``prefix``, then reset the connection."""

    def __init__(self, prefix: bytes = b"") -> None:
        super().__init__()
        self.prefix = prefix


class End(Exception):  # noqa: N818
    """Send ``prefix``, then end the answer as HTTP demands."""

    def __init__(self, prefix: bytes = b"") -> None:
        super().__init__()
        self.prefix = prefix


class Freeze(Exception):  # noqa: N818
    """Send nothing any more, and keep the connection."""


OnRequest = Callable[[Request], Answer | None]
OnLine = Callable[[Request, bytes], bytes]


class Relay:
    """One open watch that passes through."""

    def __init__(self, request: Request, client: socket.socket) -> None:
        self.request = request
        self.lines = 0
        self._client = client

    def cut(self) -> None:
        """End the connection to the watcher now, in the middle of the answer."""
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)


class FaultProxy:
    """Listens on a loopback port until :meth:`close`.

    Attributes:
        on_request: Looks at every request first; an answer of its own goes out instead.
        on_line: Sees every line of a watch; returns what goes out, or raises what happens.
        seen: Every request.
    """

    def __init__(self, upstream_port: int, ca: Path) -> None:
        self.on_request: OnRequest = lambda _: None
        self.on_line: OnLine = lambda _, line: line
        self.seen: list[Request] = []
        self.relays: list[Relay] = []
        self.changed = threading.Condition()
        self._upstream_port = upstream_port
        self._context = ssl.create_default_context(cafile=str(ca))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._closing = threading.Event()
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def open_watches(self, part: str = "") -> list[Relay]:
        """Return the watches that pass through now and have ``part`` in their path."""
        with self.changed:
            return [relay for relay in self.relays if part in relay.request.path]

    def close(self) -> None:
        self._closing.set()
        for sock in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.settimeout(_TIMEOUT_SEC)
            self._sockets.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            reader = client.makefile("rb")
            while (request := _read_request(reader.readline)) is not None:
                with self.changed:
                    self.seen.append(request)
                    self.changed.notify_all()
                own = self.on_request(request)
                if own is not None:
                    _send_answer(client, own)
                elif not self._forward(client, request):
                    break
        client.close()

    def _forward(self, client: socket.socket, request: Request) -> bool:
        upstream = http.client.HTTPSConnection(
            "127.0.0.1", self._upstream_port, context=self._context, timeout=_TIMEOUT_SEC
        )
        try:
            upstream.request("GET", request.headers[":target"], headers=_passed_on(request))
            response = upstream.getresponse()
            if not (request.watch and response.status == 200):
                wanted = ("retry-after", "content-type")
                headers = {k: v for k, v in response.getheaders() if k.lower() in wanted}
                _send_answer(client, Answer(response.status, headers, response.read()))
                return True
            return self._relay(client, request, response)
        except (ConnectionRefusedError, ConnectionResetError, http.client.RemoteDisconnected):
            _reset(client)
            return False
        finally:
            upstream.close()

    def _relay(
        self, client: socket.socket, request: Request, response: http.client.HTTPResponse
    ) -> bool:
        relay = Relay(request, client)
        # Before the watcher hears that its watch is open: a test that knows that may cut it.
        with self.changed:
            self.relays.append(relay)
            self.changed.notify_all()
        try:
            client.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            while line := response.readline():
                relay.lines += 1
                _send_chunk(client, self.on_line(request, line))
            client.sendall(b"0\r\n\r\n")
        except Reset as fault:
            _send_chunk(client, fault.prefix)
            _reset(client)
            return False
        except End as fault:
            _send_chunk(client, fault.prefix)
            client.sendall(b"0\r\n\r\n")
        except Freeze:
            self._closing.wait(_TIMEOUT_SEC)
            return False
        except http.client.IncompleteRead:
            _reset(client)
            return False
        finally:
            with self.changed:
                self.relays.remove(relay)
                self.changed.notify_all()
        return True


def _read_request(readline: Callable[[], bytes]) -> Request | None:
    first = readline().split()
    if len(first) != 3:
        return None
    target = first[1].decode()
    headers = {":target": target}
    while (line := readline().strip()) != b"":
        name, _, value = line.decode().partition(":")
        headers[name.strip().lower()] = value.strip()
    url = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    return Request(url.path, query, headers)


def _passed_on(request: Request) -> dict[str, str]:
    dropped = (":target", "host", "connection", "accept-encoding")
    return {name: value for name, value in request.headers.items() if name not in dropped}


def _send_answer(client: socket.socket, answer: Answer) -> None:
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "?"
    lines = [f"HTTP/1.1 {answer.status} {phrase}", f"Content-Length: {len(answer.body)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    client.sendall("\r\n".join([*lines, "", ""]).encode() + answer.body)


def _send_chunk(client: socket.socket, data: bytes) -> None:
    if data:
        client.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def _reset(client: socket.socket) -> None:
    """Make the close send RST instead of FIN."""
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.shutdown(socket.SHUT_RD)
        client.close()
