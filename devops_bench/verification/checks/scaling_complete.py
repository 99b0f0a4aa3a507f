"""``scaling_complete``: a Deployment has as many ready replicas as it should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from devops_bench.k8s.view import ResourceQuery, UnknownKind, Unreadable, View
from devops_bench.verification.base import VERIFIERS, Check, Fields
from devops_bench.verification.checks.fields import Text, no_boolean, unset_variable
from devops_bench.verification.problems import Problem
from devops_bench.verification.result import VerificationResult

_Count = Annotated[int, Field(ge=0), BeforeValidator(no_boolean)]


@VERIFIERS.register("scaling_complete")
class ScalingComplete(Check):
    """Passes when the Deployment's ready replicas are within bounds.

    The status is taken as it is and marked stale while the Deployment's controller is behind its
    generation: a converge entry does not pass on it.

    Attributes:
        deployment: The Deployment's name.
        namespace: Its namespace.
        min_replicas: At least so many ready replicas, ≥ 0.
        max_replicas: At most so many, ≥ ``min_replicas``; ``None`` for no upper bound.
    """

    type: Literal["scaling_complete"] = "scaling_complete"
    deployment: Text
    namespace: Text = "default"
    min_replicas: _Count = 1
    max_replicas: _Count | None = None

    _query: ResourceQuery = PrivateAttr()
    _unset: str | None = PrivateAttr(default=None)

    @classmethod
    def problems_between_fields(cls, fields: Mapping[str, object]) -> Sequence[Problem]:
        """Refuse bounds that nothing is within."""
        low, high = fields.get("min_replicas", 1), fields.get("max_replicas")
        if isinstance(low, int) and isinstance(high, int) and high < low:
            return [Problem(("max_replicas",), f"is {high}, less than min_replicas, {low}")]
        return []

    @model_validator(mode="after")
    def _compile(self) -> ScalingComplete:
        self._query = ResourceQuery("deployments.apps", self.namespace, name=self.deployment)
        self._unset = unset_variable(self.namespace, self.deployment)
        return self

    def queries(self) -> tuple[ResourceQuery, ...]:
        """Return the one query."""
        return (self._query,)

    def fields(self) -> Fields:
        """Return the one field."""
        return (("status", "readyReplicas"),)

    def judge(self, view: View) -> VerificationResult:
        """Judge the Deployment that ``view`` shows."""
        if self._unset is not None:
            return VerificationResult.errored(f"the variable in {self._unset!r} has no value")
        reading = view.read(self._query)
        if isinstance(reading, Unreadable):
            return VerificationResult.errored(reading.reason)
        if isinstance(reading, UnknownKind):
            return VerificationResult.failed(reading.reason, undecided=True)
        where = f"Deployment {self.deployment} in namespace {self.namespace}"
        if not reading.objects:
            return VerificationResult.failed(f"there is no {where}")
        deployment = reading.objects[0]
        status = deployment.data.get("status")
        # The field is left out when it is 0 (DeploymentStatus, omitempty).
        ready = status.get("readyReplicas", 0) if isinstance(status, dict) else 0
        count = ready if isinstance(ready, int) else 0
        within = count >= self.min_replicas and (
            self.max_replicas is None or count <= self.max_replicas
        )
        bounds = (
            f"at least {self.min_replicas}"
            if self.max_replicas is None
            else f"{self.min_replicas} to {self.max_replicas}"
        )
        lag = ", and its status is behind its generation" if deployment.status_is_stale else ""
        reason = f"{count} ready replicas, {'' if within else 'not '}{bounds}{lag} ({where})"
        return VerificationResult(
            success=within,
            status="pass" if within else "fail",
            reason=reason,
            raw={"readyReplicas": count},
            stale=deployment.status_is_stale,
        )
