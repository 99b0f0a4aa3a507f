"""What the server makes of objects, as the tables have it."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.lint.kinds import common_kinds
from devops_bench.lint.server import as_stored, is_always_there, is_built_in, least_value
from devops_bench.verification.placeholders import has_placeholder

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


TEXTS = st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=3)


@given(TEXTS, TEXTS)
def test_a_secret_is_kept_with_its_data_in_base64(
    written: dict[str, str], encoded: dict[str, str]
) -> None:
    data: JsonObject = {
        key: base64.b64encode(value.encode()).decode() for key, value in encoded.items()
    }
    raw: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": data,
        "stringData": {**written},
    }
    kept = as_stored(raw)
    assert "stringData" not in kept
    shown = kept.get("data", {})
    assert isinstance(shown, dict)
    assert set(shown) == {*written, *encoded}
    for key, value in {**encoded, **written}.items():
        text = shown[key]
        assert isinstance(text, str)
        if not has_placeholder(value):
            assert base64.b64decode(text).decode() == value


def test_other_objects_are_kept_as_they_are() -> None:
    raw: JsonObject = {"apiVersion": "ex.test/v1", "kind": "Secret", "stringData": {"a": "b"}}
    assert as_stored({**raw}) == raw
