from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.lint.kinds import Kinds, kinds_of
from devops_bench.lint.model import Example
from devops_bench.lint.objects import object_faults
from devops_bench.lint.schemas import DEFAULT_VERSION, Shape, load_definitions
from tests.unit.lint.helpers import DEPLOYMENT, SECRET, SHOP, entry, lint_text, prop, written


@cache
def kinds() -> Kinds:
    definitions = load_definitions(DEFAULT_VERSION)
    assert definitions is not None
    return kinds_of(definitions, DEFAULT_VERSION)


def faults(api_version: str, kind: str, **fields: JsonValue) -> list[tuple[str, str, str]]:
    obj: JsonObject = {"apiVersion": api_version, "kind": kind, **fields}
    found = object_faults(obj, kinds().shapes[api_version, kind])
    return [(".".join(map(str, one.path)), one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("fields", "path", "message", "hint"),
    [
        ({"replica": 3}, "spec.replica", "no field 'replica'", "did you mean 'replicas'?"),
        ({"replicas": "3"}, "spec.replicas", "a whole number is wanted", "write 3 without quotes"),
        ({"replicas": "three"}, "spec.replicas", "this is a string", "write a whole number"),
        ({"replicas": 3_000_000_000}, "spec.replicas", "beyond what the field", "a smaller one"),
        ({"replicas": 2.5}, "spec.replicas", "this is a number", "write a whole number"),
        ({"paused": "true"}, "spec.paused", "a boolean is wanted", "write true without quotes"),
        ({"template": []}, "spec.template", "a map is wanted, and this is a list", "write a map"),
        (
            {"selector": {"matchLabels": {"version": 1.2}}},
            "spec.selector.matchLabels.version",
            "a string is wanted, and this is a number",
            "in quotes",
        ),
        (
            {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "5q"}}}]}}},
            "spec.template.spec.containers.0.resources.limits.cpu",
            "a quantity is wanted",
            "500m",
        ),
    ],
)
def test_what_the_schema_does_not_allow(
    fields: JsonObject, path: str, message: str, hint: str
) -> None:
    (found,) = faults("apps/v1", "Deployment", spec=fields)
    assert found[0] == path
    assert message in found[1]
    assert hint in found[2]


@pytest.mark.parametrize(
    "fields",
    [
        {"replicas": 3.0, "paused": None, "template": None},
        {"replicas": "{{REPLICAS}}", "paused": "{{PAUSED}}"},
        {"strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}},
        {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": 1.5}}}]}}},
        {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": " 1 "}}}]}}},
    ],
)
def test_what_it_allows(fields: JsonObject) -> None:
    assert faults("apps/v1", "Deployment", spec=fields) == []


def test_data_of_a_secret_is_base64() -> None:
    data: JsonObject = {
        "a": "hunter2",
        "b": "aHVudGVyMg==",
        "c": "aHVu\ndGVyMg==",
        "d": "aHVu dGVy",
        "e": "YWRtaW4",
    }
    first, second, third = faults("v1", "Secret", data=data)
    assert (first[0], second[0], third[0]) == ("data.a", "data.d", "data.e")
    assert "aHVudGVyMg== for that text, or move it to stringData" in first[2]
    assert (second[2], third[2]) == ("did you mean aHVudGVy?", "did you mean YWRtaW4=?")


def test_every_fault_is_told_at_once() -> None:
    found = faults("v1", "ConfigMap", data={"a": 1, "b": True, "c": {"d": 1}}, dat={})
    assert [one[0] for one in found] == ["data.a", "data.b", "data.c", "dat"]


def test_an_object_that_is_there_twice(tmp_path: Path) -> None:
    def config(**metadata: JsonValue) -> JsonObject:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    text = setup_of(
        SHOP,
        config(name="a", namespace="shop"),
        config(name="a", namespace="other"),
        config(name="a"),
        config(name="{{NAME}}"),
        config(name="{{NAME}}"),
        {**config(name="a", namespace="shop"), "kind": "Secret"},
        config(name="a", namespace="shop"),
    )
    found = [one for one in lint_text(text, tmp_path) if one.rule == "DB109"]
    assert [one.path for one in found] == ["setup.objects[7].metadata.name"]
    assert found[0].message == "the setup has another ConfigMap a already"


def test_an_object_within_an_object_has_what_every_object_has() -> None:
    raw: JsonObject = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }
    inner: JsonObject = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {}}
    assert list(object_faults(inner, Shape(raw, {}))) == []
    (found,) = object_faults({**inner, "other": 1}, Shape(raw, {}))
    assert found.path == ("other",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "data", "x", "metadata"]), inner, max_size=3)
    ),
)


@given(st.sampled_from(sorted(kinds().shapes)), st.dictionaries(st.text(), JSON, max_size=4))
def test_a_fault_is_where_it_says(name: tuple[str, str], obj: JsonObject) -> None:
    for fault in object_faults(obj, kinds().shapes[name]):
        value: JsonValue = obj
        for part in fault.path:
            assert isinstance(value, dict | list)
            value = value[part]  # type: ignore[index]
        assert fault.message
        assert fault.hint


@given(st.sampled_from(sorted(kinds().shapes)), st.text("abcxyz", min_size=1))
def test_a_field_that_is_not_there_is_a_fault_in_every_kind(
    name: tuple[str, str], field: str
) -> None:
    found = list(object_faults({f"no-{field}": 1}, kinds().shapes[name]))
    assert [(one.path, one.is_field) for one in found] == [((f"no-{field}",), True)]


def setup_of(*objects: JsonValue, **task: JsonValue) -> str:
    one = entry("x", prop("spec.replicas", "eq", 8))
    made: JsonObject = {"objects": [*objects]}
    return json.dumps({"id": "web", "setup": made, "verification_spec": [one], **task}, indent=1)


def test_the_objects_that_every_test_takes_have_none(tmp_path: Path) -> None:
    found = lint_text(setup_of(SHOP, DEPLOYMENT, SECRET), tmp_path)
    assert [one.path for one in found if one.rule == "DB109"] == []


def test_a_variable_is_text_where_a_number_is_wanted(tmp_path: Path) -> None:
    deployment: JsonObject = {**DEPLOYMENT, "spec": {"replicas": "{{N}}"}}
    text = setup_of(SHOP, deployment, variables={"N": "4"})
    (found,) = [one for one in lint_text(text, tmp_path) if one.rule == "DB109"]
    assert found.path == "setup.objects[1].spec.replicas"
    assert '"{{N}}"' in text.splitlines()[found.line - 1]
    assert "the value of a variable is always text" in found.hint
    unset = setup_of(SHOP, deployment)
    assert [one for one in lint_text(unset, tmp_path) if one.rule == "DB109"] == []


def test_an_object_of_a_file_is_named(tmp_path: Path) -> None:
    body = setup_of(setup={"manifests": ["first.yaml", "web.yaml"]})
    (tmp_path / "first.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nowhere}\n"
    )
    web = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: 1}\n"
    folder = written(Example(body, {"web.yaml": web}), tmp_path)
    (found,) = [one for one in lint_text(body, folder) if one.rule == "DB109"]
    assert found.message.startswith("ConfigMap web, data.a: a string is wanted")
    assert (found.path, found.line) == ("setup.manifests[1]", 6)
    others = [one for one in lint_text(body, folder) if one.rule == "DB108"]
    assert ("setup.manifests[0]", 5) in [(one.path, one.line) for one in others]


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("v1", "Deployment", "it is in apps/v1"),
        ("extensions/v1beta1", "Ingress", "it is in networking.k8s.io/v1"),
        ("app/v1", "Deployment", "it is in apps/v1"),
        ("rbac.authorisation.k8s.io/v1", "Role", "it is in rbac.authorization.k8s.io/v1"),
        ("v1", "Depoyment", "did you mean Deployment in apps/v1?"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot", None),
        ("metrics.k8s.io/v1beta1", "PodMetrics", None),
        ("networking.x-k8s.io/v1", "Thing", None),
        ("policy/v1beta1", "PodDisruptionBudget", "it is in policy/v1"),
        ("apps/v1", "Deploymnet", "did you mean 'Deployment'?"),
        ("apps/v1", "Whatever", f"--kubernetes-version is {DEFAULT_VERSION}"),
        ("{{GROUP}}/v1", "Deployment", None),
        ("gateway.networking.k8s.io/v1", "Gateway", None),
    ],
)
def test_an_api_version_has_its_kinds(
    tmp_path: Path, api_version: str, kind: str, hint: str | None
) -> None:
    obj: JsonObject = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    found = [one for one in lint_text(setup_of(SHOP, obj), tmp_path) if one.rule == "DB109"]
    assert [(one.message, one.hint) for one in found] == (
        [(f"there is no {kind} in {api_version}", hint)] if hint else []
    )


@pytest.mark.parametrize(
    ("kind", "name", "is_fault"),
    [
        ("ConfigMap", "CM_x", True),
        ("ConfigMap", "web.example", False),
        ("ConfigMap", "{{NAME}}", False),
        ("Secret", "-web", True),
    ],
)
def test_a_name_that_no_object_can_have(
    tmp_path: Path, kind: str, name: str, is_fault: bool
) -> None:
    obj: JsonObject = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
    found = lint_text(setup_of(SHOP, obj), tmp_path)
    assert [one.path for one in found if one.rule == "DB109"] == (
        ["setup.objects[1].metadata.name"] if is_fault else []
    )


def test_kinds_of_the_setups_own_definitions_have_their_schema(tmp_path: Path) -> None:
    crd: JsonObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.vault.example"},
        "spec": {
            "group": "vault.example",
            "scope": "Namespaced",
            "names": {"plural": "backups", "singular": "backup", "kind": "Backup"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"keep": {"type": "integer"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    }
    backup: JsonObject = {
        "apiVersion": "vault.example/v1",
        "kind": "Backup",
        "metadata": {"name": "a", "namespace": "shop"},
        "spec": {"keep": "3", "kep": 3},
    }
    other: JsonObject = {**backup, "apiVersion": "vault.example/v2", "metadata": {"name": "b"}}
    found = lint_text(setup_of(SHOP, crd, backup, other), tmp_path)
    assert [one.path for one in found if one.rule == "DB109"] == [
        "setup.objects[2].spec.keep",
        "setup.objects[2].spec.kep",
        "setup.objects[3].apiVersion",
    ]
