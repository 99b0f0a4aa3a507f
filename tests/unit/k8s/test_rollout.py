from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.rollout import rolled_out


def workload(
    kind: str,
    spec: JsonObject | None = None,
    status: JsonObject | None = None,
    generation: int = 1,
    api_version: str = "apps/v1",
    **metadata: JsonValue,
) -> KubeObject:
    return KubeObject(
        {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": "w", "generation": generation, **metadata},
            "spec": spec or {},
            "status": {"observedGeneration": 1, **(status or {})},
        }
    )


def condition(kind: str, status: str = "True", **rest: str) -> JsonObject:
    return {"conditions": [{"type": kind, "status": status, **rest}]}


COUNTS = st.integers(0, 4)


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.integers(1, 3))
def test_a_deployment_is_there_only_when_every_replica_is_new_and_available(
    wanted: int, total: int, updated: int, available: int, generation: int
) -> None:
    status: JsonObject = {
        "replicas": total,
        "updatedReplicas": updated,
        "availableReplicas": available,
    }
    done, why = rolled_out(workload("Deployment", {"replicas": wanted}, status, generation))
    assert why
    if done:
        assert generation == 1
        assert available >= updated >= wanted
        assert total <= updated
    if generation == 1 and total == updated == available == wanted:
        assert done


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_a_replica_set(wanted: int, total: int, ready: int, available: int) -> None:
    status: JsonObject = {"replicas": total, "readyReplicas": ready, "availableReplicas": available}
    done, _ = rolled_out(workload("ReplicaSet", {"replicas": wanted}, status))
    assert done == (total == wanted and available >= wanted)


@given(COUNTS, COUNTS, COUNTS, st.sampled_from(["RollingUpdate", "OnDelete"]))
def test_a_daemon_set(wanted: int, updated: int, available: int, strategy: str) -> None:
    status: JsonObject = {
        "desiredNumberScheduled": wanted,
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
    }
    done, _ = rolled_out(workload("DaemonSet", {"updateStrategy": {"type": strategy}}, status))
    assert done == (available >= wanted and (updated >= wanted or strategy == "OnDelete"))


FULL: JsonObject = {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3}
HALF: JsonObject = {**FULL, "updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a"}


@pytest.mark.parametrize(
    ("strategy", "status", "done"),
    [
        ({}, FULL, True),
        ({}, {**FULL, "updateRevision": "b", "currentRevision": "a"}, False),
        ({}, HALF, False),
        ({}, {**FULL, "readyReplicas": 2}, False),
        ({}, {**FULL, "replicas": 4}, False),
        ({"type": "OnDelete"}, HALF, True),
        ({"rollingUpdate": {"partition": 2}}, HALF, True),
        ({"rollingUpdate": {"partition": 1}}, HALF, False),
        ({"rollingUpdate": {"partition": 9}}, HALF, True),
    ],
)
def test_a_stateful_set(strategy: JsonObject, status: JsonObject, done: bool) -> None:
    spec: JsonObject = {"replicas": 3, "updateStrategy": strategy}
    assert rolled_out(workload("StatefulSet", spec, status))[0] is done


@pytest.mark.parametrize(
    ("spec", "status", "done"),
    [
        ({}, condition("Complete"), True),
        ({}, condition("Failed", message="BackoffLimitExceeded"), False),
        ({}, {"active": 2, "ready": 2}, True),
        ({}, {"active": 2, "ready": 1}, False),
        ({}, {}, False),
        ({"suspend": True}, {}, True),
    ],
)
def test_a_job(spec: JsonObject, status: JsonObject, done: bool) -> None:
    assert rolled_out(workload("Job", spec, status, api_version="batch/v1"))[0] is done


@pytest.mark.parametrize(
    ("status", "done"),
    [
        ({"phase": "Succeeded"}, True),
        ({"phase": "Running", **condition("Ready")}, True),
        ({"phase": "Running", **condition("Ready", "False")}, False),
        ({"phase": "Failed"}, False),
        ({}, False),
    ],
)
def test_a_pod(status: JsonObject, done: bool) -> None:
    assert rolled_out(workload("Pod", {}, status, api_version="v1"))[0] is done
    deleting = workload("Pod", {}, status, api_version="v1", deletionTimestamp="2030-01-01")
    assert rolled_out(deleting) == (False, "it is being deleted")


def test_a_deployment_past_its_deadline_says_so() -> None:
    status = condition("Progressing", "False", reason="ProgressDeadlineExceeded")
    done, why = rolled_out(workload("Deployment", {"replicas": 0}, status))
    assert (done, why) == (False, "it exceeded its progress deadline")


def test_a_custom_resource_definition() -> None:
    def crd(status: JsonObject) -> tuple[bool, str]:
        return rolled_out(
            workload("CustomResourceDefinition", {}, status, 5, "apiextensions.k8s.io/v1")
        )

    assert crd(condition("Established"))[0]
    assert not crd({})[0]
    assert "not accepted: taken" in crd(condition("NamesAccepted", "False", message="taken"))[1]


def test_other_kinds_have_nothing_to_roll_out() -> None:
    assert rolled_out(workload("ConfigMap", api_version="v1"))[0]
    assert rolled_out(workload("Deployment", {"replicas": 9}, api_version="ex.io/v1"))[0]


def test_a_workload_nobody_has_looked_at_has_not_rolled_out() -> None:
    fresh = KubeObject(
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"generation": 1}, "spec": {}}
    )
    assert not rolled_out(fresh)[0]
    assert not rolled_out(KubeObject({"apiVersion": "apps/v1", "kind": "Deployment"}))[0]
