from __future__ import annotations

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import UnknownKind, Unreadable
from devops_bench.verification.checks.pod_healthy import PodHealthy
from devops_bench.verification.result import VerificationResult
from tests.unit.verification.helpers import kube_object, view_of, view_with

_CHECK = PodHealthy(selector="app=web", namespace="shop")


def _pod(
    name: str, *, ready: bool = True, phase: str = "Running", terminating: bool = False
) -> KubeObject:
    metadata: JsonObject = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if terminating else {}
    status: JsonObject = {
        "phase": phase,
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "True" if ready else "False"},
        ],
    }
    return kube_object("Pod", name, metadata=metadata, status=status)


def _judge(*pods: KubeObject) -> VerificationResult:
    return _CHECK.judge(view_of(_CHECK, *pods))


@pytest.mark.parametrize(
    ("pods", "passes"),
    [
        ([_pod("a")], True),
        ([_pod("a"), _pod("b")], True),
        ([], False),
        ([_pod("a"), _pod("b", ready=False)], False),
        ([_pod("a", ready=False, phase="Failed")], False),
        ([_pod("a"), _pod("b", ready=False, terminating=True)], True),
        ([_pod("a"), _pod("b", ready=False, phase="Succeeded")], True),
        ([_pod("a", ready=False, phase="Succeeded")], True),
        ([_pod("a", terminating=True)], False),
        ([kube_object("Pod", "a")], False),
    ],
)
def test_each_pod_that_counts_is_ready(pods: list[KubeObject], passes: bool) -> None:
    assert _judge(*pods).success is passes


def test_the_reason_names_the_pod_and_why() -> None:
    waiting = _pod("web-1", ready=False, phase="Pending")
    status = waiting.data["status"]
    assert isinstance(status, dict)
    status["containerStatuses"] = [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]
    assert _judge(_pod("web-0"), waiting).reason == (
        "1 of 2 pods not Ready: web-1 is ImagePullBackOff "
        "(Pod with labels app=web in namespace shop)"
    )


def test_what_was_not_observed_is_no_pass() -> None:
    assert _CHECK.judge(view_with(_CHECK, Unreadable("timeout"))).status == "error"
    assert _CHECK.judge(view_with(_CHECK, UnknownKind("no pods"))).undecided


def test_a_variable_without_a_value_is_never_judged() -> None:
    check = PodHealthy(selector="app={{APP}}")
    assert check.judge(view_of(check, _pod("a"))).status == "error"
