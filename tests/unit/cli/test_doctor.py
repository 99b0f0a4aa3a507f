"""``doctor`` without a cluster; on one it is tested in tests/integration."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_it_has_to_be_told_which_cluster(devops_bench: Run) -> None:
    done = devops_bench("doctor", env={"KUBECONFIG": "/nowhere"})
    assert done.returncode == 2
    assert "--kubeconfig FILE" in done.stderr


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
