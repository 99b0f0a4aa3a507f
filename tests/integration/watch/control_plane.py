"""An etcd and an API server of the tests' own, to be killed, restarted and compacted."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import yaml

from devops_bench.clusters import pki
from devops_bench.clusters.binaries import find_binaries
from devops_bench.clusters.components import free_ports
from devops_bench.clusters.rest import Loopback
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient, load_connection

_READY_SEC = 60.0


def until(what: str, done: Callable[[], bool], timeout_sec: float = 30.0) -> None:
    """Wait until ``done()``; fail the test with ``what`` if that takes too long."""
    deadline = time.monotonic() + timeout_sec
    pause = threading.Event()
    while not done():
        assert time.monotonic() < deadline, f"not within {timeout_sec:g} s: {what}"
        pause.wait(0.02)


class ControlPlane:
    """One etcd, one API server."""

    def __init__(self, folder: Path, *api_flags: str) -> None:
        self.folder = folder
        self._binaries = find_binaries()
        ports = free_ports()
        self._etcd_port, self.api_port = ports.etcd, ports.api
        self._pki_folder = folder / "pki"
        self._pki_folder.mkdir(mode=0o700)
        self.pki = pki.create(self._pki_folder, "10.96.0.1")
        self._api_flags = api_flags
        self._etcd: subprocess.Popen[bytes] | None = None
        self._api: subprocess.Popen[bytes] | None = None
        self._admin: ApiClient | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.api_port}"

    @property
    def admin(self) -> ApiClient:
        """The tests' own way in, past every fault."""
        if self._admin is None:
            path = self.kubeconfig(self.folder / "admin.kubeconfig", self.url)
            self._admin = ApiClient(load_connection(path))
        return self._admin

    def kubeconfig(self, path: Path, server: str, token: str | None = None) -> Path:
        """Write a kubeconfig for ``server``, the administrator's unless a token is given."""
        cluster: JsonObject = {"server": server}
        if server.startswith("https"):
            cluster["certificate-authority"] = str(self.pki.ca)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token or self.pki.admin_token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        path.write_text(yaml.safe_dump(config))
        return path

    def start(self) -> None:
        self._etcd = self._run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{self._etcd_port}",
            f"--advertise-client-urls=http://127.0.0.1:{self._etcd_port}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--log-level=warn",
            "--unsafe-no-fsync",
        )
        self.start_api()

    def start_api(self) -> None:
        keys = self.pki
        self._api = self._run(
            "kube-apiserver",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={self.api_port}",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--etcd-compaction-interval=1h",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--tls-cert-file={keys.cert('kube-apiserver')}",
            f"--tls-private-key-file={keys.key('kube-apiserver')}",
            f"--client-ca-file={keys.ca}",
            f"--token-auth-file={keys.tokens}",
            f"--service-account-key-file={keys.service_account_public_key}",
            f"--service-account-signing-key-file={keys.key('service-account')}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--authorization-mode=RBAC",
            "--profiling=false",
            *self._api_flags,
        )
        until("the API server is ready", self._ready, _READY_SEC)

    def kill_api(self) -> None:
        """End the API server as ``kill -9`` does."""
        assert self._api is not None
        self._api.kill()
        self._api.wait()

    def compact(self, rv: int) -> None:
        """Throw away what etcd remembers of before ``rv``."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._etcd_port}/v3/kv/compaction",
            data=json.dumps({"revision": str(rv), "physical": True}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with _opener().open(request, timeout=10) as answer:
            assert answer.status == 200

    def stop(self) -> None:
        for process in (self._api, self._etcd):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    def token_of(self, namespace: str, account: str) -> str:
        """Return a new token of a ServiceAccount."""
        answer = self.admin.request(
            "POST",
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
            body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
            timeout_sec=10,
        )
        status = answer["status"]
        assert isinstance(status, dict)
        token = status["token"]
        assert isinstance(token, str)
        return token

    def _run(self, name: str, *flags: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(self._binaries.program(name)), *flags],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            )

    def _ready(self) -> bool:
        assert self._api is not None
        assert self._api.poll() is None, (self.folder / "kube-apiserver.log").read_text()[-2000:]
        anybody = Loopback(self.api_port, self.pki.ca)
        # Anybody may read /version once the authorizer knows of the roles that a server brings.
        return all(anybody.get(path).ok for path in ("/readyz", "/version"))


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))
