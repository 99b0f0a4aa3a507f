"""What the server makes of objects, as the tables have it."""

from __future__ import annotations

import pytest

from devops_bench.k8s.resources import ApiResource
from devops_bench.lint.kinds import common_kinds
from devops_bench.lint.server import is_always_there, is_built_in, least_value

WIDGET = ApiResource("ex.test", "v1", "widgets", "Widget", True)


def resource(kind: str) -> ApiResource:
    found = common_kinds().find(kind)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "path", "there"),
    [
        ("Deployment", "metadata.uid", True),
        ("Deployment", "kind", True),
        ("Deployment", "metadata.namespace", True),
        ("Node", "metadata.namespace", False),
        ("Deployment", "spec.replicas", True),
        ("Deployment", "spec.template.spec.restartPolicy", True),
        ("Deployment", "spec.paused", False),
        ("DaemonSet", "spec.replicas", False),
        ("Secret", "type", True),
        ("Secret", "data", False),
    ],
)
def test_what_every_object_has(kind: str, path: str, there: bool) -> None:
    assert is_always_there(resource(kind), tuple(path.split("."))) is there


def test_of_a_custom_kind_only_what_every_object_has_is_known() -> None:
    assert is_always_there(WIDGET, ("metadata", "uid"))
    assert not is_always_there(WIDGET, ("spec", "replicas"))
    assert least_value(WIDGET, "replicas") is None
    assert not is_built_in(WIDGET)
    assert least_value(resource("Deployment"), "replicas") == 0
    assert is_built_in(resource("NetworkPolicy"))
