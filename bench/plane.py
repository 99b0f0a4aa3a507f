"""A control plane for measurements, ended with the process that measures."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from devops_bench.clusters.base import Cluster
from devops_bench.clusters.local import LocalProvider
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient, connect
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.reader import LiveReader

NAMESPACE = "default"


@contextlib.contextmanager
def plane() -> Iterator[tuple[Cluster, ApiClient, LiveReader]]:
    """Yield a cluster, a client and a reader of it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalProvider(why="the benchmark's").provide("bench", Path(folder)) as cluster,
    ):
        client = connect(cluster.kubeconfig)
        yield cluster, client, LiveReader(client, Discovery(client))


def create(client: ApiClient, path: str, body: JsonObject) -> None:
    """Create one object."""
    client.request("POST", path, body=body, timeout_sec=10)


def deployment(name: str) -> JsonObject:
    """Return a Deployment like those of real specs."""
    labels: JsonObject = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
            },
        },
    }
