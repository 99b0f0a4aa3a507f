from __future__ import annotations

import pytest

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import OBSERVING_KINDS, KubeObject
from devops_bench.k8s.rollout import rolled_out


def _object(api_version: str, kind: str, generation: int, status: JsonObject | None) -> KubeObject:
    data: JsonObject = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web", "generation": generation},
        "spec": {"replicas": 0},
    }
    return KubeObject(data if status is None else {**data, "status": status})


@pytest.mark.parametrize("status", [None, {}, {"replicas": 0}], ids=str)
@pytest.mark.parametrize(("group", "kind"), sorted(OBSERVING_KINDS))
def test_a_status_that_no_controller_wrote_is_stale(
    group: str, kind: str, status: JsonObject | None
) -> None:
    obj = _object(f"{group}/v1" if group else "v1", kind, 1, status)
    assert obj.status_is_stale


@pytest.mark.parametrize(("group", "kind"), sorted(OBSERVING_KINDS))
def test_nothing_has_rolled_out_whose_status_is_stale(group: str, kind: str) -> None:
    obj = _object(f"{group}/v1" if group else "v1", kind, 1, {})
    done, _ = rolled_out(obj)
    # What has no rollout at all is ready by definition.
    assert not done or kind in {
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "ValidatingAdmissionPolicy",
    }


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("v1", "Pod"), ("example.com/v1", "Deployment"), ("example.com/v1", "Widget")],
)
def test_a_kind_that_need_not_say_what_it_has_seen_is_not_stale_without(
    api_version: str, kind: str
) -> None:
    assert not _object(api_version, kind, 3, {}).status_is_stale
    assert _object(api_version, kind, 3, {"observedGeneration": 2}).status_is_stale


def test_a_status_of_the_newest_generation_is_not_stale() -> None:
    assert not _object("apps/v1", "Deployment", 2, {"observedGeneration": 2}).status_is_stale
    assert not _object("apps/v1", "Deployment", 0, {}).status_is_stale
