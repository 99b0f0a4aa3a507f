"""The command lines of a plane's five components, and the files they read.

Flags are those of https://kubernetes.io/docs/reference/command-line-tools-reference/ and
https://etcd.io/docs/v3.6/op-guide/configuration/. Everything listens on 127.0.0.1 only.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devops_bench.clusters.binaries import Binaries
from devops_bench.clusters.pki import Pki
from devops_bench.clusters.supervision import Program
from devops_bench.core.errors import ClusterError
from devops_bench.core.json import JsonObject, JsonValue

ETCD: Final = "etcd"
API_SERVER: Final = "kube-apiserver"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"
KWOK: Final = "kwok"

SERVICE_RANGE: Final = "10.96.0.0/16"
SERVICE_IP: Final = "10.96.0.1"
_POD_RANGE: Final = "10.244.0.0/16"
_NODE_IP: Final = "10.0.0.10"
NODE_NAME: Final = "node-0"

_PORTS: Final = range(20000, 32768)
_PORT_TRIES: Final = 50
# Planes live for seconds: with Go's 100 a fifth of their CPU time goes to collecting garbage.
_GARBAGE_COLLECTION_PERCENT: Final = "400"


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports of one plane."""

    etcd: int
    api: int
    controllers: int
    scheduler: int


@dataclass(frozen=True, slots=True)
class PlaneOptions:
    """What may differ between planes.

    Attributes:
        node_lease_sec: The duration of a node's lease in whole seconds, ≥ 4; kwok renews it four
            times as often.
        node_grace_sec: Seconds without a renewal after which the node controller calls a node not
            ready; 50 is Kubernetes' own default.
        extra_args: More flags per component; later flags win.
    """

    node_lease_sec: int = 40
    node_grace_sec: int = 50
    extra_args: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def free_ports() -> Ports:
    """Return four loopback ports that are free now; somebody may take one before it is used.

    They lie below the ports that Linux gives to outgoing connections (32768 and above), so that
    hardly anybody does.
    """
    with ExitStack() as stack:
        return Ports(*(_hold_free_port(stack) for _ in range(4)))


def _hold_free_port(stack: ExitStack) -> int:
    """Return a free port, kept until ``stack`` ends; any at all if no tried one is free."""
    for candidate in (*random.SystemRandom().sample(_PORTS, _PORT_TRIES), 0):
        probe = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        try:
            probe.bind(("127.0.0.1", candidate))
        except OSError:
            continue
        return int(probe.getsockname()[1])
    raise ClusterError("there is no free port on the loopback interface")


def programs(
    folder: Path, binaries: Binaries, pki: Pki, ports: Ports, options: PlaneOptions
) -> dict[str, Program]:
    """Return the five programs of the plane in ``folder``, by name."""
    commands = {
        ETCD: _etcd(folder, pki, ports),
        API_SERVER: _api_server(folder, pki, ports),
        CONTROLLER_MANAGER: _controller_manager(folder, pki, ports, options),
        SCHEDULER: _scheduler(folder, pki, ports),
        KWOK: _kwok(folder, options),
    }
    # An environment of our own: no proxy, no kubeconfig, no ~/.kwok of whoever started the plane.
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "GOGC": _GARBAGE_COLLECTION_PERCENT,
    }
    return {
        name: Program(
            name=name,
            command=[
                str(binaries.program(name)),
                *arguments,
                *options.extra_args.get(name, ()),
            ],
            log=log_file(folder, name),
            cwd=folder,
            env=environment,
        )
        for name, arguments in commands.items()
    }


def log_file(folder: Path, name: str) -> Path:
    """Return the log of one component."""
    return folder / "logs" / f"{name}.log"


def audit_log(folder: Path) -> Path:
    """Return the API server's audit log."""
    return folder / "logs" / "audit.log"


def credentials(folder: Path) -> tuple[Path, ...]:
    """Return the keys and kubeconfigs of the components, which nobody else has any use for."""
    patterns = ("*.kubeconfig", "pki/*.key", "pki/*.csv")
    return tuple(path for each in patterns for path in sorted(folder.glob(each)))


def kubeconfig_of(folder: Path, name: str) -> Path:
    """Return the kubeconfig of one component."""
    return folder / f"{name}.kubeconfig"


def _etcd(folder: Path, pki: Pki, ports: Ports) -> list[str]:
    url = f"https://127.0.0.1:{ports.etcd}"
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        "--listen-peer-urls=https://127.0.0.1:0",
        "--client-cert-auth",
        f"--trusted-ca-file={pki.cert('etcd-ca')}",
        f"--cert-file={pki.cert('etcd')}",
        f"--key-file={pki.key('etcd')}",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={pki.cert('etcd-ca')}",
        f"--peer-cert-file={pki.cert('etcd')}",
        f"--peer-key-file={pki.key('etcd')}",
        "--log-level=warn",
        # A plane is never started a second time on its data.
        "--unsafe-no-fsync",
    ]


def _api_server(folder: Path, pki: Pki, ports: Ports) -> list[str]:
    return [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        # A loopback address may not stand in the `kubernetes` Service's endpoints.
        "--endpoint-reconciler-type=none",
        f"--secure-port={ports.api}",
        f"--etcd-servers=https://127.0.0.1:{ports.etcd}",
        f"--etcd-cafile={pki.cert('etcd-ca')}",
        f"--etcd-certfile={pki.cert('etcd-client')}",
        f"--etcd-keyfile={pki.key('etcd-client')}",
        # Old revisions are what a gap in a watch is repaired from: keep those of a whole run.
        "--etcd-compaction-interval=1h",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--tls-cert-file={pki.cert(API_SERVER)}",
        f"--tls-private-key-file={pki.key(API_SERVER)}",
        f"--client-ca-file={pki.ca}",
        f"--token-auth-file={pki.tokens}",
        f"--service-account-key-file={pki.service_account_public_key}",
        f"--service-account-signing-key-file={pki.key('service-account')}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        f"--audit-policy-file={folder / 'audit-policy.yaml'}",
        f"--audit-log-path={audit_log(folder)}",
        "--audit-log-maxsize=2048",
        "--profiling=false",
    ]


def _controller_manager(folder: Path, pki: Pki, ports: Ports, options: PlaneOptions) -> list[str]:
    return [
        *_controller_flags(folder, pki, CONTROLLER_MANAGER, ports.controllers),
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={pki.key('service-account')}",
        f"--root-ca-file={pki.ca}",
        f"--cluster-signing-cert-file={pki.ca}",
        f"--cluster-signing-key-file={pki.key('ca')}",
        "--allocate-node-cidrs=false",
        f"--node-monitor-grace-period={options.node_grace_sec}s",
    ]


def _scheduler(folder: Path, pki: Pki, ports: Ports) -> list[str]:
    return _controller_flags(folder, pki, SCHEDULER, ports.scheduler)


def _controller_flags(folder: Path, pki: Pki, name: str, port: int) -> list[str]:
    kubeconfig = kubeconfig_of(folder, name)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki.cert(name)}",
        f"--tls-private-key-file={pki.key(name)}",
        # There is only one of each, and an election costs seconds at the start.
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    ]


def _kwok(folder: Path, options: PlaneOptions) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig_of(folder, KWOK)}",
        f"--config={folder / 'kwok.yaml'}",
        "--manage-all-nodes",
        f"--node-ip={_NODE_IP}",
        f"--cidr={_POD_RANGE}",
        f"--node-lease-duration-seconds={options.node_lease_sec}",
    ]


def node() -> JsonObject:
    """Return the plane's one Node, with room for whatever a task brings."""
    room: JsonObject = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000"}
    labels: JsonObject = {
        "kubernetes.io/hostname": NODE_NAME,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node-role.kubernetes.io/worker": "",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE_NAME, "labels": labels},
        "status": {"capacity": room, "allocatable": room},
    }


def audit_policy() -> JsonObject:
    """Return the audit policy: every write in full, secrets without content, no machinery's noise.

    https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/; the first rule that matches wins.
    """
    machinery: list[JsonValue] = [
        "system:apiserver",
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "devops-bench:kwok",
    ]
    reads: list[JsonValue] = ["get", "list", "watch"]
    leases: JsonObject = {"group": "coordination.k8s.io", "resources": ["leases"]}
    events: list[JsonValue] = [
        {"group": "", "resources": ["events"]},
        {"group": "events.k8s.io", "resources": ["events"]},
    ]
    private: list[JsonValue] = [
        {"group": "", "resources": ["secrets", "serviceaccounts/token"]},
        {"group": "authentication.k8s.io"},
    ]
    writes: list[JsonValue] = ["create", "update", "patch", "delete", "deletecollection"]
    rules: list[JsonValue] = [
        # Whoever has the key of a controller could read every credential with it.
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]},
        {"level": "None", "verbs": reads, "users": machinery},
        {"level": "None", "verbs": reads, "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version"]},
        {"level": "None", "nonResourceURLs": ["/api*", "/apis*", "/openapi*"]},
        {"level": "None", "resources": [leases, *events]},
        {"level": "Metadata", "resources": private},
        {"level": "RequestResponse", "verbs": writes},
        {"level": "Metadata"},
    ]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": rules,
    }
