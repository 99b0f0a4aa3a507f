"""An HTTP server that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.client import ApiClient, ConnectionConfig


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: JsonValue = None


@dataclass(frozen=True)
class Response:
    body: JsonValue | bytes = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def payload(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Route = Callable[[Request], Response]


def status(code: int, reason: str, message: str) -> Response:
    """A ``Status`` object, as the API server sends one."""
    return Response(
        {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message},
        code,
    )


NO_SUCH_PATH = Response(b"404 page not found\n", 404)


def no_such_path(_: Request) -> Response:
    return NO_SUCH_PATH


class StubServer:
    """Answers by ``route``; a route that raises makes the connection break."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.routes: dict[tuple[str, str], Route] = {}
        self.release = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length)
                request = Request(
                    self.command,
                    parts.path,
                    dict(parse_qsl(parts.query)),
                    dict(self.headers.items()),
                    json.loads(data) if data else None,
                )
                stub.requests.append(request)
                route = stub.routes.get((self.command, parts.path), no_such_path)
                response = route(request)
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                if "Content-Length" in response.headers:
                    self.close_connection = True
                else:
                    self.send_header("Content-Length", str(len(response.payload)))
                self.end_headers()
                self.wfile.write(response.payload)

            do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def on(self, method: str, path: str, *responses: Response | JsonObject) -> None:
        """Answer with one response after the other; the last one stays."""
        queue = [item if isinstance(item, Response) else Response(item) for item in responses]

        def route(_: Request) -> Response:
            return queue.pop(0) if len(queue) > 1 else queue[0]

        self.routes[(method, path)] = route

    def paths(self, method: str | None = None) -> list[str]:
        return [item.path for item in self.requests if method in (None, item.method)]

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def client_of(stub: StubServer) -> Iterator[ApiClient]:
    client = ApiClient(
        ConnectionConfig(stub.url, "the test", lambda: {"Authorization": "Bearer t"})
    )
    try:
        yield client
    finally:
        client.close()


def resource(
    name: str, kind: str, *short_names: str, namespaced: bool = True, singular: str | None = None
) -> JsonObject:
    """A resource as aggregated discovery tells it."""
    return {
        "resource": name,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced" if namespaced else "Cluster",
        "singularResource": kind.lower() if singular is None else singular,
        "shortNames": list(short_names),
        "verbs": ["get", "list", "watch"],
    }


def group(name: str, **versions: list[JsonObject] | None) -> JsonObject:
    """A group as aggregated discovery tells it; ``None`` for a stale version."""
    return {
        "metadata": {"name": name},
        "versions": [
            {
                "version": version,
                "freshness": "Stale" if resources is None else "Current",
                "resources": list(resources or []),
            }
            for version, resources in versions.items()
        ],
    }


def groups(*items: JsonObject) -> JsonObject:
    return {"kind": "APIGroupDiscoveryList", "items": list(items)}


CORE = group(
    "",
    v1=[
        resource("pods", "Pod", "po"),
        resource("configmaps", "ConfigMap", "cm"),
        resource("namespaces", "Namespace", "ns", namespaced=False),
        resource("events", "Event", "ev"),
        resource("serviceaccounts", "ServiceAccount", "sa"),
    ],
)
APPS = group("apps", v1=[resource("deployments", "Deployment", "deploy")])


def serve_discovery(stub: StubServer, *more: JsonObject) -> None:
    stub.on("GET", "/api", groups(CORE))
    stub.on("GET", "/apis", groups(APPS, *more))


EXISTS = status(409, "AlreadyExists", "already exists")
GONE = status(404, "NotFound", "not found")


def obj(kind: str, name: str, api_version: str = "v1", namespace: str = "") -> JsonObject:
    metadata: JsonObject = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def created(request: Request) -> Response:
    """Answer a POST as the server does: what was sent, with a uid."""
    body = request.body
    assert isinstance(body, dict)
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    name = metadata.get("name") or f"{metadata['generateName']}x7"
    return Response({**body, "metadata": {**metadata, "name": name, "uid": f"uid-{name}"}}, 201)
