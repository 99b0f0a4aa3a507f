"""``doctor`` without a cluster; on one it is tested in tests/integration."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run


def test_without_a_cluster_it_says_what_this_machine_has(devops_bench: Run) -> None:
    # A cluster is only ever one that was named.
    done = devops_bench("doctor", env={"KUBECONFIG": "/nowhere"})
    assert done.returncode == 0, done.stderr
    *found, last = done.stdout.splitlines()
    assert [line[9:].partition(":")[0] for line in found] == [
        "sandbox bwrap",
        "sandbox docker",
        "watch on files",
    ]
    assert last == "No cluster was examined: --kubeconfig FILE or --context NAME says which."


def test_the_same_as_json(devops_bench: Run) -> None:
    done = devops_bench("doctor", "--output", "json", env={"KUBECONFIG": "/nowhere"})
    body = json.loads(done.stdout)
    assert (body["exit_code"], body["problem"]) == (0, None)
    assert [one["name"] for one in body["findings"]] == [
        "sandbox_bwrap",
        "sandbox_docker",
        "file_watch",
    ]


def test_a_kubeconfig_that_is_none_is_bad_input(devops_bench: Run, tmp_path: Path) -> None:
    assert devops_bench("doctor", "--kubeconfig", tmp_path / "nowhere").returncode == 2


def test_a_cluster_that_does_not_answer_is_three(devops_bench: Run, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
    )
    done = devops_bench("doctor", "--kubeconfig", file)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
