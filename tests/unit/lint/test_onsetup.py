from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject, JsonValue
from tests.unit.lint.helpers import DEPLOYMENT, SHOP, entry, with_setup

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
        "metadata": {"name": "web", "namespace": "shop"},
    }
    objects: list[JsonValue] = [SHOP, DEPLOYMENT, *([hpa] if autoscaler else [])]
    assert with_setup(tmp_path, one, objects=objects) == expected
