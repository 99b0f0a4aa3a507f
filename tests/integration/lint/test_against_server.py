"""What lint believes of the API server, asked of one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.stored import as_stored
from devops_bench.lint.engine import LintOptions, lint_paths
from devops_bench.lint.kinds import Kinds, kinds_of
from devops_bench.lint.schemas import DEFAULT_VERSION, load_definitions
from devops_bench.lint.server import filled_in, is_kept, never_returned
from devops_bench.verification.paths import MISSING, parse_path
from tests.integration.conftest import PROVIDER
from tests.integration.harness import Plane

pytestmark = pytest.mark.skipif(
    PROVIDER != "local", reason="the tables are those of the version that the local provider runs"
)

POD: JsonObject = {"containers": [{"name": "c", "image": "x"}]}
ONCE: JsonObject = {"template": {"spec": {"restartPolicy": "Never", **POD}}}
PODS: JsonObject = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
}
SPECS: dict[str, JsonObject] = {
    "apps/v1 Deployment": PODS,
    "apps/v1 StatefulSet": PODS,
    "apps/v1 ReplicaSet": PODS,
    "apps/v1 DaemonSet": PODS,
    "v1 ReplicationController": {**PODS, "selector": {"a": "b"}},
    "batch/v1 CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": ONCE}},
    "batch/v1 Job": ONCE,
    "autoscaling/v2 HorizontalPodAutoscaler": {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
    },
    "networking.k8s.io/v1 NetworkPolicy": {"podSelector": {}},
    "v1 Namespace": {},
    "v1 PersistentVolume": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
    },
    "v1 PersistentVolumeClaim": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
    "v1 Pod": POD,
    "v1 Service": {"ports": [{"port": 80}]},
    "apiextensions.k8s.io/v1 CustomResourceDefinition": {
        "group": "ex.test",
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}
"""The least that each kind takes under ``spec``."""
PLAIN: dict[str, JsonObject] = {
    "storage.k8s.io/v1 StorageClass": {"provisioner": "x"},
    "scheduling.k8s.io/v1 PriorityClass": {"value": 5},
    "v1 Secret": {
        "stringData": {"token": "abc", "nothing": None},
        "data": {"old": "b2\nxk", "none": None},
    },
}
OBJECTS: dict[str, JsonObject] = {**{kind: {"spec": spec} for kind, spec in SPECS.items()}, **PLAIN}


@pytest.fixture(scope="module")
def kinds() -> Kinds:
    definitions = load_definitions(DEFAULT_VERSION)
    assert definitions is not None
    return kinds_of(definitions, DEFAULT_VERSION)


def made(word: str, rest: JsonObject) -> JsonObject:
    api_version, kind = word.split()
    name = "things.ex.test" if kind == "CustomResourceDefinition" else "a"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest}


def with_value(word: str, path: str, value: JsonValue) -> JsonObject:
    obj: JsonObject = json.loads(json.dumps(made(word, OBJECTS.get(word, {}))))
    *before, last = path.split(".")
    parent = obj
    for name in before:
        below = parent.setdefault(name, {})
        assert isinstance(below, dict)
        parent = below
    parent[last] = value
    return obj


def as_kept(plane: Plane, obj: JsonObject) -> JsonObject:
    """Return what the server would keep of an object; nothing is created."""
    shown = plane.run_kubectl(
        *("create", "--dry-run=server", "--validate=false", "-o", "json", "-f", "-"),
        stdin=json.dumps(obj),
    )
    kept: JsonValue = json.loads(shown)
    assert isinstance(kept, dict)
    return kept


def resource_of(kinds: Kinds, obj: JsonObject) -> ApiResource:
    found = kinds.catalogue.find_exact(str(obj["apiVersion"]), str(obj["kind"]))
    assert found is not None
    return found


@pytest.mark.parametrize("word", OBJECTS)
def test_what_is_said_to_be_filled_in_is(plane: Plane, kinds: Kinds, word: str) -> None:
    obj = made(word, OBJECTS[word])
    kept = as_kept(plane, obj)
    paths = filled_in(resource_of(kinds, obj))
    assert paths
    for path in paths:
        (element,) = parse_path(path).find(kept).elements
        assert element is not MISSING, f"{word} has no {path}"


def test_every_kind_of_the_table_is_asked_about(kinds: Kinds) -> None:
    asked = {str(made(word, {})["kind"]) for word in OBJECTS}
    assert {one.kind for one in kinds.catalogue.resources if filled_in(one)} == asked


def test_a_secret_is_kept_as_we_say(plane: Plane, kinds: Kinds) -> None:
    obj = made("v1 Secret", PLAIN["v1 Secret"])
    kept = as_kept(plane, obj)
    ours = as_stored(obj)
    assert {key: kept.get(key) for key in ("data", "type", "stringData")} == {
        key: ours.get(key) for key in ("data", "type", "stringData")
    }
    assert never_returned(resource_of(kinds, obj), ("stringData", "token")) is not None


def test_a_config_map_is_kept_as_we_say(plane: Plane) -> None:
    obj = made("v1 ConfigMap", {"data": {"a": None, "b": "", "c": "d"}})
    assert as_kept(plane, obj)["data"] == as_stored(obj)["data"] == {"a": "", "b": "", "c": "d"}


EMPTY: list[tuple[str, str, JsonValue]] = [
    ("apps/v1 Deployment", "spec.replicas", 0),
    ("apps/v1 Deployment", "spec.paused", False),
    ("apps/v1 Deployment", "spec.minReadySeconds", 0),
    ("apps/v1 Deployment", "metadata.annotations.a", ""),
    ("apps/v1 Deployment", "spec.template.spec.hostNetwork", False),
    ("apps/v1 Deployment", "spec.template.spec.automountServiceAccountToken", False),
    ("batch/v1 CronJob", "spec.suspend", False),
    ("v1 ConfigMap", "immutable", False),
    ("v1 ConfigMap", "data.a", ""),
    ("v1 Node", "spec.unschedulable", False),
]


@pytest.mark.parametrize(("word", "path", "value"), EMPTY)
def test_what_holds_nothing_is_kept_or_not_as_we_say(
    plane: Plane, kinds: Kinds, word: str, path: str, value: JsonValue
) -> None:
    obj = with_value(word, path, value)
    (element,) = parse_path(path).find(as_kept(plane, obj)).elements
    assert (element == value) is is_kept(resource_of(kinds, obj), tuple(path.split(".")), value)


MISTAKES: list[tuple[str, str, JsonValue]] = [
    ("apps/v1 Deployment", "spec.replica", 3),
    ("apps/v1 Deployment", "spec.replicas", "3"),
    ("apps/v1 Deployment", "spec.replicas", 3.0),
    ("apps/v1 Deployment", "spec.replicas", 2.5),
    ("apps/v1 Deployment", "spec.replicas", None),
    ("apps/v1 Deployment", "spec.paused", "true"),
    ("apps/v1 Deployment", "spec.template.spec.nodeSelector.a", 1),
    ("apps/v1 Deployment", "metadata.name", "CM_x"),
    ("apps/v1 Deployment", "metadata.labels.version", 1.2),
    ("apps/v1 Deployment", "metadata.creationTimestamp", None),
    ("apps/v1 Deployment", "metadata.nothing", "x"),
    ("apps/v1 Deployment", "nothing", "x"),
    ("v1 ResourceQuota", "spec.hard.pods", 4),
    ("v1 ResourceQuota", "spec.hard.pods", "4x"),
    ("v1 ResourceQuota", "spec.hard.pods", " 4 "),
    ("v1 ResourceQuota", "spec.hard.pods", ""),
    ("v1 ConfigMap", "data.a", 1),
    ("v1 ConfigMap", "data.a", {"b": "c"}),
    ("v1 Secret", "data.a", "hunter2"),
    ("v1 Secret", "data.a", "aHVu\ndGVyMg=="),
    ("v1 Secret", "data.a", "aHVu dGVyMg=="),
]


_STRICT = ("--dry-run=server", "--validate=strict")


@pytest.mark.parametrize(("word", "path", "value"), MISTAKES)
def test_what_lint_says_of_an_object_the_server_says_too(
    plane: Plane, tmp_path: Path, word: str, path: str, value: JsonValue
) -> None:
    obj = with_value(word, path, value)
    task = {
        "id": "x",
        "setup": {"objects": [obj]},
        "verification_spec": [
            {
                "name": "x",
                "role": "objective",
                "check": {"type": "pod_healthy", "selector": "a=b"},
            }
        ],
    }
    (tmp_path / "task.yaml").write_text(json.dumps(task))
    found = lint_paths([tmp_path], LintOptions()).diagnostics
    sent = subprocess.run(
        [plane.kubectl, "--kubeconfig", plane.kubeconfig, "create", "--filename=-", *_STRICT],
        input=json.dumps(obj),
        text=True,
        capture_output=True,
        check=False,
    )
    is_refused = sent.returncode != 0
    assert ("DB109" in [one.rule for one in found]) is is_refused, sent.stderr
