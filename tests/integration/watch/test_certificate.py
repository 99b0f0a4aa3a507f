"""A client certificate that expires while it is used; over TLS, which the proxy would end."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from devops_bench.clusters.pki import MASTERS, Pki
from devops_bench.core.errors import ApiError
from devops_bench.k8s.client import ApiClient, load_connection
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.watch.types import Subscription
from devops_bench.k8s.watch.watcher import Watcher
from tests.integration.watch.control_plane import until
from tests.integration.watch.observing import Bench, Notes

VALID_SEC = 10
"""Enough to start a watcher on a busy machine."""


class TcpRelay:
    """Passes bytes on to a port of this machine, and ends every connection when told to."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self._passing: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, name="relay", daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        """End every connection that is open now."""
        for sock in list(self._sockets):
            _end(sock)

    def close(self) -> None:
        _end(self._listener)
        self._accepting.join()
        self.cut()
        for thread in self._passing:
            thread.join()
        for sock in (self._listener, *self._sockets):
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._upstream_port))
            self._sockets += [client, server]
            for ends in ((client, server), (server, client)):
                thread = threading.Thread(target=_pass_on, args=ends, daemon=True)
                self._passing.append(thread)
                thread.start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):  # one of the two was cut
        while data := source.recv(1 << 16):
            sink.sendall(data)
    _end(sink)


def _end(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has ended already
        sock.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def relayed(port: int) -> Iterator[TcpRelay]:
    relay = TcpRelay(port)
    try:
        yield relay
    finally:
        relay.close()


def short_lived(pki: Pki, folder: Path) -> tuple[Path, Path]:
    """Sign an administrator's certificate that is soon over; return it and its key."""
    authority = x509.load_pem_x509_certificate(pki.ca.read_bytes())
    signer = serialization.load_pem_private_key(pki.key("ca").read_bytes(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    name = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, MASTERS),
        x509.NameAttribute(NameOID.COMMON_NAME, "short-lived"),
    ]
    now = dt.datetime.now(dt.UTC)
    cert = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(name))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(seconds=VALID_SEC))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    cert_path, key_path = folder / "short.crt", folder / "short.key"
    cert_path.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert_path, key_path


def kubeconfig(at: Bench, folder: Path, port: int) -> Path:
    """Write a kubeconfig whose only credential is a certificate that is soon over."""
    cert, key = short_lived(at.plane.pki, folder)
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority": str(at.plane.pki.ca),
    }
    user = {"client-certificate": str(cert), "client-key": str(key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    path = folder / "short.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def refused(client: ApiClient) -> bool:
    """Whether the server does not accept the certificate any more."""
    try:
        client.request("GET", "/api/v1/namespaces/kube-system", timeout_sec=10)
    except ApiError as exc:
        if exc.status != 401:
            raise
        return True
    return False


def says_401(watcher: Watcher, notes: Notes) -> bool:
    """Ask for a fence, which must not be passed; whether the server's refusal is told of."""
    assert watcher.fence(1).why_not("it") is not None
    return any("HTTP 401" in gap.how for gap in notes.open_gaps("it"))


def test_a_certificate_that_expired_is_a_gap_only_when_the_watch_must_be_opened_again(
    at: Bench, tmp_path: Path
) -> None:
    at.put("good")
    it = Subscription("it", (at.query(),))
    notes = Notes([it])
    with relayed(at.plane.api_port) as relay:
        client = ApiClient(load_connection(kubeconfig(at, tmp_path, relay.port)))
        watcher = Watcher(client, Discovery(client), notes)
        try:
            assert list(watcher.start([it], 30).watched) == ["it"]
            until("the certificate has expired", lambda: refused(client), VALID_SEC + 30)
            at.put("bad")
            notes.wait("the open stream goes on", lambda: notes.values("it") == ["good", "bad"])
            assert not notes.open_gaps("it")

            relay.cut()
            at.put("worse")
            at.put("good")
            until("the gap says that it was refused", lambda: says_401(watcher, notes))
            (gap,) = notes.open_gaps("it")
            assert gap.to_rv is None
            assert "worse" not in notes.values("it")
        finally:
            assert watcher.stop(10), "a thread of the watcher did not end"
            client.close()
