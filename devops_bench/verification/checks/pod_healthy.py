"""``pod_healthy``: the pods behind a selector are Ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import PrivateAttr, model_validator

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import ResourceQuery, UnknownKind, Unreadable, View
from devops_bench.verification.base import VERIFIERS, Check, Fields
from devops_bench.verification.checks.fields import SelectorText, Text, unset_variable
from devops_bench.verification.checks.wording import query_label
from devops_bench.verification.result import VerificationResult


@VERIFIERS.register("pod_healthy")
class PodHealthy(Check):
    """Passes when there is a pod, and each that is neither terminating nor Succeeded is Ready.

    Pods that are terminating do not count as being there: if there are no others, it fails.

    Attributes:
        selector: The pods' labels.
        namespace: Their namespace.
    """

    type: Literal["pod_healthy"] = "pod_healthy"
    selector: SelectorText
    namespace: Text = "default"

    _query: ResourceQuery = PrivateAttr()
    _unset: str | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _compile(self) -> PodHealthy:
        self._query = ResourceQuery("Pod", self.namespace, selector=self.selector)
        self._unset = unset_variable(self.namespace, self.selector)
        return self

    def queries(self) -> tuple[ResourceQuery, ...]:
        """Return the one query."""
        return (self._query,)

    def fields(self) -> Fields:
        """Return what tells whether a pod is Ready, and why it is not."""
        names = ("phase", "conditions", "initContainerStatuses", "containerStatuses")
        return tuple(("status", name) for name in names)

    def judge(self, view: View) -> VerificationResult:
        """Judge the pods that ``view`` shows."""
        if self._unset is not None:
            return VerificationResult.errored(f"the variable in {self._unset!r} has no value")
        reading = view.read(self._query)
        if isinstance(reading, Unreadable):
            return VerificationResult.errored(reading.reason)
        if isinstance(reading, UnknownKind):
            return VerificationResult.failed(reading.reason, undecided=True)
        if not reading.objects:
            return VerificationResult.failed(f"there is no {query_label(self._query, ())}")
        present = [pod for pod in reading.objects if not pod.deleting]
        if not present:
            return VerificationResult.failed(
                f"there is no {query_label(self._query, ())} that is not terminating "
                f"({len(reading.objects)} {'is' if len(reading.objects) == 1 else 'are'})"
            )
        counted = [pod for pod in present if _status(pod).get("phase") != "Succeeded"]
        unready = [pod for pod in counted if not _is_ready(pod)]
        stale = any(pod.status_is_stale for pod in counted)
        where = f"({self._query})"
        if unready:
            first = unready[0]
            reason = (
                f"{len(unready)} of {len(counted)} pods not Ready: "
                f"{first.name} is {_why(first)} {where}"
            )
            return VerificationResult.failed(reason, stale=stale)
        done = len(present) - len(counted)
        ended = f", {done} Succeeded" if done else ""
        reason = f"{len(counted)} of {len(counted)} pods Ready{ended} {where}"
        return VerificationResult.passed(reason, stale=stale)


def _status(pod: KubeObject) -> JsonObject:
    status = pod.data.get("status")
    return status if isinstance(status, dict) else {}


def _is_ready(pod: KubeObject) -> bool:
    # https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in _maps(_status(pod).get("conditions"))
    )


def _why(pod: KubeObject) -> str:
    """Return the reason that a container waits or ended for, else the phase."""
    status = _status(pod)
    for key in ("initContainerStatuses", "containerStatuses"):
        for container in _maps(status.get(key)):
            state = container.get("state")
            for kind in ("waiting", "terminated"):
                detail = state.get(kind) if isinstance(state, dict) else None
                reason = detail.get("reason") if isinstance(detail, dict) else None
                if isinstance(reason, str) and reason != "Completed":
                    return reason[:80]
    phase = status.get("phase")
    return f"{phase} and not Ready" if isinstance(phase, str) else "without a status"


def _maps(value: JsonValue) -> Iterator[JsonObject]:
    return (item for item in (value if isinstance(value, list) else []) if isinstance(item, dict))
