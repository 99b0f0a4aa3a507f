"""Generic mutants: which apply to a setup, and that their scripts are what a shell can run."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.mutants import HARMS, BuiltinMutants, builtin_mutants
from devops_bench.agents.targets import pointer, targets_of
from devops_bench.core.json import JsonObject
from devops_bench.tasks.model import (
    EXIT_DOES_NOT_APPLY,
    EXIT_NOT_ALLOWED,
    Controls,
    ControlScript,
    Setup,
    Task,
)

NAMESPACE: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def an_object(kind: str, api_version: str = "v1", name: str = "x", **rest: object) -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "x"}},
        **rest,  # type: ignore[dict-item]
    }


DEPLOYMENT = an_object(
    "Deployment",
    "apps/v1",
    "web",
    spec={"replicas": 3, "selector": {"matchLabels": {"app": "web", "tier": "a"}}},
)


def mutants_of(*objects: JsonObject, oracle: str | None = "fix") -> BuiltinMutants:
    does = None if oracle is None else ControlScript(run=oracle)
    return builtin_mutants(
        Task(
            id="t",
            prompt="x",
            source=Path("/t.yaml"),
            setup=Setup(objects=objects),
            controls=Controls(oracle=does),
        )
    )


def script_of(found: BuiltinMutants, name: str) -> str:
    (script,) = (one.does.run for one in found.mutants if one.name == name)
    assert script is not None
    return script


def keys(found: BuiltinMutants) -> set[str]:
    return {
        harm.key for harm in HARMS for one in found.mutants if f"builtin-{harm.key}-" in one.name
    }


class TestWhichApply:
    def test_a_workload_in_a_namespace(self) -> None:
        found = mutants_of(NAMESPACE, DEPLOYMENT)
        assert keys(found) == {harm.key for harm in HARMS} - {"loosen"}
        assert found.not_applicable == (
            "loosen the policy: the setup has not a policy, a role or a quota",
        )

    @pytest.mark.parametrize(
        ("made", "applies"),
        [
            (an_object("ConfigMap", data={"k": "v"}), "flip"),
            (an_object("Secret", data={"k": "dg=="}), "flip"),
            (an_object("Service", spec={"selector": {"app": "x"}}), "flip"),
            (an_object("HorizontalPodAutoscaler", "autoscaling/v2"), "flip"),
            (an_object("ResourceQuota", spec={"hard": {"pods": "3"}}), "loosen"),
            (an_object("NetworkPolicy", "networking.k8s.io/v1", spec={}), "loosen"),
            (an_object("PodDisruptionBudget", "policy/v1", spec={"minAvailable": 1}), "loosen"),
            (an_object("Role", "rbac.authorization.k8s.io/v1", rules=[{"verbs": []}]), "loosen"),
        ],
    )
    def test_other_kinds(self, made: JsonObject, applies: str) -> None:
        found = keys(mutants_of(made))
        assert {applies, "delete", "recreate", "relabel"} <= found
        assert not {"scale", "restart", "pretend", "end-namespace"} & found

    def test_a_setup_without_objects_has_none(self) -> None:
        found = mutants_of()
        assert found.mutants == ()
        assert len(found.not_applicable) == len(HARMS)

    def test_an_object_without_a_fixed_name_is_passed_over(self) -> None:
        made: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}
        assert mutants_of(made).mutants == ()


class TestScripts:
    def test_the_work_is_done_first_but_not_by_the_one_that_pretends(self) -> None:
        found = mutants_of(NAMESPACE, DEPLOYMENT)
        for one in found.mutants:
            script = script_of(found, one.name)
            assert script.startswith('bash "$ORACLE"\n') == ("-pretend-" not in one.name)

    def test_without_an_oracle_only_the_harm_is_done(self) -> None:
        assert all(
            "ORACLE" not in (one.does.run or "")
            for one in mutants_of(DEPLOYMENT, oracle=None).mutants
        )

    def test_the_kind_is_named_with_its_group(self) -> None:
        script = script_of(mutants_of(DEPLOYMENT), "builtin-delete-deployment-web")
        assert "--namespace shop delete Deployment.apps/web" in script

    def test_the_pods_are_those_of_the_selector(self) -> None:
        script = script_of(mutants_of(DEPLOYMENT), "builtin-restart-deployment-web")
        assert "--selector=app=web,tier=a" in script

    def test_names_are_unique_and_safe_also_where_objects_share_theirs(self) -> None:
        other = an_object("ConfigMap", name="a.b")
        found = mutants_of(an_object("ConfigMap", name="a-b"), other)
        names = [one.name for one in found.mutants]
        assert len(set(names)) == len(names)
        assert all(name.replace("-", "").isalnum() for name in names)

    @given(st.lists(st.sampled_from(["Deployment", "Secret", "Role", "Node", "Widget"])))
    def test_the_same_task_always_has_the_same_ones(self, kinds: list[str]) -> None:
        objects = [an_object(kind, name=f"o{number}") for number, kind in enumerate(kinds)]
        assert mutants_of(*objects) == mutants_of(*objects)

    @pytest.mark.parametrize("name", ["web", 'it\'s $(touch gone) "x" ; `y`'])
    def test_a_shell_can_read_them_and_a_name_is_only_a_name(self, name: str) -> None:
        objects: Sequence[JsonObject] = [
            NAMESPACE,
            {**DEPLOYMENT, "metadata": {"name": name, "namespace": name}},
            an_object("ConfigMap", name=name, data={name: "v"}),
            an_object("Role", "rbac.authorization.k8s.io/v1", name=name, rules=[{}]),
            an_object("HorizontalPodAutoscaler", "autoscaling/v2", name=name),
        ]
        found = mutants_of(*objects)
        assert len(found.mutants) > 20
        for one in found.mutants:
            done = subprocess.run(
                ["bash", "-n"], input=one.does.run, text=True, capture_output=True, check=False
            )
            assert (done.returncode, done.stderr) == (0, ""), one.name

    def test_a_name_reaches_kubectl_as_one_word(self, tmp_path: Path) -> None:
        name = "it's $(touch gone)"
        script = script_of(
            mutants_of(an_object("ConfigMap", name=name), oracle=None),
            "builtin-delete-configmap-it-s-touch-gone-",
        )
        kubectl = 'kubectl() { printf "<%s>" "$@"; }\n'
        done = subprocess.run(
            ["bash", "-eu"],
            input=kubectl + script,
            text=True,
            capture_output=True,
            check=True,
            cwd=tmp_path,
        )
        assert f"<ConfigMap/{name}>" in done.stdout
        assert not (tmp_path / "gone").exists()


def done_with(
    kubectl: str, folder: Path, name: str, *objects: JsonObject, there: str = "it"
) -> subprocess.CompletedProcess[str]:
    """Run a generic mutant with this in place of kubectl, which first is asked what is there."""
    script = script_of(mutants_of(*objects, oracle=None), name)
    look = f'case "$*" in *--ignore-not-found*) printf %s "{there}"; return;; esac'
    return subprocess.run(
        ["bash", "-euo", "pipefail"],
        input=f"kubectl() {{ {look}; {kubectl}; }}\n{script}",
        text=True,
        capture_output=True,
        check=False,
        cwd=folder,
    )


DENIED = (
    'echo "Error from server (Forbidden): x \\"web\\" is forbidden: User \\"a\\" cannot $3 '
    'resource \\"x\\"" >&2; return 1'
)
EVERY_KIND: Sequence[JsonObject] = (
    NAMESPACE,
    DEPLOYMENT,
    an_object("ConfigMap", data={"k": "v"}),
    an_object("Role", "rbac.authorization.k8s.io/v1", rules=[{}]),
    an_object("HorizontalPodAutoscaler", "autoscaling/v2"),
    an_object("ResourceQuota", spec={"hard": {"pods": "3"}}),
)


class TestWhetherTheHarmWasDone:
    """The exit code tells: without it, a refusal looks like a harm that the spec let through."""

    @pytest.mark.parametrize(
        "name", [one.name for one in mutants_of(*EVERY_KIND).mutants], ids=lambda name: name[8:]
    )
    def test_a_refusal_is_told(self, tmp_path: Path, name: str) -> None:
        done = done_with(DENIED, tmp_path, name, *EVERY_KIND)
        assert done.returncode == EXIT_NOT_ALLOWED
        assert "is forbidden: User" in done.stderr

    def test_another_failure_keeps_its_code(self, tmp_path: Path) -> None:
        for said in ("pods is forbidden: exceeded quota: q", "connection refused"):
            kubectl = f"echo '{said}' >&2; return 3"
            done = done_with(kubectl, tmp_path, "builtin-delete-deployment-web", DEPLOYMENT)
            assert (done.returncode, done.stderr) == (3, f"{said}\n")

    def test_an_object_that_stays_because_of_a_finalizer_was_deleted(self, tmp_path: Path) -> None:
        kubectl = 'case "$*" in *" wait "*) return 1;; esac'
        for name in ("builtin-delete-deployment-web", "builtin-end-namespace-namespace-shop"):
            assert done_with(kubectl, tmp_path, name, NAMESPACE, DEPLOYMENT).returncode == 0

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("builtin-restart-deployment-web", "No resources found in shop namespace."),
            ("builtin-loosen-resourcequota-x", "resourcequota/x patched (no change)"),
            ("builtin-relabel-configmap-x", "configmap/x not labeled"),
            ("builtin-blind-namespace-shop", ""),
        ],
    )
    def test_nothing_to_do_is_no_harm(self, tmp_path: Path, name: str, said: str) -> None:
        done = done_with(f"echo '{said}'", tmp_path, name, *EVERY_KIND)
        assert done.returncode == EXIT_DOES_NOT_APPLY

    @pytest.mark.parametrize(
        "name", [one.name for one in mutants_of(*EVERY_KIND).mutants], ids=lambda name: name[8:]
    )
    def test_an_object_that_the_work_took_away_cannot_be_harmed(
        self, tmp_path: Path, name: str
    ) -> None:
        done = done_with("echo harm; return 1", tmp_path, name, *EVERY_KIND, there="")
        assert done.returncode == EXIT_DOES_NOT_APPLY
        assert "is gone" in done.stderr
        assert "harm" not in done.stdout

    def test_a_workload_without_pods_has_none_to_label_away(self, tmp_path: Path) -> None:
        done = done_with("true", tmp_path, "builtin-relabel-deployment-web", DEPLOYMENT)
        assert (done.returncode, done.stderr) == (EXIT_DOES_NOT_APPLY, "it has no pods\n")

    def test_harm_that_was_done(self, tmp_path: Path) -> None:
        done = done_with("echo scaled", tmp_path, "builtin-scale-deployment-web", DEPLOYMENT)
        assert (done.returncode, done.stderr) == (0, "")
        assert "scaled" in done.stdout


def test_a_pointer_escapes_what_rfc_6901_says() -> None:
    assert pointer("data", "a/b~c") == "/data/a~1b~0c"


def test_an_object_without_a_namespace_is_in_the_default_one() -> None:
    (target,) = targets_of([NAMESPACE])
    assert (target.namespace, target.label) == ("default", "Namespace/shop")
