from __future__ import annotations

import re
from pathlib import Path

import pytest

from devops_bench.core.errors import InvalidInputError
from devops_bench.lint import schemas
from devops_bench.lint.kinds import Kinds, common_kinds, kinds_of
from devops_bench.lint.schemas import DEFAULT_VERSION, Shape, installed_versions, load_definitions

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def kinds() -> Kinds:
    definitions = load_definitions(DEFAULT_VERSION)
    assert definitions is not None, "the development environment has the schemas"
    return kinds_of(definitions, DEFAULT_VERSION)


def test_the_default_is_the_version_of_the_local_control_plane() -> None:
    pinned = (REPOSITORY / "hack" / "controlplane" / "go.mod").read_text()
    match = re.search(r"k8s\.io/kubernetes v(\d+\.\d+)\.", pinned)
    assert match is not None
    assert match[1] == DEFAULT_VERSION


def test_versions_are_selectable() -> None:
    versions = installed_versions()
    assert DEFAULT_VERSION in versions
    assert versions.index("1.30") < versions.index(DEFAULT_VERSION)
    assert load_definitions(f"v{DEFAULT_VERSION}.3") == load_definitions(DEFAULT_VERSION)


@pytest.mark.parametrize("text", ["1.2", "latest", "", "../1.36"])
def test_an_unknown_version_names_those_that_there_are(text: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(DEFAULT_VERSION)):
        load_definitions(text)


def test_without_the_package_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "PACKAGE", "a_package_that_is_not_installed")
    assert load_definitions(DEFAULT_VERSION) is None
    assert installed_versions() == ()


@pytest.mark.parametrize(
    ("text", "resource", "namespaced"),
    [
        ("Deployment", "deployments.apps", True),
        ("deploy", "deployments.apps", True),
        ("networkpolicies", "networkpolicies.networking.k8s.io", True),
        ("netpol", "networkpolicies.networking.k8s.io", True),
        ("ingresses", "ingresses.networking.k8s.io", True),
        ("endpoints", "endpoints", True),
        ("StorageClass", "storageclasses.storage.k8s.io", False),
        ("ns", "namespaces", False),
        ("crd", "customresourcedefinitions.apiextensions.k8s.io", False),
        ("events", "events", True),
        ("events.events.k8s.io", "events.events.k8s.io", True),
    ],
)
def test_kinds_are_found_as_kubectl_finds_them(
    kinds: Kinds, text: str, resource: str, namespaced: bool
) -> None:
    for known in (kinds, common_kinds()):
        found = known.find(text)
        if found is None:  # only the schemas know a second group's events
            assert known is not kinds
            continue
        assert (str(found), found.namespaced) == (resource, namespaced)


def test_the_preferred_version_is_the_newest_stable_one(kinds: Kinds) -> None:
    found = kinds.find("hpa")
    assert found is not None
    assert found.version == "v2"


@pytest.mark.parametrize("text", ["Eviction", "TokenReview", "Status", "ObjectMeta", "PodList"])
def test_what_the_server_does_not_keep_is_no_kind(kinds: Kinds, text: str) -> None:
    assert kinds.find(text) is None


def test_every_kind_has_a_schema_with_metadata(kinds: Kinds) -> None:
    for resource in kinds.catalogue.resources:
        shape = kinds.shape(resource)
        assert shape is not None
        assert "metadata" in shape.fields


@pytest.mark.parametrize(
    ("raw", "types"),
    [
        ({"type": ["integer", "null"]}, {"integer"}),
        ({"oneOf": [{"type": ["string", "null"]}, {"type": "number"}]}, {"string", "number"}),
        ({"x-kubernetes-int-or-string": True}, {"integer", "string"}),
        ({"oneOf": [{"type": "string"}, {}]}, set()),
        ({"properties": {}}, {"object"}),
        ({}, set()),
    ],
)
def test_types(raw: dict[str, object], types: set[str]) -> None:
    assert Shape(raw, {}).types == types  # type: ignore[arg-type]


def test_references_that_lead_in_a_circle_end() -> None:
    raw: dict[str, object] = {"properties": {"a": {"$ref": "#/$defs/a"}}}
    shape = Shape(raw, {"a": {"$ref": "#/$defs/a"}})  # type: ignore[arg-type]
    found = shape.field("a")
    assert found is not None
    assert not found.fields


def crd(**fields: object) -> dict[str, object]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **fields}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wdg"]},
            "versions": [
                {"name": "v1beta1", "served": True, "schema": {"openAPIV3Schema": {}}},
                {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}},
                {"name": "v2", "served": False, "schema": {"openAPIV3Schema": {}}},
            ],
        },
    }


def test_a_custom_kind_has_its_names_and_its_preferred_version(kinds: Kinds) -> None:
    known = kinds.with_definitions([crd(properties={"size": {"type": "integer"}})])  # type: ignore[list-item]
    for text in ("Widget", "widgets", "wdg", "widgets.example.com"):
        found = known.find(text)
        assert found is not None
        assert found.api_version == "example.com/v1"
    resource = known.find("widgets")
    assert resource is not None
    shape = known.shape(resource)
    assert shape is not None
    assert shape.field("metadata") is not None
    spec = shape.field("spec")
    assert spec is not None
    assert spec.fields == ("size",)
    assert kinds.find("Widget") is None


@pytest.mark.parametrize("broken", [{}, {"names": {}}, {"names": {"kind": 1}, "versions": "v1"}])
def test_a_broken_definition_is_no_fault_of_lint(kinds: Kinds, broken: dict[str, object]) -> None:
    raw: dict[str, object] = {"kind": "CustomResourceDefinition", "spec": broken}
    assert kinds.with_definitions([raw]).version == DEFAULT_VERSION  # type: ignore[list-item]
