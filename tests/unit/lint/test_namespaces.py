"""Namespaces that nobody creates (DB108)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonObject, JsonValue
from tests.unit.lint.helpers import SHOP, entry, found_in, lint_text, prop, with_setup

CM: JsonObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "cm", "namespace": "nowhere"},
    "data": {"a": "1"},
}
LOOKS: JsonObject = prop(
    "data.a", "eq", "2", kind="ConfigMap", resource_name="cm", namespace="nowhere"
)


@pytest.mark.parametrize(
    ("namespace", "more", "expected"),
    [
        ("shop", {}, []),
        ("kube-system", {}, []),
        ("default", {}, []),
        ("{{NAMESPACE}}", {}, []),
        ("shpo", {}, ["DB108"]),
        ("shpo", {"may_appear": True}, []),
    ],
)
def test_namespaces(tmp_path: Path, namespace: str, more: JsonObject, expected: list[str]) -> None:
    check: JsonObject = {"type": "pod_healthy", "selector": "app=web", "namespace": namespace}
    assert with_setup(tmp_path, entry("x", check, "safeguard", **more)) == expected


def test_a_kind_without_namespaces_needs_none(tmp_path: Path) -> None:
    check = prop(None, "exists", kind="Node", namespace="nowhere")
    assert with_setup(tmp_path, entry("x", check, "safeguard")) == []


def test_a_namespace_that_the_prompt_names_is_the_agents_to_make(tmp_path: Path) -> None:
    check: JsonObject = {"type": "pod_healthy", "selector": "app=web", "namespace": "web"}
    setup: JsonObject = {"objects": [SHOP]}
    for prompt, expected in (("Deploy to web.", []), ("Deploy to web-2.", ["DB108"])):
        assert found_in(tmp_path, entry("x", check), setup=setup, prompt=prompt) == expected


@pytest.mark.parametrize("prompt", ["x", "Fix the nowhere.", "Look into nowhere, and mend it."])
@pytest.mark.parametrize("role", ["objective", "safeguard"])
def test_where_the_setups_own_objects_are_the_prompt_makes_no_namespace(
    tmp_path: Path, prompt: str, role: str
) -> None:
    task: dict[str, JsonValue] = {"setup": {"objects": [SHOP, CM]}, "prompt": prompt}
    check = {**LOOKS, "value": "1"} if role == "safeguard" else LOOKS
    assert found_in(tmp_path, entry("x", check, role), **task) == ["DB108"]


def test_it_is_reported_at_the_setup_where_no_entry_says_it(tmp_path: Path) -> None:
    spare = entry("x", {**LOOKS, "value": "1"}, "safeguard", may_appear=True)
    task = {"id": "web", "setup": {"objects": [SHOP, CM]}, "verification_spec": [spare]}
    (found,) = lint_text(json.dumps(task), tmp_path)
    assert (found.rule, found.level) == ("DB108", Level.WARNING)
    assert found.path == "setup.objects[1].metadata.namespace"
    (tmp_path / "cm.yaml").write_text(json.dumps(CM))
    task["setup"] = {"objects": [SHOP], "manifests": ["cm.yaml"]}
    (found,) = lint_text(json.dumps(task), tmp_path)
    assert (found.rule, found.path) == ("DB108", "setup.manifests[0]")


@pytest.mark.parametrize(
    "there",
    [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nowhere"}},
        {**CM, "metadata": {"name": "cm", "namespace": "kube-system"}},
        {**CM, "metadata": {"name": "cm", "namespace": "{{NAMESPACE}}"}},
        {**CM, "metadata": {"name": "cm"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "nowhere"}},
    ],
)
def test_a_namespace_that_is_there_or_is_not_known_is_none(
    tmp_path: Path, there: JsonObject
) -> None:
    objects: list[JsonValue] = [SHOP, there]
    if there["kind"] == "Namespace":
        objects.append(CM)
    check = prop("spec.replicas", "eq", 4)
    assert found_in(tmp_path, entry("x", check), setup={"objects": objects}, prompt="x") == []
