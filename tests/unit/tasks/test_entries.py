from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.tasks.model import EntryError
from tests.unit.tasks.helpers import TASK, good, load


def test_lint_makes_no_follow_up_errors_of_unset_variables(tmp_path: Path) -> None:
    result = load(
        """id: "{{RUN_ID}}"
prompt: x
timeout_sec: "{{T}}"
setup:
  manifests: ["{{DIR}}/a.yaml"]
  objects: ["{{OBJECT}}", {apiVersion: "{{V}}", kind: "{{K}}", metadata: "{{M}}"}]
controls: {oracle: {script: "{{SCRIPT}}"}}
verification_spec:
  - name: "{{N}}"
    role: "{{ROLE}}"
    weight: "{{W}}"
    check:
      type: resource_property
      kind: "{{KIND}}"
      selector: app={{APP}}
      namespace: "{{NAMESPACE}}-x"
      path: spec.containers[?(@.name == "{{C}}")].{{FIELD}}
      op: "{{OP}}"
      value: 1
  - name: b
    role: objective
    mode: hold
    hold_window_sec: "{{W}}"
    check: {type: pod_healthy, selector: "{{S}}"}
  - name: c
    role: objective
    check: {type: scaling_complete, deployment: "{{D}}", min_replicas: "{{MIN}}"}
""",
        tmp_path,
        mode="lint",
    )
    errors = [str(one) for one in result.diagnostics if "metadata" not in one.path]
    assert errors == []


def test_an_unknown_check_type_is_a_warning_in_lint_and_an_error_in_run() -> None:
    text = TASK.replace("pod_healthy", "pod_telepathy")
    for mode, level in (("lint", Level.WARNING), ("run", Level.ERROR)):
        (found,) = load(text, mode=mode).diagnostics
        assert found.level is level
        assert "pod_telepathy" in found.message
        assert found.path == "verification_spec[0].check.type"


@pytest.mark.parametrize("field", ["kubeconfig: /var/other", "context: other"])
def test_another_cluster_loads_and_run_refuses_it(field: str) -> None:
    text = TASK.replace("selector: app=web", f"selector: app=web, {field}")
    assert load(text, mode="lint").diagnostics == ()
    for allow in (False, True):
        (found,) = load(text, allow_invalid_entries=allow).diagnostics
        assert found.level is Level.ERROR
        assert found.path == f"verification_spec[0].check.{field.split(':', maxsplit=1)[0]}"


def test_a_soak_must_fit_in_the_budget() -> None:
    def soak(seconds: int) -> str:
        hold = f"mode: hold\n    hold_settle_sec: 1\n    hold_window_sec: {seconds}\n    "
        return TASK.replace("    check:", f"    {hold}check:")

    assert good(soak(599)).entries
    (found,) = load(soak(600)).diagnostics
    assert found.path == "verification_spec[0].hold_window_sec"
    assert "601 s" in found.message
    assert good(soak(600) + "verification_budget_sec: 601\n").entries
    assert load(soak(30) + "verification_budget_sec: 30\n").task is None
    assert load(soak(30), total_budget_sec=30).task is None


def test_a_resource_that_is_named_but_not_selected_is_a_warning() -> None:
    check = "{type: all, checks: [{type: resource_property, kind: Pod, name: web, op: exists}]}"
    text = TASK.replace("{type: pod_healthy, selector: app=web}", check)
    (found,) = load(text).diagnostics
    assert (found.level, found.path) == (
        Level.WARNING,
        "verification_spec[0].check.checks[0].name",
    )
    for selected in ("resource_name: web", "selector: a=b"):
        assert load(text.replace("op: exists", f"op: exists, {selected}")).diagnostics == ()


def test_invalid_entries_may_be_kept_as_errors_of_the_report() -> None:
    text = f"{TASK}  - name: bad\n    role: objectiv\n    check: {{type: pod_telepathy}}\n"
    assert load(text).task is None
    task = good(text, allow_invalid_entries=True)
    assert [entry.name for entry in task.entries] == ["ready"]
    ((name, reason),) = [(error.name, error.reason) for error in task.entry_errors]
    assert name == "bad"
    assert "role" in reason
    assert "pod_telepathy" in reason


def test_other_errors_are_errors_also_when_invalid_entries_are_kept() -> None:
    assert (
        load(TASK.replace("id: web", "id: ..") + "x: y\n", allow_invalid_entries=True).task is None
    )


def test_entries_that_are_no_list_may_be_kept_as_an_error_too() -> None:
    text = "id: x\nprompt: do it\nverification_spec: nonsense\n"
    assert load(text).task is None
    task = good(text, allow_invalid_entries=True)
    assert [error.name for error in task.entry_errors] == ["<root>"]
    assert isinstance(task.entry_errors[0], EntryError)


_BROKEN = """
description: {a: map}
verification_budget_sec: 60
setup:
  ready: [{type: pod_healthy, context: c1}]
verification_spec:
  - name: soak
    role: objective
    mode: hold
    hold_window_sec: "61"
    weight: none
    check: {type: pod_healthy, kubeconfig: k2}
  - name: soak
    role: objective
    mode: hold
    hold_window_sec: 50
    hold_settle_sec: 11
    check: {type: all, checks: [{type: pod_healthy, selector: a=b, context: c3}, {type: nope}]}
"""


def test_no_fault_hides_another_one() -> None:
    found = {one.path: one.message for one in load(_BROKEN).diagnostics}
    messages = [one.message for one in load(_BROKEN).diagnostics if one.path == ""]
    assert sorted(messages) == ["the prompt is missing or blank", "the task has no id"]
    for index, place in (
        (0, "hold_window_sec"),
        (0, "weight"),
        (0, "check.selector"),
        (0, "check.kubeconfig"),
        (1, "name"),
        (1, "hold_window_sec"),
        (1, "check.checks[0].context"),
        (1, "check.checks[1].type"),
    ):
        assert f"verification_spec[{index}].{place}" in found
    assert "setup.ready[0].context" in found
    assert "setup.ready[0].selector" in found
    assert "description" in found
    assert len(load(_BROKEN).diagnostics) == len({str(o) for o in load(_BROKEN).diagnostics})


def test_an_entry_that_is_not_judged_is_not_refused_for_what_it_would_judge() -> None:
    bad = "{type: pod_healthy, context: other}"
    entry = f"name: bad, role: objective, mode: hold, hold_window_sec: 9999, check: {bad}"
    text = f"{TASK}  - {{{entry}}}\n"
    assert good(text, allow_invalid_entries=True).entry_errors
    assert load(text).task is None


@pytest.mark.parametrize("budget", ["abc", "-5", ".nan", "0"])
def test_a_budget_that_cannot_be_read_is_the_only_fault(budget: str) -> None:
    hold = "mode: hold\n    hold_window_sec: 700\n    "
    text = TASK.replace("    check:", f"    {hold}check:") + f"verification_budget_sec: {budget}\n"
    assert {one.path for one in load(text).diagnostics} == {"verification_budget_sec"}
