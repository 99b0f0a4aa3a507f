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
        ("web web", ["DB106"]),
        ("deployment/web", ["DB106"]),
        ("Web", ["DB106"]),
        ("web*", ["DB106"]),
        ("-web", ["DB106"]),
        ("w" * 254, ["DB106"]),
        ("w" * 253, []),
    ],
)
def test_a_selector_in_the_name(tmp_path: Path, name: str, expected: list[str]) -> None:
    assert found_in(tmp_path, entry("x", prop(None, "exists", resource_name=name))) == expected
    check: JsonObject = {"type": "scaling_complete", "deployment": name}
    assert found_in(tmp_path, entry("x", check)) == expected


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("clusterrole", "system:a=b"),
        ("Role", "Web Web"),
        ("CertificateSigningRequest", "node-csr-XyZ"),
        ("APIService", "v1."),
        ("IPAddress", "2001:db8::1"),
    ],
)
def test_some_kinds_take_other_names(tmp_path: Path, kind: str, name: str) -> None:
    check = prop(None, "exists", kind=kind, resource_name=name)
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


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$..[?(@ =~ 'secret')]", ["DB102"]),
        ("$..[?(@ > 4)]", ["DB102"]),
        ("$..[?(@ == 'secret')]", []),
        ("$..[?(@.name =~ 'secret')]", []),
        ("metadata.annotations[?(@ =~ 'secret')]", []),
        ("spec..[?(@.name == 'x')].image", []),
    ],
)
def test_what_is_asked_of_every_value_meets_a_map(
    tmp_path: Path, path: str, found: list[str]
) -> None:
    assert found_in(tmp_path, entry("x", prop(path, "exists"))) == found


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


SCALE = "kubectl scale deploy web --replicas=8"


@pytest.mark.parametrize(
    "line",
    [
        f"{SCALE} # up",
        f"{SCALE} || true",
        f"{SCALE} || exit 1",
        f"{SCALE} >/dev/null",
        f"{SCALE} > /dev/null 2>&1",
        f"{SCALE} &>/dev/null || true  # as it is",
        f"cd x && {SCALE}",
        f"set -e; {SCALE};",
        f"kubectl get deploy web && {SCALE}",
        f"if kubectl get deploy web; then {SCALE}; fi",
        f"while ! ok 'a && b; c'; do {SCALE} & done",
        f"({SCALE} 2>&1)",
        f"{{ {SCALE}; }} || exit 1",
        'kubectl scale deploy "web" --replicas="8"',
    ],
)
def test_what_changes_nothing_about_a_command_does_not_hide_it(tmp_path: Path, line: str) -> None:
    controls: JsonObject = {"oracle": {"run": line}}
    check = entry("x", prop("spec.replicas", "eq", 8))
    for prompt, expected in (
        (f"Run `{SCALE}` now.", ["DB301"]),
        ("Run kubectl scale deploy 'web' --replicas=8.", ["DB301"]),
        ("Have kubectl scale web.", []),
    ):
        assert found_in(tmp_path, check, controls=controls, prompt=prompt) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$..readyReplicas", ["DB205"]),
        ("*.readyReplicas", ["DB205"]),
        ("$..image", []),
        ("*.replicas", []),
        ("spec.replicas", []),
    ],
)
def test_a_status_is_read_however_the_path_gets_there(
    tmp_path: Path, path: str, expected: list[str]
) -> None:
    check = prop(path, "eq", 4, across_matches="every")
    one = entry("x", check, mode="hold", hold_window_sec=30)
    assert [it for it in found_in(tmp_path, one) if it == "DB205"] == expected


def test_a_share_is_never_shown_as_the_one_percent_that_it_has_not(tmp_path: Path) -> None:
    checks = [prop("spec.replicas", "eq", 4, resource_name=f"web-{i}") for i in range(3)]
    weights = (1, 99.0001, 0.0001)
    entries = [entry(f"{w}", c, weight=w) for w, c in zip(weights, checks, strict=True)]
    text = json.dumps({"id": "web", "verification_spec": entries})
    found = [one.message for one in lint_text(text, tmp_path) if one.rule == "DB206"]
    assert ["0.99 %" in found[0], "less than 0.01 %" in found[1]] == [True, True]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("metadata.name", "web", ["DB202"]),
        ("metadata.namespace", "shop", ["DB202"]),
        ("metadata.name", "api", []),
        ("metadata.name", "{{NAME}}", ["DB303"]),
        ("metadata.labels.name", "web", []),
    ],
)
def test_an_objects_own_name_cannot_be_another(
    tmp_path: Path, path: str, value: str, expected: list[str]
) -> None:
    assert found_in(tmp_path, entry("x", prop(path, "eq", value), "safeguard")) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(2.5, ["DB102"]), ("2500m", ["DB102"]), (2.0, []), ("4000m", [])]
)
def test_a_whole_number_is_no_broken_one(
    tmp_path: Path, value: JsonValue, expected: list[str]
) -> None:
    assert found_in(tmp_path, entry("x", prop("spec.replicas", "eq", value))) == expected


def test_what_follows_from_an_error_is_not_told_as_well(tmp_path: Path) -> None:
    body = (
        "id: web\nverification_spec:\n  - name: x\n    role: objective\n    check:\n"
        "      {type: resource_property, kind: Deployment, resource_name: web, op: eq,\n"
        "       path: spec.replicas, value: 0o4}\n"
    )
    assert [one.rule for one in lint_text(body, tmp_path)] == ["DB003"]
    slip = prop("spec.replicas", "eq", 4, kind="Deploymnet")
    assert found_in(tmp_path, entry("x", slip)) == ["DB103"]
    own = prop("spec.replicas", "eq", 4, kind="ClusterPolicy")
    assert found_in(tmp_path, entry("x", own)) == ["DB104"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kubectl get pods -n shop", []),
        ("kubectl --namespace shop rollout status deployment/web", []),
        ("kubectl -n shop wait pods --for=condition=Ready -l app=web", []),
        ("kubectl -n shop rollout restart deployment/web", ["DB301"]),
        ("kubectl get deploy web -o json | kubectl replace -f -", ["DB301"]),
        ("kubectl -n get delete pod web-0", ["DB301"]),
    ],
)
def test_to_look_is_no_solution(tmp_path: Path, line: str, expected: list[str]) -> None:
    controls: JsonObject = {"oracle": {"run": line}}
    check = entry("x", prop("spec.replicas", "eq", 8))
    assert found_in(tmp_path, check, controls=controls, prompt=f"Run {line} now.") == expected


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("deployment.v1beta1.apps", ["it is in apps/v1: write deployments"]),
        ("ingresses.extensions", ["it is in networking.k8s.io/v1: write ingresses"]),
        ("hpa.v2", ["it is in autoscaling/v2: write horizontalpodautoscalers"]),
        ("deployments.v1.apps", []),
        ("services.serving.knative.dev", []),
    ],
)
def test_a_kind_of_kubernetes_in_a_group_that_has_it_not(
    tmp_path: Path, kind: str, said: list[str]
) -> None:
    check = entry("x", prop(None, "exists", kind=kind))
    text = json.dumps({"id": "web", "verification_spec": [check]})
    found = lint_text(text, tmp_path)
    assert [one.hint for one in found if one.rule == "DB103"] == said
    assert ("DB104" in [one.rule for one in found]) is (kind == "services.serving.knative.dev")


@pytest.mark.parametrize("start", ["<<EOF", "<<-EOF", "<<'EOF'", '<<"EOF" >file'])
def test_a_here_document_holds_no_commands(tmp_path: Path, start: str) -> None:
    run = f"kubectl apply -f - {start}\nkind: ConfigMap\n  kubectl is named\n EOF\n{SCALE}\n"
    check = entry("x", prop("spec.replicas", "eq", 8))
    controls: JsonObject = {"oracle": {"run": run}}
    for prompt, expected in (
        ("It is there: kind: ConfigMap, kubectl is named", []),
        (f"Run {SCALE}.", ["DB301"]),
        (f"We ran {SCALE}0 and {SCALE}-x.", []),
    ):
        assert found_in(tmp_path, check, controls=controls, prompt=prompt) == expected


def test_arithmetic_is_no_here_document(tmp_path: Path) -> None:
    controls: JsonObject = {"oracle": {"run": f"n=$((1<<3))\n{SCALE}\n"}}
    check = entry("x", prop("spec.replicas", "eq", 8))
    assert found_in(tmp_path, check, controls=controls, prompt=f"Run {SCALE}.") == ["DB301"]
