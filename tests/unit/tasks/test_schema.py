from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from devops_bench.tasks.schema import UNUSED_KEYS, task_json_schema

ROOT = Path(__file__).parents[3]
SPECS = sorted((ROOT / "specs").glob("*/task.yaml"))
SCHEMA: dict[str, Any] = dict(task_json_schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

SMALL: dict[str, Any] = {
    "id": "x",
    "verification_spec": [
        {
            "name": "a",
            "role": "objective",
            "check": {"type": "all", "checks": [{"type": "pod_healthy", "selector": "a=b"}]},
        }
    ],
}


def test_there_are_specs() -> None:
    assert SPECS


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.parent.name)
def test_every_spec_is_valid(spec: Path) -> None:
    assert [
        error.message for error in VALIDATOR.iter_errors(yaml.safe_load(spec.read_text()))
    ] == []


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert VALIDATOR.is_valid(SMALL)
    assert VALIDATOR.is_valid(SMALL | {key: object() for key in UNUSED_KEYS})


@pytest.mark.parametrize(
    "change",
    [
        {"promt": "x"},
        {"task_id": "y"},
        {"id": "a/b"},
        {"id": True},
        {"timeout_sec": 0},
        {"timeout_sec": "soon"},
        {"verification_entries": []},
        {"verification_spec": "x"},
        {"verification_spec": [{"name": "a"}]},
        {"variables": {"A": []}},
        {"variables": {"a-b": "x"}},
        {"setup": {"objekts": []}},
        {"controls": {"oracle": {"rum": "x"}}},
        {"controls": {"oracle": {"run": "x", "script": "y"}}},
        {"controls": {"oracle": {}}},
        {"access": None},
        {"access": {"preset": None, "rules": []}},
        {"access": {"preset": "view", "namespaces": None}},
        {"access": {"rules": [{"resources": ["pods"], "verbs": ["get"], "apiGroups": None}]}},
        {"access": {"rules": [{"resources": ["pods"], "verbs": ["get"], "resourceNames": None}]}},
    ],
)
def test_what_the_loader_refuses_is_not_valid(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(SMALL | change)


def test_checks_are_told_apart_by_their_type() -> None:
    entry = SMALL["verification_spec"][0]
    wrong = {"type": "pod_healthy", "deployment": "x"}
    for check in (wrong, {"type": "all", "checks": [wrong]}, {"type": "nope"}, {}):
        assert not VALIDATOR.is_valid(SMALL | {"verification_spec": [entry | {"check": check}]})
    assert not VALIDATOR.is_valid(SMALL | {"setup": {"ready": [wrong]}})


@pytest.mark.parametrize(
    "change",
    [
        {"weight": 0},
        {"hold_window_sec": -1},
        {"hold_settle_sec": -1},
        {"check": {"type": "scaling_complete", "deployment": "x", "min_replicas": -1}},
    ],
)
def test_bounds_of_numbers_are_in_the_schema(change: dict[str, Any]) -> None:
    entry = SMALL["verification_spec"][0] | change
    assert not VALIDATOR.is_valid(SMALL | {"verification_spec": [entry]})


@pytest.mark.parametrize("text", ["900", " 2.5 ", "{{SECONDS}}", "1{{ZEROS}}"])
def test_a_text_may_stand_for_a_number_as_in_the_loader(text: str) -> None:
    check = {"type": "scaling_complete", "deployment": "x", "min_replicas": text}
    entry = {"name": "a", "role": "objective", "weight": text, "check": check}
    spec = {"id": "x", "timeout_sec": text, "verification_spec": [entry]}
    assert [error.message for error in VALIDATOR.iter_errors(spec)] == []
    assert not VALIDATOR.is_valid(spec | {"timeout_sec": "15 minutes"})
