"""How checks name what they read."""

from __future__ import annotations

import pytest

from devops_bench.k8s.objects import KubeObject
from devops_bench.verification.checks.resource_property import ResourceProperty
from tests.unit.verification.helpers import view_of


def judged(check: ResourceProperty, *objects: KubeObject) -> str:
    return check.judge(view_of(check, *objects)).reason


@pytest.mark.parametrize("word", ["cm", "configmaps", "configmap", "ConfigMap"])
def test_a_kind_is_told_by_its_name_whatever_word_the_spec_has_for_it(word: str) -> None:
    check = ResourceProperty.model_validate(
        {"kind": word, "namespace": "shop", "selector": "a=b", "op": "absent"}
    )
    objects = [
        KubeObject(
            {
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "shop", "labels": {"a": "b"}},
            }
        )
        for name in ("x", "y")
    ]
    assert judged(check) == "there is no ConfigMap with labels a=b in namespace shop"
    assert judged(check, objects[0]) == "there is ConfigMap x in namespace shop"
    assert judged(check, *objects) == (
        "there are 2 objects of ConfigMap with labels a=b in namespace shop: x, y"
    )
