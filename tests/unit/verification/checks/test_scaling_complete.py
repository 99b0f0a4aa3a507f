from __future__ import annotations

import pytest
from pydantic import ValidationError

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import UnknownKind, Unreadable
from devops_bench.verification.checks.scaling_complete import ScalingComplete
from tests.unit.verification.helpers import kube_object, view_of, view_with


def _deployment(ready: int | None, *, generation: int = 1) -> KubeObject:
    status: JsonObject = {"observedGeneration": 1}
    if ready is not None:
        status["readyReplicas"] = ready
    return kube_object(metadata={"generation": generation}, status=status)


@pytest.mark.parametrize(
    ("low", "high", "ready", "passes"),
    [
        (1, None, 1, True),
        (1, None, None, False),
        (2, 4, 5, False),
        (2, 4, 4, True),
        (0, 0, None, True),
    ],
)
def test_the_ready_replicas_are_within_bounds(
    low: int, high: int | None, ready: int | None, passes: bool
) -> None:
    check = ScalingComplete(deployment="web", namespace="shop", min_replicas=low, max_replicas=high)
    assert check.judge(view_of(check, _deployment(ready))).success is passes


_CHECK = ScalingComplete(deployment="web", namespace="shop")


def test_no_deployment_fails() -> None:
    assert _CHECK.judge(view_of(_CHECK)).reason == "there is no Deployment web in namespace shop"


def test_a_status_behind_the_generation_is_stale() -> None:
    result = _CHECK.judge(view_of(_CHECK, _deployment(3, generation=2)))
    assert result.stale
    assert "behind its generation" in result.reason
    assert not _CHECK.judge(view_of(_CHECK, _deployment(3))).stale


def test_a_deployment_that_no_controller_has_seen_is_stale() -> None:
    none = ScalingComplete(deployment="web", namespace="shop", min_replicas=0, max_replicas=0)
    new = kube_object(apiVersion="apps/v1", metadata={"generation": 1}, status={})
    assert none.judge(view_of(none, new)).stale


def test_what_was_not_observed_is_no_pass() -> None:
    assert _CHECK.judge(view_with(_CHECK, Unreadable("timeout"))).status == "error"
    assert _CHECK.judge(view_with(_CHECK, UnknownKind("no deployments"))).undecided


@pytest.mark.parametrize(
    "fields", [{"min_replicas": 3, "max_replicas": 2}, {"min_replicas": -1}, {"min_replicas": True}]
)
def test_bounds_that_make_no_sense_are_refused(fields: JsonObject) -> None:
    with pytest.raises(ValidationError, match="replicas"):
        ScalingComplete.model_validate({"deployment": "web", **fields})
