"""What the rules say beyond their two examples: the cases that would be false alarms, or missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.engine import LintOptions, lint_paths
from devops_bench.tasks.yaml import parse
from tests.unit.lint.helpers import (
    entry,
    found_in,
    lint_text,
    prop,
)


def test_a_thousand_equal_entries_are_not_light(tmp_path: Path) -> None:
    entries = [entry(f"{i}", prop("spec.replicas", "eq", i)) for i in range(200)]
    for i, one in enumerate(entries):
        one["check"] = prop("spec.replicas", "eq", 4, resource_name=f"web-{i}")
    assert found_in(tmp_path, *entries) == []


def test_weights_of_the_other_role_do_not_count(tmp_path: Path) -> None:
    heavy = entry("a", prop("spec.replicas", "eq", 4), "safeguard", weight=1000)
    assert found_in(tmp_path, heavy, entry("b", prop("spec.replicas", "eq", 4))) == []


def test_to_wait_until_it_passes_sees_no_more(tmp_path: Path) -> None:
    one = entry("x", prop("spec.replicas", "gte", 2), "safeguard", mode="converge")
    (found,) = lint_text(json.dumps({"id": "web", "verification_spec": [one]}), tmp_path)
    assert (found.rule, found.level) == ("DB203", Level.NOTICE)
    assert "after the turn, until it passes" in found.message
    remembered = entry("x", prop("metadata.uid", "eq", "1"), "safeguard", mode="converge")
    assert found_in(tmp_path, remembered) == []


@pytest.mark.parametrize("mode", ["assert", None])
def test_a_mode_that_is_written_out_is_meant(tmp_path: Path, mode: str | None) -> None:
    one = entry("x", prop("spec.replicas", "eq", 4), "safeguard")
    one["mode"] = mode
    text = json.dumps({"id": "web", "verification_spec": [one]})
    (found,) = lint_text(text, tmp_path)
    assert (found.rule, found.level) == ("DB203", Level.NOTICE if mode else Level.WARNING)


@pytest.mark.parametrize(
    "path",
    ["metadata.uid", "metadata.generation", "status.containerStatuses[0].restartCount"],
)
def test_what_the_object_remembers_may_be_read_at_the_end(tmp_path: Path, path: str) -> None:
    check = prop(path, "ne", "1" if path.endswith("uid") else 9, kind="Pod")
    one = entry("x", check, "safeguard")
    one["mode"] = None
    assert found_in(tmp_path, one) == []


@pytest.mark.parametrize(
    ("kind", "right"),
    [
        ("apps/v1/Deployment", "write deployments.v1.apps"),
        ("apps/Deployment", "write deployments.apps"),
        ("v1/Pod", "write pods"),
        ("/v1/pods", "write pods"),
        ("networking.k8s.io/v1/NetworkPolicy", "write networkpolicies.v1.networking.k8s.io"),
        ("deployments/web", "write kind: deployments and resource_name: web"),
        ("example.com/v1/Widget", "write the kind alone"),
    ],
)
def test_a_kind_with_a_slash_is_an_error(tmp_path: Path, kind: str, right: str) -> None:
    check = prop("spec.replicas", "eq", 4, kind=kind)
    (found,) = lint_text(
        json.dumps({"id": "web", "verification_spec": [entry("x", check)]}), tmp_path
    )
    assert (found.rule, found.level) == ("DB103", Level.ERROR)
    assert found.hint.startswith(right)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("app=web", ["DB106"]),
        ("app in (web)", ["DB106"]),
        ("app=web,tier!=db", ["DB106"]),
        ("web", []),
        ("{{NAME}}", ["DB303"]),
    ],
)
def test_a_selector_in_the_name(tmp_path: Path, name: str, expected: list[str]) -> None:
    assert found_in(tmp_path, entry("x", prop(None, "exists", resource_name=name))) == expected
    check: JsonObject = {"type": "scaling_complete", "deployment": name}
    assert found_in(tmp_path, entry("x", check)) == expected


def test_the_name_of_a_role_may_hold_anything(tmp_path: Path) -> None:
    check = prop(None, "exists", kind="clusterrole", resource_name="system:a=b")
    assert found_in(tmp_path, entry("x", check)) == []


@pytest.mark.parametrize(
    ("pattern", "everything"),
    [
        (".*", True),
        ("", True),
        ("^", True),
        ("a*", True),
        ("|x", True),
        (".", False),
        (".+", False),
        ("^.+$", False),
        ("^.*$", False),
        ("^.{0,}$", False),
        ("(?s)^.*$", True),
        ("^$", False),
        ("[^x]", False),
        (r"\S", False),
        ("^nginx:", False),
        ("{{PATTERN}}", False),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, everything: bool) -> None:
    path = "spec.template.spec.containers[0].image"
    check = prop(path, "matches", pattern)
    found = found_in(tmp_path, entry("x", check))
    assert ("DB105" in found) is everything


def test_patterns_in_filters(tmp_path: Path) -> None:
    check = prop("spec.template.spec.containers[?(@.name =~ '.*' && @.image)].image", "exists")
    assert found_in(tmp_path, entry("x", check)) == ["DB105"]


def test_types_in_filters(tmp_path: Path) -> None:
    check = prop("status.conditions[?(@.status == true)].type", "exists")
    assert found_in(tmp_path, entry("x", check)) == ["DB102"]


def test_the_oracles_script_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "solve.sh").write_text("#!/bin/sh\nkubectl rollout undo deployment/web\n")
    controls: JsonObject = {"oracle": {"script": "solve.sh"}}
    check = prop("spec.replicas", "eq", 4)
    for prompt, expected in (
        ("Run kubectl rollout   undo deployment/web.", ["DB301"]),
        ("Undo the rollout of web.", []),
    ):
        found = found_in(tmp_path, entry("x", check), controls=controls, prompt=prompt)
        assert found == expected


EXAMPLES = [example.spec for rule in all_rules() for example in (rule.fires, rule.near_miss)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.just("{{X}}"),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)


def mutated(value: JsonValue, data: st.DataObject) -> JsonValue:
    """Replace one value somewhere below."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: mutated(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        index = data.draw(st.integers(0, len(value) - 1))
        return [mutated(one, data) if i == index else one for i, one in enumerate(value)]
    return data.draw(JSON)


@settings(max_examples=150)
@given(st.sampled_from(EXAMPLES), st.data())
def test_no_spec_makes_a_rule_fall_over(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    document, _ = parse(text)
    value = mutated(document.value if document is not None else {}, data)
    file = tmp_path_factory.getbasetemp() / "mutated.yaml"
    file.write_text(json.dumps(value))
    found = lint_paths([file], LintOptions())
    assert all(one.rule and one.message for one in found.diagnostics)


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        ("web", True),
        ("web-1.example.com", True),
        ("{{NAME}}", False),
        ("no pod is privileged", False),
        ("the web is up", False),
        ("Ready", False),
        ("web/api", False),
        ("replicas=4", False),
    ],
)
def test_a_name_that_no_object_can_have_is_a_title(
    tmp_path: Path, name: str, is_found: bool
) -> None:
    check = prop("spec.replicas", "eq", 4, resource_name=None, name=name)
    assert ("DB107" in found_in(tmp_path, entry("x", check))) is is_found
