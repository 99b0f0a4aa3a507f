"""Objects as the server keeps them."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject
from devops_bench.k8s.stored import as_stored

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
        assert base64.b64decode(text).decode() == value


def test_other_objects_are_kept_as_they_are() -> None:
    raw: JsonObject = {"apiVersion": "ex.test/v1", "kind": "Secret", "stringData": {"a": "b"}}
    assert as_stored({**raw}) == raw


def test_what_is_not_known_yet_stays_as_it_is() -> None:
    raw: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"a": "{{A}}"},
        "stringData": {"b": "{{B}}", "c": "c"},
    }
    kept = as_stored(raw, lambda text: text.startswith("{{"))
    assert kept["data"] == {"a": "{{A}}", "b": "{{B}}", "c": "Yw=="}


def test_what_is_empty_is_not_kept() -> None:
    raw: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "data": {}, "immutable": False}
    assert as_stored(raw) == {"apiVersion": "v1", "kind": "ConfigMap", "immutable": False}
