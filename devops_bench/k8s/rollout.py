"""Whether a workload has rolled out, judged on the object alone.

The rules follow ``kubectl rollout status`` and kstatus
(https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject


def rolled_out(obj: KubeObject) -> tuple[bool, str]:
    """Return whether ``obj`` has become what its spec says, and one sentence why.

    Args:
        obj: A Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, Pod or
            CustomResourceDefinition; any other kind has nothing to roll out and is always ready.

    Returns:
        ``(True, …)`` when it has, ``(False, …)`` with what is still missing otherwise. An object
        whose controller has not seen its newest spec has not rolled out.
    """
    rule = _RULES.get((obj.group, _text(obj.data.get("kind"))))
    if rule is None:
        return True, "there is nothing to roll out"
    if obj.deleting:
        return False, "it is being deleted"
    # A Pod's generation moves without a rollout, and a Job and a CRD have conditions instead.
    if obj.is_observed and obj.status_is_stale:
        return False, "its controller has not seen the newest spec yet"
    return rule(obj)


def _deployment(obj: KubeObject) -> tuple[bool, str]:
    status = _status(obj)
    progressing = _condition(status, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return False, "it exceeded its progress deadline"
    wanted = _count(_spec(obj).get("replicas"), 1)
    updated = _count(status.get("updatedReplicas"))
    total = _count(status.get("replicas"))
    available = _count(status.get("availableReplicas"))
    if updated < wanted:
        return False, f"{updated} of {wanted} replicas are updated"
    if total > updated:
        return False, f"{total - updated} old replicas are still there"
    if available < updated:
        return False, f"{available} of {updated} updated replicas are available"
    return True, f"{available} of {wanted} replicas are updated and available"


def _stateful_set(obj: KubeObject) -> tuple[bool, str]:
    status = _status(obj)
    wanted = _count(_spec(obj).get("replicas"), 1)
    ready = _count(status.get("readyReplicas"))
    if _count(status.get("replicas")) != wanted:
        return False, f"{_count(status.get('replicas'))} of {wanted} replicas exist"
    if ready < wanted:
        return False, f"{ready} of {wanted} replicas are ready"
    strategy = _object(_spec(obj).get("updateStrategy"))
    if strategy.get("type") == "OnDelete":
        return True, f"{ready} of {wanted} replicas are ready"
    partition = _count(_object(strategy.get("rollingUpdate")).get("partition"))
    to_update = max(0, wanted - partition)
    updated = _count(status.get("updatedReplicas"))
    if partition == 0 and status.get("updateRevision") != status.get("currentRevision"):
        return False, f"{updated} of {wanted} replicas are updated"
    if updated < to_update:
        return False, f"{updated} of {to_update} replicas are updated"
    return True, f"{ready} of {wanted} replicas are ready and updated"


def _daemon_set(obj: KubeObject) -> tuple[bool, str]:
    status = _status(obj)
    wanted = _count(status.get("desiredNumberScheduled"))
    strategy = _object(_spec(obj).get("updateStrategy"))
    updated = _count(status.get("updatedNumberScheduled"))
    available = _count(status.get("numberAvailable"))
    if strategy.get("type") != "OnDelete" and updated < wanted:
        return False, f"{updated} of {wanted} pods are updated"
    if available < wanted:
        return False, f"{available} of {wanted} pods are available"
    return True, f"{available} of {wanted} pods are available"


def _replica_set(obj: KubeObject) -> tuple[bool, str]:
    status = _status(obj)
    wanted = _count(_spec(obj).get("replicas"), 1)
    total = _count(status.get("replicas"))
    available = _count(status.get("availableReplicas"))
    if total != wanted:
        return False, f"{total} of {wanted} replicas exist"
    if available < wanted:
        return False, f"{available} of {wanted} replicas are available"
    return True, f"{available} of {wanted} replicas are available"


def _job(obj: KubeObject) -> tuple[bool, str]:
    status = _status(obj)
    failed = _condition(status, "Failed")
    if failed.get("status") == "True":
        return False, f"it failed: {_text(failed.get('message')) or _text(failed.get('reason'))}"
    if _condition(status, "Complete").get("status") == "True":
        return True, "it is complete"
    if _spec(obj).get("suspend") is True:
        return True, "it is suspended"
    active = _count(status.get("active"))
    if active > 0 and _count(status.get("ready")) >= active:
        return True, f"its {active} pods are running"
    return False, "it is neither complete nor are its pods running"


def _pod(obj: KubeObject) -> tuple[bool, str]:
    phase = _text(_status(obj).get("phase")) or "Pending"
    if phase == "Succeeded":
        return True, "it succeeded"
    if _condition(_status(obj), "Ready").get("status") == "True":
        return True, "it is ready"
    return False, f"it is {phase} and not ready"


def _custom_resource_definition(obj: KubeObject) -> tuple[bool, str]:
    names = _condition(_status(obj), "NamesAccepted")
    if names.get("status") == "False":
        return False, f"its names are not accepted: {_text(names.get('message'))}"
    if _condition(_status(obj), "Established").get("status") == "True":
        return True, "it is established"
    return False, "it is not established"


_Rule = Callable[[KubeObject], tuple[bool, str]]

_RULES: Final[dict[tuple[str, str], _Rule]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("", "ReplicationController"): _replica_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _custom_resource_definition,
}


def _spec(obj: KubeObject) -> JsonObject:
    return _object(obj.data.get("spec"))


def _status(obj: KubeObject) -> JsonObject:
    return _object(obj.data.get("status"))


def _condition(status: JsonObject, kind: str) -> JsonObject:
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == kind:
            return condition
    return {}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _count(value: JsonValue, default: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
