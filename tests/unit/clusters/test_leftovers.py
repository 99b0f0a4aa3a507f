"""What a killed run left behind is told once, with the words that remove it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.clusters import leftovers, state
from devops_bench.clusters.leftovers import ObjectRecord
from devops_bench.core.runtime import OWNER_FILE, private_folder, runtime_dir
from devops_bench.k8s.delete import CreatedObject
from tests.unit.clusters.test_cli_cluster import cluster

pytestmark = pytest.mark.usefixtures("machine")


def _object(name: str, uid: str = "u", namespace: str = "shop") -> CreatedObject:
    if not namespace:
        return CreatedObject("v1", "Namespace", f"/api/v1/namespaces/{name}", "", name, uid)
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    return CreatedObject("apps/v1", "Deployment", path, namespace, name, uid)


def _killed(*, objects: list[CreatedObject], settled: bool, **notes: str) -> Path:
    """Leave a folder behind as a killed run does."""
    with private_folder("the kubeconfig", **notes) as folder:
        record = ObjectRecord(folder)
        for obj in objects:
            record.created(obj)
        if settled:
            record.settled()
        record.close()
        (folder / "kubeconfig").write_text("token: secret")
        left = folder.with_name("killed")
        folder.rename(left)
    owner = json.loads((left / OWNER_FILE).read_text())
    (left / OWNER_FILE).write_text(json.dumps({**owner, "started": "long ago"}))
    return left


EXISTING = {leftovers.CONTEXT: "prod", leftovers.KUBECONFIG: "/home/me/my config"}


def test_the_objects_are_told_with_the_words_that_delete_them() -> None:
    objects = [
        _object("shop", namespace=""),
        _object("web"),
        _object("api"),
        _object("x", "u", "y"),
    ]
    left = _killed(objects=objects, settled=True, **EXISTING)

    lines = leftovers.sweep()

    kubectl = "  kubectl --kubeconfig '/home/me/my config' --context prod delete"
    assert "the kubeconfig of a run that was killed" in lines[0]
    assert "4 objects of that run may still be on the cluster of context 'prod'" in lines[1]
    assert lines[2:] == [
        f"{kubectl} -n y deployments.apps/x",
        f"{kubectl} -n shop deployments.apps/api deployments.apps/web",
        f"{kubectl} namespaces/shop",
    ]
    assert not left.exists()
    assert leftovers.sweep() == []


def test_what_was_being_created_is_told_apart_and_not_for_deletion() -> None:
    _killed(objects=[_object("web"), _object("api", uid="")], settled=False, **EXISTING)
    text = "\n".join(leftovers.sweep())
    assert "deployments.apps/web" in text
    assert "delete -n shop deployments.apps/api" not in text
    assert "get -n shop deployments.apps/api" in text


def test_what_was_there_before_is_not_told() -> None:
    _killed(objects=[_object("adopted", uid="")], settled=True, **EXISTING)
    assert "adopted" not in "\n".join(leftovers.sweep())


def test_a_kind_cluster_is_told() -> None:
    _killed(objects=[], settled=True, **{leftovers.KIND_CLUSTER: "devops-bench-1"})
    assert "`kind delete cluster --name devops-bench-1` removes it" in leftovers.sweep()[1]


def test_a_run_at_work_is_left_alone() -> None:
    with private_folder("the kubeconfig", **EXISTING) as folder:
        assert leftovers.sweep() == []
        assert folder.is_dir()


def test_every_command_of_clusters_tells_it() -> None:
    _killed(objects=[_object("web")], settled=True, **EXISTING)
    assert "deployments.apps/web" in cluster("status").stderr
    assert list(runtime_dir().iterdir()) == []
    assert state.sweep() == []
