"""What a plane does that a cluster does: it is ready, rolls out, deletes, audits, stays ready."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from devops_bench.clusters import binaries, components, plane
from devops_bench.clusters.plane import Plane
from devops_bench.clusters.state import Kind
from tests.integration.clusters.conftest import GRACE_SEC, LOCAL_ONLY, SHORT_GRACE, Kubectl

pytestmark = LOCAL_ONLY

READY = '{.status.conditions[?(@.type=="Ready")].status}'
WAITING = "{.status.containerStatuses[0].state.waiting.reason}"


@pytest.fixture
def namespace(kubectl: Kubectl) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    return name


def test_it_runs_in_private_with_five_living_components(own_plane: Plane) -> None:
    assert sorted(own_plane.state.components) == [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kwok",
    ]
    assert own_plane.state.dead_components() == []
    assert own_plane.dead_components() == []
    assert own_plane.folder.stat().st_mode & 0o777 == 0o700
    assert own_plane.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in own_plane.bin_dir.iterdir()] == ["kubectl"]


def test_it_says_the_version_of_its_binaries(own_plane: Plane, kubectl: Kubectl) -> None:
    version = json.loads(kubectl("version", "-o", "json"))

    assert version["serverVersion"]["gitVersion"] == own_plane.state.version
    assert version["clientVersion"]["gitVersion"] == own_plane.state.version


def test_a_deployment_rolls_out_and_its_pods_terminate(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=60s")

    kubectl("scale", "deployment/web", "--replicas=0", "-n", namespace)
    kubectl("wait", "--for=delete", "pod", "-l", "app=web", "-n", namespace, "--timeout=60s")

    assert kubectl("get", "pods", "-n", namespace, "-o", "name") == ""


def test_a_pod_can_be_created_at_once_in_the_default_namespace(kubectl: Kubectl) -> None:
    name = f"p-{uuid.uuid4().hex[:8]}"
    kubectl("run", name, "--image=nginx")
    kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")
    kubectl("delete", "pod", name, "--wait=true")


def test_a_job_completes(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "job", "once", "--image=busybox", "-n", namespace)
    kubectl("wait", "--for=condition=Complete", "job/once", "-n", namespace, "--timeout=60s")


def test_a_namespace_is_deleted_with_what_is_in_it(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=a=b", "-n", namespace)

    kubectl("delete", "namespace", namespace, "--wait=true", "--timeout=100s")

    assert "not found" in kubectl("get", "namespace", namespace, check=False)


def test_a_broken_image_is_never_pulled_until_it_is_another(
    kubectl: Kubectl, namespace: str
) -> None:
    in_namespace = ("-n", namespace)
    kubectl("create", "deployment", "web", "--image=broken.invalid/web:1", *in_namespace)
    kubectl("scale", "deployment/web", "--replicas=5", *in_namespace)
    kubectl("wait", "--for=create", "pod", "-l", "app=web", *in_namespace, "--timeout=60s")
    kubectl(
        *("wait", f"--for=jsonpath={WAITING}=ImagePullBackOff", "pod", "-l", "app=web"),
        *(*in_namespace, "--timeout=60s"),
    )
    pods = json.loads(kubectl("get", "pods", *in_namespace, "-o", "json"))["items"]
    for pod in pods:
        status = pod["status"]
        assert status["phase"] == "Pending"
        assert status["containerStatuses"][0]["ready"] is False
        conditions = {item["type"]: item["status"] for item in status["conditions"]}
        assert conditions["Ready"] == "False"
        assert conditions["PodScheduled"] == "True"
    assert "ready" not in kubectl(
        *("get", "deployment", "web", *in_namespace, "-o", "jsonpath={.status.readyReplicas}")
    )

    kubectl("set", "image", "deployment/web", "*=nginx", *in_namespace)
    kubectl("rollout", "status", "deployment/web", *in_namespace, "--timeout=60s")


MIXED = """
apiVersion: v1
kind: Pod
metadata: {name: mixed}
spec:
  containers:
  - {name: good, image: nginx}
  - {name: bad, image: "broken.invalid/x"}
---
apiVersion: v1
kind: Pod
metadata: {name: init}
spec:
  initContainers: [{name: first, image: "broken.invalid/first"}]
  containers: [{name: main, image: nginx}]
"""


def test_the_good_container_beside_a_broken_one_runs(kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", stdin=MIXED)
    reason = '{.status.containerStatuses[?(@.name=="bad")].state.waiting.reason}'
    wait = ("wait", "-n", namespace, "--timeout=60s")
    kubectl(*wait, f"--for=jsonpath={reason}=ImagePullBackOff", "pod/mixed")
    first = "{.status.initContainerStatuses[0].state.waiting.reason}"
    kubectl(*wait, f"--for=jsonpath={first}=ImagePullBackOff", "pod/init")

    mixed = json.loads(kubectl("get", "pod", "mixed", "-n", namespace, "-o", "json"))["status"]
    states = {item["name"]: list(item["state"]) for item in mixed["containerStatuses"]}
    assert states == {"good": ["running"], "bad": ["waiting"]}
    main = json.loads(kubectl("get", "pod", "init", "-n", namespace, "-o", "json"))["status"]
    assert main["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"

    # Repaired in place, as only an image can be.
    kubectl("set", "image", "pod/mixed", "bad=nginx", "-n", namespace)
    kubectl("wait", "--for=condition=Ready", "pod/mixed", "-n", namespace, "--timeout=60s")


def test_the_audit_log_holds_writes_and_no_secret(
    own_plane: Plane, kubectl: Kubectl, namespace: str
) -> None:
    marker = f"marker-{uuid.uuid4().hex}"
    kubectl("create", "configmap", "open", f"--from-literal=a={marker}-open", "-n", namespace)
    kubectl(
        *("create", "secret", "generic", "private", "-n", namespace),
        f"--from-literal=a={marker}-private",
    )
    kubectl("get", "secret", "private", "-n", namespace)

    log = own_plane.audit_log.read_text()
    entries = [json.loads(line) for line in log.splitlines() if namespace in line]
    secret = [
        entry["verb"]
        for entry in entries
        if entry.get("objectRef", {}).get("resource") == "secrets"
    ]
    assert {"create", "get"} <= set(secret)
    assert f"{marker}-open" in log
    assert f"{marker}-private" not in log
    assert base64.b64encode(f"{marker}-private".encode()).decode() not in log
    assert {entry["user"]["username"] for entry in entries} >= {"devops-bench:admin"}


def test_another_plane_beside_it_is_another_world(own_plane: Plane, kubectl: Kubectl) -> None:
    other = plane.start("other", Kind.RUN, binaries.find_binaries())
    try:
        other_kubectl = Kubectl(other)
        other_kubectl("create", "namespace", "only-there")
        assert "NotFound" in kubectl("get", "namespace", "only-there", check=False)

        # The keys of one are worth nothing to the other, even by its own certificate.
        crossed = other_kubectl(
            *("--server", own_plane.state.server, "--insecure-skip-tls-verify", "get", "pods"),
            check=False,
        )
        assert "Unauthorized" in crossed or "must be logged in" in crossed
    finally:
        other.stop()

    assert not other.folder.exists()
    assert not any(item.alive for item in other.state.components.values())
    assert own_plane.state.dead_components() == []
    kubectl("get", "namespaces")


def test_an_api_server_that_was_killed_comes_back_with_everything(
    own_plane: Plane, kubectl: Kubectl, namespace: str
) -> None:
    before = own_plane.state.components["kube-apiserver"]

    own_plane.restart("kube-apiserver")

    assert not before.alive
    assert own_plane.state.components["kube-apiserver"].alive
    own_plane.wait_until_ready()
    kubectl("get", "namespace", namespace)


@contextmanager
def ended(watch: subprocess.Popen[str]) -> Iterator[IO[str]]:
    """Yield the lines of a watch, and end it whatever happens."""
    assert watch.stdout is not None
    with watch:
        try:
            yield watch.stdout
        finally:
            watch.kill()


def test_the_node_stays_ready_as_long_as_its_lease_is_renewed_and_no_longer(
    own_plane: Plane, kubectl: Kubectl
) -> None:
    """The renewals that are waited for are three times the node controller's patience."""
    node = components.NODE_NAME
    renewals = kubectl.watch(
        *("lease", node, "-n", "kube-node-lease", "-o", 'jsonpath={.spec.renewTime}{"\\n"}')
    )
    readiness = kubectl.watch(
        "node", node, "-o", f'jsonpath={READY} {{.metadata.annotations.fence}}{{"\\n"}}'
    )
    with ended(renewals) as renewal_lines, ended(readiness) as ready_lines:
        seen = [renewal_lines.readline().strip() for _ in range(3 * GRACE_SEC + 1)]
        assert len(set(seen)) == len(seen)
        # A write of ours to the Node: the watch has told all before it once it tells this.
        kubectl("annotate", "node", node, "fence=here")
        told: list[str] = []
        while not told or not told[-1].endswith("here"):
            told.append(ready_lines.readline().strip())
        assert {line.split()[0] for line in told} == {"True"}

        kwok = own_plane.state.components["kwok"]
        assert kwok.end(signal.SIGKILL, 20.0)
        line = ready_lines.readline().strip()
        while line.startswith("True"):
            line = ready_lines.readline().strip()
        assert line == "Unknown here"

    own_plane.restart("kwok")
    kubectl("wait", f"node/{node}", "--for=condition=Ready", "--timeout=60s")


def test_the_options_are_what_the_controller_was_told(own_plane: Plane) -> None:
    command = own_plane.command_line("kube-controller-manager")

    assert f"--node-monitor-grace-period={SHORT_GRACE.node_grace_sec}s" in command
