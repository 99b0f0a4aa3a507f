from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.lint import schemas
from devops_bench.lint.engine import NO_SCHEMAS, LintOptions, lint_paths
from tests.unit.lint.helpers import ids, lint_text, report

SPECS = Path(__file__).resolve().parents[3] / "specs"

CHECK = """
verification_spec:
  - name: web
    role: objective
    check:
      type: resource_property
      kind: {kind}
      resource_name: web
      path: {path}
      op: eq
      value: 4
"""


def one_check(path: str = "spec.replicas", kind: str = "Deployment") -> str:
    return "id: web" + CHECK.format(path=path, kind=kind)


def test_the_specs_of_this_repository_are_clean() -> None:
    found = report(SPECS)
    assert len(found.files) >= 3
    assert [str(one) for one in found.diagnostics] == []
    assert found.ignored == ()


def test_every_finding_of_a_spec_with_errors_comes_at_once(tmp_path: Path) -> None:
    text = one_check("spec.replica") + "promt: 1\n"
    found = lint_text(text, tmp_path)
    assert ids(found) == ["DB101", "DB004"]
    assert [one.level for one in found] == [Level.ERROR, Level.ERROR]


def test_the_version_of_kubernetes_decides(tmp_path: Path) -> None:
    # https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/: resize came with 1.32/1.33
    text = one_check("spec.resources.limits.cpu", "Pod")
    assert ids(lint_text(text, tmp_path, kubernetes_version="1.30")) == ["DB101"]
    assert ids(lint_text(text, tmp_path)) == []


def test_without_schemas_it_says_what_was_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "PACKAGE", "a_package_that_is_not_installed")
    (tmp_path / "task.yaml").write_text(one_check("spec.replica"))
    found = report(tmp_path)
    assert found.notes == (NO_SCHEMAS,)
    assert found.kubernetes_version is None
    assert ids(list(found.diagnostics)) == []
    # What needs no schema is still found.
    assert ids(lint_text(one_check("spec.replicas", "Deploymnet"), tmp_path)) == ["DB103"]


CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
    - name: v1
      served: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""


@pytest.mark.parametrize("where", ["option", "manifest"])
def test_custom_kinds_are_looked_up(tmp_path: Path, where: str) -> None:
    crd = tmp_path / "crd.yaml"
    crd.write_text(CRD)
    setup = "setup: {manifests: [crd.yaml]}\n" if where == "manifest" else ""
    options = {"crds": (crd,)} if where == "option" else {}
    assert ids(lint_text(one_check("spec.size", "widgets"), tmp_path)) == ["DB104"]
    assert ids(lint_text(setup + one_check("spec.size", "widgets"), tmp_path, **options)) == []
    found = lint_text(setup + one_check("spec.sise", "widgets"), tmp_path, **options)
    assert ids(found) == ["DB101"]
    assert found[0].hint == "did you mean 'size'?"


def test_a_file_of_definitions_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"x\.yaml cannot be read"):
        report(tmp_path, crds=(tmp_path / "x.yaml",))


def test_select_and_ignore(tmp_path: Path) -> None:
    text = one_check("spec.replica") + "tags: [a]\nvariables: {A: b}\n"
    assert ids(lint_text(text, tmp_path)) == ["DB101", "DB006", "DB302"]
    assert ids(lint_text(text, tmp_path, select=("DB3",))) == ["DB302"]
    assert ids(lint_text(text, tmp_path, ignore=("DB101", "DB0"))) == ["DB302"]
    assert ids(lint_text(text, tmp_path, select=("DB1", "DB3"), ignore=("DB30",))) == ["DB101"]


def test_what_keeps_a_spec_from_running_is_always_said(tmp_path: Path) -> None:
    text = one_check() + "promt: 1\n"
    for options in ({"select": ("DB3",)}, {"ignore": ("DB0",)}):
        assert ids(lint_text(text, tmp_path, **options)) == ["DB004"]
    with pytest.raises(InvalidInputError, match="DB004 keeps a spec from running"):
        lint_text(text, tmp_path, ignore=("DB004",))


def test_a_rule_that_there_is_not_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no rule that begins with 'DB5'"):
        lint_paths([tmp_path], LintOptions(select=("DB5",)))


@pytest.mark.parametrize("option", ["select", "ignore"])
def test_an_empty_id_is_not_every_rule(tmp_path: Path, option: str) -> None:
    with pytest.raises(InvalidInputError, match="an empty id names no rule"):
        lint_text(one_check("spec.replica"), tmp_path, **{option: ("DB1", "")})


def test_files_that_are_no_tasks_can_be_passed_over(tmp_path: Path) -> None:
    other = tmp_path / "values.yaml"
    other.write_text("a: 1\n")
    assert ids(list(report(other).diagnostics)) == ["DB004", "DB005", "DB005"]
    found = lint_paths([other], LintOptions(tasks_only=True))
    assert (found.files, found.diagnostics, found.skipped, found.unreadable) == ((), (), 1, ())


def test_a_task_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(one_check("spec.replica"))
    found = lint_paths([tmp_path / "task.yaml"], LintOptions(tasks_only=True))
    assert ids(list(found.diagnostics)) == ["DB101"]


def test_values_of_variables_are_looked_at(tmp_path: Path) -> None:
    text = one_check("'{{WHERE}}'")
    assert ids(lint_text(text, tmp_path)) == ["DB303"]
    assert ids(lint_text(text, tmp_path, variables={"WHERE": "spec.replica"})) == ["DB101"]
    assert ids(lint_text(text, tmp_path, variables={"WHERE": "spec.replicas"})) == []
