"""On somebody else's cluster nothing is taken over unasked, and nothing of theirs is deleted."""

from __future__ import annotations

from pathlib import Path

from devops_bench.core.json import JsonObject
from tests.integration.harness import (
    Cli,
    Finished,
    Plane,
    deployment,
    namespace_object,
    property_check,
    wait_until,
    write_task,
)


def config_map(name: str, namespace: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"from": "the spec"},
    }


def objective(namespace: str) -> JsonObject:
    check = property_check("ConfigMap", "ours", namespace, op="exists")
    return {"name": "there", "role": "objective", "check": check}


def run(cli: Cli, plane: Plane, task: Path, *more: str, script: str = "true") -> Finished:
    words: list[str | Path] = ["run", "--spec", task, "--kubeconfig", plane.kubeconfig]
    return cli.run(*words, *more, "--agent", "command", "--", "sh", "-c", script)


def test_what_the_run_made_is_deleted(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    task = write_task(
        tmp_path / "own",
        objects=[
            namespace_object(namespace_name),
            config_map("ours", namespace_name),
            deployment("web", namespace_name),
        ],
        entries=[objective(namespace_name)],
    )

    done = run(cli, plane, task)

    assert done.code == 0, str(done)
    assert done.task().left_behind == []
    wait_until(lambda: not plane.exists("namespace", namespace_name), "the run's namespace is gone")


def test_setup_refuses_an_object_that_is_already_there(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    plane.run_kubectl("-n", namespace, "create", "configmap", "theirs", "--from-literal=from=them")
    task = write_task(
        tmp_path / "clash",
        objects=[config_map("ours", namespace), config_map("theirs", namespace)],
        entries=[objective(namespace)],
    )
    witness = tmp_path / "agent-ran"

    done = run(cli, plane, task, script=f"touch {witness}")

    assert done.code == 3, str(done)
    assert "theirs" in done.task().reason
    assert not witness.exists()
    assert plane.get("-n", namespace, "configmap", "theirs")["data"] == {"from": "them"}
    assert not plane.exists("-n", namespace, "configmap", "ours")


def test_adopt_uses_what_is_there_and_does_not_delete_it(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    task = write_task(
        tmp_path / "adopted",
        objects=[namespace_object(namespace), config_map("ours", namespace)],
        entries=[objective(namespace)],
    )

    done = run(cli, plane, task, "--adopt")

    assert done.code == 0, str(done)
    phase = plane.get("namespace", namespace)["status"]
    assert phase == {"phase": "Active"}
    assert not plane.exists("-n", namespace, "configmap", "ours")


def test_an_object_that_was_made_again_by_somebody_else_is_not_deleted(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    task = write_task(
        tmp_path / "uid",
        objects=[config_map("ours", namespace), config_map("second", namespace)],
        entries=[objective(namespace)],
    )
    script = (
        f"kubectl -n {namespace} delete configmap ours"
        f" && kubectl -n {namespace} create configmap ours --from-literal=from=agent"
    )

    done = run(cli, plane, task, script=script)

    assert done.code == 0, str(done)
    assert plane.get("-n", namespace, "configmap", "ours")["data"] == {"from": "agent"}
    assert not plane.exists("-n", namespace, "configmap", "second")


def test_keep_leaves_everything_and_says_so(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    task = write_task(
        tmp_path / "kept",
        objects=[config_map("ours", namespace)],
        entries=[objective(namespace)],
    )

    done = run(cli, plane, task, "--keep")

    assert done.code == 0, str(done)
    assert plane.exists("-n", namespace, "configmap", "ours")
    assert "kept" in (done.stdout + done.stderr).lower()


def test_without_an_agent_the_cluster_is_judged_as_it_is(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    task = write_task(
        tmp_path / "judged",
        objects=[config_map("ours", namespace)],
        entries=[objective(namespace)],
    )
    words: list[str | Path] = ["run", "--spec", task, "--kubeconfig", plane.kubeconfig]

    before = cli.run(*words, "--agent", "none", env={"VERIFICATION_TIMEOUT_SEC": "1"})
    plane.run_kubectl("-n", namespace, "create", "configmap", "ours", "--from-literal=from=them")
    after = cli.run(*words, "--agent", "none")

    assert before.code == 1, str(before)
    assert after.code == 0, str(after)
    assert plane.get("-n", namespace, "configmap", "ours")["data"] == {"from": "them"}


def test_an_agent_that_deletes_the_results_hides_neither_the_verdict_nor_what_was_made(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    task = write_task(
        tmp_path / "wiped",
        objects=[namespace_object(namespace_name), config_map("ours", namespace_name)],
        entries=[objective(namespace_name)],
    )

    done = run(cli, plane, task, script='rm -rf "$(dirname "$(dirname "$PWD")")"')

    assert done.code == 3, str(done)
    assert "could not be written" in done.stderr
    assert "PASSED" in done.stdout
    wait_until(lambda: not plane.exists("namespace", namespace_name), "the run's namespace is gone")
