"""A server on loopback that answers ``/version`` as an API server does, and nothing else."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from pathlib import Path
from types import TracebackType

from devops_bench.clusters import kubefiles, pki
from devops_bench.core.json import JsonObject


class ApiStandIn:
    """A stand-in for an API server with TLS, which accepts one token.

    Args:
        folder: Where its certificates go.
        token: The token that it accepts.
    """

    def __init__(self, folder: Path, token: str = "right") -> None:
        keys_folder = folder / "api-stand-in"
        keys_folder.mkdir()
        self.keys = pki.create(keys_folder, "10.96.0.1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.keys.cert("kube-apiserver"), self.keys.key("kube-apiserver"))
        handler = type("Handler", (_Handler,), {"token": token})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_address[1]}"

    def kubeconfig(self, token: str = "right") -> JsonObject:
        """Return a kubeconfig for this server."""
        return kubefiles.document("shop", self.url, self.keys.ca, kubefiles.token_user(token))

    def kubeconfig_text(self) -> str:
        return json.dumps(self.kubeconfig())

    def __enter__(self) -> ApiStandIn:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    token = ""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.token}":
            self._answer(
                401, {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized"}
            )
        elif self.path == "/version":
            self._answer(200, {"gitVersion": "v1.36.3"})
        else:
            self._answer(404, {"kind": "Status", "reason": "NotFound", "message": "not found"})

    def _answer(self, status: int, body: JsonObject) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
