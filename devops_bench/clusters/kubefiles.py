"""Kubeconfig files that this package writes, always private to the user."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from devops_bench.core.files import write_atomic
from devops_bench.core.json import JsonObject


def token_user(token: str) -> JsonObject:
    """Return a kubeconfig user with a bearer token."""
    return {"token": token}


def certificate_user(cert: Path, key: Path) -> JsonObject:
    """Return a kubeconfig user with a client certificate, named by its files."""
    return {"client-certificate": str(cert), "client-key": str(key)}


def document(name: str, server: str, ca: Path, user: JsonObject) -> JsonObject:
    """Return a kubeconfig of one cluster, one user and one context, all called ``name``.

    https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
    """
    authority = base64.b64encode(ca.read_bytes()).decode()
    cluster: JsonObject = {"server": server, "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
        "preferences": {},
    }


def write(path: Path, kubeconfig: JsonObject) -> None:
    """Write a kubeconfig with mode 0600."""
    write_atomic(path, yaml.safe_dump(kubeconfig, sort_keys=False), mode=0o600)
