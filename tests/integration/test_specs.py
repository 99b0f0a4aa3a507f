"""The specs of this repository: every right solution passes, doing nothing fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import PROVIDER
from tests.integration.harness import SPECS, Cli, Finished, Plane

SPEC_IDS = sorted(path.parent.name for path in SPECS.glob("*/task.yaml"))
# They bring Node objects, which only the local provider's kwok plays.
PLAYED_NODES = {"blocked-drain", "patch-three-nodes"}
# Of every spec qualify says that doing nothing fails; here it is said on a shared cluster.
SOME_SPECS = ["lost-endpoints", "scale-out", "stuck-rollout"]

# Right solutions that are not the oracle's: a fair spec passes each of them.
OTHER_SOLUTIONS = {
    "undo": ("stuck-rollout", "kubectl -n $NS rollout undo deployment/checkout"),
    "apply": (
        "stuck-rollout",
        "kubectl -n $NS get deployment checkout -o yaml"
        " | sed s,broken.invalid,registry.k8s.io, | kubectl apply -f -",
    ),
    "one-by-one": (
        "scale-out",
        "for n in 5 6 7 8; do kubectl -n $NS scale deployment/frontend --replicas=$n; done",
    ),
    "autoscaler": (
        "scale-out",
        'printf \'%s\' \'{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",'
        '"metadata":{"name":"frontend"},"spec":{"minReplicas":8,"maxReplicas":8,"scaleTargetRef":'
        '{"apiVersion":"apps/v1","kind":"Deployment","name":"frontend"}}}\''
        " | kubectl -n $NS create -f -",
    ),
    "component": (
        "lost-endpoints",
        "kubectl -n $NS patch service orders --type=json -p"
        ' \'[{"op":"replace","path":"/spec/selector","value":{"component":"orders-api"}}]\'',
    ),
    "relabel": (
        "lost-endpoints",
        "kubectl -n $NS patch deployment orders-api -p"
        ' \'{"spec":{"template":{"metadata":{"labels":{"tier":"api"}}}}}\'',
    ),
    "load-test-deleted": (
        "quota-exhausted",
        "kubectl -n $NS delete deployment loadtest;"
        " kubectl -n $NS wait pod -l app=loadtest --for=delete --timeout=60s;"
        " kubectl -n $NS scale deployment/gateway --replicas=2;"
        " kubectl -n $NS rollout status deployment/gateway --timeout=120s",
    ),
    "one-bound-after-the-other": (
        "autoscaler-bounds",
        "for b in maxReplicas:12 minReplicas:4; do"
        ' kubectl -n $NS patch hpa search --type=merge -p "{\\"spec\\":{\\"${b%:*}\\":${b#*:}}}";'
        " done",
    ),
    "two-rules-and-no-subjects": (
        "pipeline-rights",
        "kubectl -n $NS create role ci-deployer --resource=deployments.apps"
        " --verb=patch,update --verb=get,list,watch --dry-run=client -o yaml"
        " | kubectl -n $NS apply -f -;"
        " kubectl patch clusterrolebinding $NS-ci-admin --type=merge -p '{\"subjects\":[]}'",
    ),
    # Until the last command it has the right by being an admin of the cluster.
    "made-anew-and-admin-meanwhile": (
        "pipeline-rights",
        "kubectl -n $NS delete role/ci-deployer rolebinding/ci-deployer;"
        " kubectl -n $NS create role ci-deployer --resource=deployments.apps"
        " --verb=get,list,watch,update,patch;"
        " kubectl -n $NS create rolebinding ci-deployer --role=ci-deployer --serviceaccount=$NS:ci;"
        " kubectl delete clusterrolebinding $NS-ci-admin",
    ),
    "key-by-key": (
        "config-rollback",
        "kubectl -n $NS patch configmap cart-config --type=json -p '["
        '{"op":"add","path":"/data/retries","value":"3"},'
        '{"op":"remove","path":"/data/log-level"},'
        '{"op":"replace","path":"/data/timeout-ms","value":"800"},'
        '{"op":"replace","path":"/data/upstream","value":"sessions.boutique.svc"}]\'',
    ),
    "peer-and-port-apart": (
        "open-database",
        "kubectl -n $NS patch networkpolicy database-ingress --type=json"
        ' -p \'[{"op":"add","path":"/spec/ingress/0/ports","value":[{"port":5432}]}]\';'
        " kubectl -n $NS patch networkpolicy database-ingress --type=json"
        ' -p \'[{"op":"remove","path":"/spec/ingress/0/from/1"}]\'',
    ),
    "copied-while-it-terminates": (
        "stuck-namespace",
        "kubectl delete namespace $NS-tollgate --wait=false; sleep 1;"
        " kubectl -n $NS-tollgate get configmap ledger -o jsonpath={.data} >data;"
        ' printf \'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tollgate-ledger"},'
        '"data":%s}\' "$(cat data)" | kubectl -n $NS create -f -;'
        " kubectl -n $NS-tollgate patch configmap ledger --type=json"
        ' -p \'[{"op":"remove","path":"/metadata/finalizers"}]\'',
    ),
    "rewritten-by-annotating": (
        "crd-migration",
        "crd=backups.$NS.example;"
        " kubectl get crd $crd -o json"
        ' | sed \'s/"storage": true/"storage": was/; s/"storage": false/"storage": true/;'
        ' s/"storage": was/"storage": false/\' | kubectl replace -f -; sleep 2;'
        " kubectl -n $NS annotate $crd --all migrated=yes;"
        " kubectl patch crd $crd --subresource=status --type=merge"
        ' -p \'{"status":{"storedVersions":["v1"]}}\';'
        ' kubectl patch crd $crd --type=json -p \'[{"op":"remove","path":"/spec/versions/0"}]\'',
    ),
    "applied": (
        "secret-rotation",
        "kubectl -n $NS create secret generic booking-db-2"
        " --from-literal=password=anchor-violet-2291 --dry-run=client -o yaml"
        " | kubectl -n $NS apply -f -;"
        " kubectl -n $NS get deployment booking -o json | sed s/booking-db-1/booking-db-2/"
        " | kubectl replace -f -; kubectl -n $NS rollout status deployment/booking --timeout=60s;"
        " kubectl -n $NS delete secret booking-db-1",
    ),
    **(
        {
            "rolled-elsewhere": (
                "blocked-drain",
                "kubectl uncordon $NS-new; kubectl cordon $NS-old;"
                " kubectl -n $NS rollout restart deployment/ledger;"
                " kubectl -n $NS rollout status deployment/ledger --timeout=60s",
            ),
            "cordoned-and-evicted-by-selector": (
                "patch-three-nodes",
                "for n in a b c; do kubectl cordon $NS-$n;"
                " kubectl drain $NS-$n --pod-selector=app=signals --timeout=60s;"
                " kubectl label node $NS-$n patched=yes; kubectl uncordon $NS-$n; done",
            ),
        }
        if PROVIDER == "local"
        else {}
    ),
}

# Ways that reach the objectives, or come close, and break a safeguard.
BROKEN_WAYS = {
    "floor": (
        "scale-out",
        "kubectl -n $NS scale deployment/frontend --replicas=2; sleep 1;"
        " kubectl -n $NS scale deployment/frontend --replicas=8;"
        " kubectl -n $NS rollout status deployment/frontend --timeout=60s",
        "never fewer than four replicas",
    ),
    "workers": (
        "lost-endpoints",
        "kubectl -n $NS patch service orders --type=json -p"
        ' \'[{"op":"replace","path":"/spec/selector","value":{"app":"orders"}}]\';'
        " kubectl -n $NS wait endpointslice -l kubernetes.io/service-name=orders"
        " --for=jsonpath='{.endpoints[4].conditions.ready}'=true --timeout=60s",
        "no traffic for the workers",
    ),
    "restart": (
        "stuck-rollout",
        "kubectl -n $NS delete pod -l app=checkout --now;"
        " kubectl -n $NS scale deployment/checkout --replicas=0; sleep 1;"
        " kubectl -n $NS set image deployment/checkout checkout=registry.k8s.io/pause:3.10;"
        " kubectl -n $NS scale deployment/checkout --replicas=3;"
        " kubectl -n $NS rollout status deployment/checkout --timeout=60s",
        "at least two pods of checkout are ready",
    ),
}


def run_spec(cli: Cli, plane: Plane, namespace: str, spec: str, *agent: str) -> Finished:
    return cli.run(
        "run",
        *("--spec", SPECS / spec),
        *("--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace}"),
        *("--agent", *agent),
    )


def shell(namespace: str, script: str) -> tuple[str, ...]:
    return ("command", "--", "sh", "-c", f"NS={namespace}; {script}")


def test_there_are_specs() -> None:
    assert len(SPEC_IDS) >= 12
    assert set(SPEC_IDS) > {*PLAYED_NODES, *SOME_SPECS}


@pytest.mark.parametrize(
    "spec", [spec for spec in SPEC_IDS if PROVIDER == "local" or spec not in PLAYED_NODES]
)
def test_the_oracle_passes(cli: Cli, plane: Plane, namespace_name: str, spec: str) -> None:
    done = run_spec(cli, plane, namespace_name, spec, "oracle")

    assert done.code == 0, str(done)
    task = done.task()
    assert task.status == "passed"
    assert task.outcome == 1.0
    for row in task.verification_report:
        assert row["status"] == "pass", row
        if row["mode"] == "hold":
            assert row["coverage"]["mode"] == "watched", row
            # A definition that changes ends the streams of its kind; no gap may stay open.
            assert all(gap["closed"] for gap in row["coverage"]["gaps"]), row


@pytest.mark.parametrize("spec", SOME_SPECS)
def test_doing_nothing_fails_and_breaks_nothing(
    cli: Cli, plane: Plane, namespace_name: str, spec: str
) -> None:
    done = cli.run(
        "run",
        *("--spec", SPECS / spec),
        *("--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace_name}"),
        *("--agent", "noop"),
        env={"VERIFICATION_TIMEOUT_SEC": "3"},
    )

    assert done.code == 1, str(done)
    task = done.task()
    assert task.status == "failed"
    statuses = {row["name"]: (row["role"], row["status"]) for row in task.verification_report}
    assert ("objective", "fail") in statuses.values()
    assert all(status == "pass" for role, status in statuses.values() if role == "safeguard")


@pytest.mark.parametrize("way", OTHER_SOLUTIONS)
def test_other_right_solutions_pass(cli: Cli, plane: Plane, namespace_name: str, way: str) -> None:
    spec, script = OTHER_SOLUTIONS[way]

    done = run_spec(cli, plane, namespace_name, spec, *shell(namespace_name, script))

    assert done.code == 0, str(done)


@pytest.mark.parametrize("way", BROKEN_WAYS)
def test_a_violated_safeguard_fails_the_task(
    cli: Cli, plane: Plane, namespace_name: str, way: str
) -> None:
    spec, script, safeguard = BROKEN_WAYS[way]

    done = run_spec(cli, plane, namespace_name, spec, *shell(namespace_name, script))

    assert done.code == 1, str(done)
    assert done.task().status == "failed"
    assert done.task().outcome == 0.0
    row = done.row(safeguard)
    assert row["status"] == "fail"
    assert row["hold_first_violation_reason"]
    assert row["hold_first_violation_at_sec"] is not None


def test_the_floor_broken_for_a_second_is_seen_though_it_was_mended(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    script = tmp_path / "agent.sh"
    script.write_text(
        f"set -e\nkubectl -n {namespace_name} scale deployment/frontend --replicas=2\n"
        f"sleep 1\nkubectl -n {namespace_name} scale deployment/frontend --replicas=4\n"
        f"kubectl -n {namespace_name} rollout status deployment/frontend --timeout=60s\n"
    )

    done = cli.run(
        "run",
        *("--spec", SPECS / "scale-out"),
        *("--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace_name}"),
        *("--agent", "script", script),
        env={"VERIFICATION_TIMEOUT_SEC": "3"},
    )

    assert done.code == 1, str(done)
    assert done.row("never fewer than four replicas")["status"] == "fail"
    assert done.row("the template stays as it was reviewed")["status"] == "pass"


def test_the_exit_code_of_the_agent_does_not_decide(
    cli: Cli, plane: Plane, namespace_name: str
) -> None:
    script = "kubectl -n $NS scale deployment/frontend --replicas=8; exit 1"

    done = run_spec(cli, plane, namespace_name, "scale-out", *shell(namespace_name, script))

    assert done.code == 0, str(done)
    agent = done.task().agent
    assert agent is not None
    assert agent.exit_code == 1


def test_two_runs_at_the_same_time_do_not_meet(tmp_path: Path, plane: Plane) -> None:
    # Both on planes of their own: same spec, same namespace, nothing shared.
    first, second = Cli(tmp_path / "first"), Cli(tmp_path / "second")
    arguments = ("run", "--spec", SPECS / "scale-out", "--agent", "oracle")

    with first.start(*arguments) as one, second.start(*arguments) as other:
        outputs = [process.communicate(timeout=180) for process in (one, other)]

    for cli, process, output in zip((first, second), (one, other), outputs, strict=True):
        done = cli.finished(process.returncode, *output)
        assert done.code == 0, str(done)
        assert done.task().status == "passed"
