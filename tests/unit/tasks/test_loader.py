from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devops_bench.core.diagnostics import Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.tasks.loader import LoadOptions, load_task, load_tasks
from devops_bench.tasks.model import Oracle
from tests.unit.tasks.helpers import ENTRY, TASK, good, lines, load


def test_the_smallest_task() -> None:
    task = good(TASK)
    assert (task.id, task.prompt) == ("web", "Fix it.")
    assert [entry.name for entry in task.entries] == ["ready"]
    assert (task.timeout_sec, task.verification_budget_sec) == (None, None)
    assert task.setup.ready is None
    assert task.setup.objects == ()
    assert task.controls.oracle is None
    assert task.source == Path("/nonexistent/task.yaml")


def test_every_field(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "web.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n"
    )
    (tmp_path / "fix.sh").write_text("true\n")
    task = good(
        """
task_id: 11
name: short
title: t
description: d
prompt: Fix {{WHAT}} in {{NAMESPACE}}.
timeout_sec: 60
verification_budget_sec: 30.5
variables: {WHAT: web, REPLICAS: 3, FLAG: true}
setup:
  manifests: [m/web.yaml]
  objects:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: "{{NAMESPACE}}"}}
  ready:
    - {type: pod_healthy, selector: app=web, namespace: "{{NAMESPACE}}"}
controls:
  oracle: {script: fix.sh}
verification_entries:
  - name: ready
    role: objective
    mode: hold
    hold_window_sec: "{{REPLICAS}}"
    check: {type: pod_healthy, selector: app=web}
""",
        tmp_path,
        built_in={"NAMESPACE": "default", "RUN_ID": "r1"},
        variables={"NAMESPACE": "shop"},
    )
    assert task.id == "11"
    assert (task.name, task.title, task.description) == ("short", "t", "d")
    assert task.prompt == "Fix web in shop."
    assert (task.timeout_sec, task.verification_budget_sec) == (60.0, 30.5)
    assert task.variables == {
        "NAMESPACE": "shop",
        "RUN_ID": "r1",
        "WHAT": "web",
        "REPLICAS": "3",
        "FLAG": "true",
    }
    assert [obj["metadata"] for obj in task.setup.objects] == [
        {"name": "shop"},
        {"name": "a", "namespace": "shop"},
        {"name": "b", "namespace": "shop"},
    ]
    assert task.setup.manifests == (tmp_path.resolve() / "m" / "web.yaml",)
    assert task.setup.ready is not None
    assert [(entry.name, entry.resolved_mode) for entry in task.setup.ready] == [
        ("ready[0]", "converge")
    ]
    assert task.controls.oracle == Oracle(script=tmp_path.resolve() / "fix.sh")
    assert task.entries[0].hold_window_sec == 3


def test_every_error_at_once_each_with_its_place() -> None:
    result = load(
        """id: ../x
nam: x
timeout_sec: 0
variables: {a-b: 1, C: [1], D: "{{E}}"}
prompt: 3
setup:
  manifests: [nope.yaml, ../x, /etc/passwd]
  object: []
  objects: [{kind: x}, 3]
  ready: [{type: pod_healthy}, {type: foo}]
controls: {oracle: {script: a, run: b}}
verification_spec:
- name: a
  role: objective
  weight: .inf
  check: {type: pod_healthy, selector: a}
- name: a
  role: objectiv
  check: {type: resource_property, kind: x, op: eq, value: 1, resource: 3}
- name: "{{UNSET}}"
  role: objective
  check: {type: pod_healthy, selector: on}
"""
    )
    assert result.task is None
    assert lines(result) == [
        "1:5 error id",
        "2:1 error nam",
        "3:14 error timeout_sec",
        "4:13 error variables.a-b",
        "4:24 error variables.C",
        "4:32 error variables.D",
        "5:9 error prompt",
        "7:15 error setup.manifests[0]",
        "7:26 error setup.manifests[1]",
        "7:32 error setup.manifests[2]",
        "8:3 error setup.object",
        "9:13 error setup.objects[0].apiVersion",
        "9:13 error setup.objects[0].metadata.name",
        "9:24 error setup.objects[1]",
        "10:11 error setup.ready[0].selector",
        "10:39 error setup.ready[1].type",
        "11:20 error controls.oracle",
        "15:11 error verification_spec[0].weight",
        "17:9 error verification_spec[1].name",
        "18:9 error verification_spec[1].role",
        *[line for line in lines(result) if line.startswith("19:")],
        "20:9 error verification_spec[2].name",
        "22:40 error verification_spec[2].check.selector",
    ]
    assert any("check.resource" in line for line in lines(result))


@pytest.mark.parametrize(
    ("field", "right"),
    [
        ("promt: x", "did you mean 'prompt'?"),
        ("timeout: 5", "did you mean 'timeout_sec'?"),
        ("verification_specs: []", "did you mean 'verification_spec'?"),
        ("zzz: x", "known: id, "),
        ("setup: {objekts: []}", "did you mean 'objects'?"),
        ("controls: {orakle: {}}", "did you mean 'oracle'?"),
        ("controls: {oracle: {rum: x}}", "did you mean 'run'?"),
    ],
)
def test_an_unknown_key_is_an_error_with_what_was_meant(field: str, right: str) -> None:
    found = [one for one in load(f"{TASK}{field}\n").diagnostics if "unknown key" in one.message]
    assert len(found) == 1
    assert found[0].level is Level.ERROR
    assert right in found[0].hint


def test_unused_keys_of_the_public_format_give_one_notice() -> None:
    result = load(
        f"{TASK}tags: [a]\nchaos_spec: '{{{{NOT_SET}}}} {{{{ bad }}}}'\nrecoverable_safety: 1\n"
    )
    assert result.task is not None
    (notice,) = result.diagnostics
    assert notice.level is Level.NOTICE
    assert "tags, chaos_spec, recoverable_safety" in notice.message


@pytest.mark.parametrize("key", ["id", "task_id"])
@pytest.mark.parametrize(
    ("value", "kept"),
    [("20", "20"), ("'0011'", "0011"), ("a.b-c_D", "a.b-c_D"), ("0", "0"), ("x" * 100, "x" * 100)],
)
def test_ids(key: str, value: str, kept: str) -> None:
    assert good(TASK.replace("id: web", f"{key}: {value}")).id == kept


@pytest.mark.parametrize(
    "value",
    ["..", ".", ".x", "a/b", "''", "-x", "true", "1.5", "0011", "[]", "x" * 101, "a b", "-1", "ü"],
)
def test_ids_that_name_no_folder(value: str) -> None:
    assert "error id" in lines(load(TASK.replace("id: web", f"id: {value}")))[0]


def test_an_id_is_needed_and_only_one() -> None:
    assert "no id" in load(TASK.replace("id: web\n", "")).diagnostics[0].message
    assert lines(load(f"task_id: x\n{TASK}")) == ["1:1 error task_id"]


@pytest.mark.parametrize("field", ["timeout_sec", "verification_budget_sec"])
@pytest.mark.parametrize(
    "value", ["0", "-1", "'inf'", "'nan'", ".inf", "1e9", "604801", "true", "soon", "[1]"]
)
def test_durations_out_of_range(field: str, value: str) -> None:
    assert [line.split()[1:] for line in lines(load(f"{TASK}{field}: {value}\n"))] == [
        ["error", field]
    ]


def test_a_duration_may_come_from_a_variable() -> None:
    task = good(f'{TASK}timeout_sec: "{{{{T}}}}"\n', variables={"T": "90"})
    assert task.timeout_sec == 90
    assert lines(load(f'{TASK}timeout_sec: "{{{{T}}}}"\n', variables={"T": "soon"}))


@pytest.mark.parametrize("rest", ["", "verification_spec:\n", "verification_spec: []\n"])
def test_a_task_that_verifies_nothing_is_refused(rest: str) -> None:
    (found,) = load(f"id: x\nprompt: do it\n{rest}").diagnostics
    assert "nothing is verified" in found.message


def test_the_entries_stand_in_one_place() -> None:
    result = load(f"{TASK}verification_entries:{ENTRY}")
    assert [line.split()[1:] for line in lines(result)] == [["error", "verification_entries"]]


@pytest.mark.parametrize("text", ["[]", "x", "- id: x"])
def test_a_task_is_a_mapping(text: str) -> None:
    assert "mapping" in load(text).diagnostics[0].message


@pytest.mark.parametrize("prompt", ["", "prompt:\n", "prompt: ''\n", "prompt: ' \n '\n"])
def test_run_needs_a_prompt_and_lint_does_not(prompt: str) -> None:
    text = TASK.replace("prompt: Fix it.\n", prompt)
    assert load(text, mode="lint").diagnostics == ()
    (found,) = load(text, mode="run").diagnostics
    assert "prompt" in found.message


def test_variables_in_order_of_precedence() -> None:
    text = TASK.replace("Fix it.", "'{{A}} {{B}} {{C}}'") + "variables: {B: task, C: task}\n"
    task = good(
        text, built_in={"A": "built-in", "B": "built-in", "C": "built-in"}, variables={"C": "var"}
    )
    assert task.prompt == "built-in task var"


def test_an_unset_variable_is_an_error_in_run_only() -> None:
    text = TASK.replace("Fix it.", "'Fix {{NOPE}}'")
    assert load(text, mode="lint").diagnostics == ()
    (found,) = load(text).diagnostics
    assert (found.line, found.column, found.path) == (2, 9, "prompt")


def test_a_malformed_variable_is_an_error_in_lint_too() -> None:
    (found,) = load(TASK.replace("Fix it.", "'{{ NAME }}'"), mode="lint").diagnostics
    assert "{{NAME}}" in found.hint


def test_used_variables_are_told() -> None:
    result = load(TASK.replace("Fix it.", "'{{A}} {{{{B}}'"), variables={"A": "x", "Z": "y"})
    assert result.used_variables == {"A"}


def test_a_file_that_cannot_be_read_raises(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path, Path("a\0b")):
        with pytest.raises(InvalidInputError, match="cannot be read"):
            load_task(path)


def test_tasks_are_loaded_once_and_their_ids_differ(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text(TASK)
    (tmp_path / "c.yaml").write_text(TASK.replace("id: web", "id: other"))
    (tmp_path / "values.yaml").write_text("x: 1\n")
    paths = [tmp_path / "a.yaml", tmp_path, tmp_path / "a.yaml", tmp_path / "gone"]
    loaded = load_tasks(paths, LoadOptions())
    assert [file.name for file in loaded.files] == ["a.yaml", "b.yaml", "c.yaml"]
    assert loaded.skipped == 1
    assert len(loaded.unreadable) == 1
    (found,) = loaded.diagnostics
    assert found.file == tmp_path / "b.yaml"
    assert "already taken" in found.message
    assert "a.yaml" in found.hint
    with pytest.raises(InvalidInputError) as caught:
        loaded.raise_for_errors()
    assert caught.value.diagnostics == (found,)


def test_nothing_wrong_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TASK)
    loaded = load_tasks([tmp_path], LoadOptions())
    loaded.raise_for_errors()
    assert [task.id for task in loaded.tasks] == ["web"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80))
def test_no_bytes_raise(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(data)
    result = load_task(file, mode="lint")
    assert result.task is None
    assert result.diagnostics
    assert all(found.file == file for found in result.diagnostics)


KEYS = st.sampled_from(
    [
        "id",
        "prompt",
        "timeout_sec",
        "variables",
        "setup",
        "controls",
        "manifests",
        "objects",
        "ready",
        "oracle",
        "script",
        "run",
        "verification_spec",
        "name",
        "role",
        "check",
        "type",
        "checks",
        "mode",
        "weight",
        "x",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(["{{A}}", "objective", "hold", "all", "resource_property", "pod_healthy"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, VALUES, max_size=8), st.sampled_from(["lint", "run"]), st.booleans())
def test_no_document_raises(document: dict[str, object], mode: str, allow: bool) -> None:
    text = json.dumps(document)
    result = load(text, mode=mode, allow_invalid_entries=allow)
    failed = any(found.level is Level.ERROR for found in result.diagnostics)
    assert failed == (result.task is None)
