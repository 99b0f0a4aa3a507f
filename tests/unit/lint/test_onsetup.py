from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject, JsonValue
from tests.unit.lint.helpers import DEPLOYMENT, SHOP, entry, prop, with_setup

SCALED: JsonObject = {"type": "scaling_complete", "deployment": "web", "namespace": "shop"}


@pytest.mark.parametrize(
    ("least", "autoscaler", "expected"),
    [(5, False, ["DB209"]), (4, False, []), (5, True, [])],
)
def test_a_floor_above_what_the_setup_asks_for_fails_at_once(
    tmp_path: Path, least: int, autoscaler: bool, expected: list[str]
) -> None:
    one = entry("x", {**SCALED, "min_replicas": least}, "safeguard")
    hpa: JsonObject = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}},
    }
    objects: list[JsonValue] = [SHOP, DEPLOYMENT, *([hpa] if autoscaler else [])]
    assert with_setup(tmp_path, one, objects=objects) == expected


def test_a_number_that_an_autoscaler_changes_is_not_decided(tmp_path: Path) -> None:
    hpa: JsonObject = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}},
    }
    one = entry("x", prop("spec.replicas", "gte", 6), "safeguard")
    assert with_setup(tmp_path, one, objects=[SHOP, DEPLOYMENT, hpa]) == []
    assert with_setup(tmp_path, one, objects=[SHOP, DEPLOYMENT]) == ["DB209"]
    other = entry("x", prop("spec.strategy.type", "eq", "RollingUpdate"), "safeguard")
    assert with_setup(tmp_path, other, objects=[SHOP, DEPLOYMENT, hpa]) == ["DB209"]


def test_what_a_controller_fills_in_is_not_decided(tmp_path: Path) -> None:
    def secret(kind: str) -> JsonObject:
        metadata: JsonObject = {"name": "s", "namespace": "shop"}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind}

    one = entry("x", prop("data.token", "exists", kind="Secret", resource_name="s"), "safeguard")
    token = secret("kubernetes.io/service-account-token")
    assert with_setup(tmp_path, one, objects=[SHOP, token]) == []
    assert with_setup(tmp_path, one, objects=[SHOP, secret("Opaque")]) == ["DB209"]


def test_null_in_data_is_the_empty_text(tmp_path: Path) -> None:
    config: JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "shop"},
        "data": {"feature": None},
    }
    for op, value, expected in (("exists", None, []), ("eq", "", []), ("eq", "x", ["DB209"])):
        check = prop("data.feature", op, value, kind="ConfigMap", resource_name="c")
        one = entry("x", check, "safeguard")
        assert with_setup(tmp_path, one, objects=[SHOP, config]) == expected


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_the_namespace_that_the_server_fills_in_is_not_decided(tmp_path: Path, kind: str) -> None:
    obj: JsonObject = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "c"}}
    check = prop(
        "metadata.namespace", "eq", "default", kind=kind, resource_name="c", namespace="default"
    )
    assert "DB209" not in with_setup(tmp_path, entry("x", check, "safeguard"), objects=[obj])
    gone = prop("metadata.namespace", "absent", kind=kind, resource_name="c", namespace="default")
    assert "DB201" not in with_setup(tmp_path, entry("x", gone), objects=[obj])
