"""An existing cluster: one context alone, and one clear line for everything that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from devops_bench.clusters import components, state
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.kubeconfig import KubeconfigProvider
from devops_bench.clusters.state import Kind
from devops_bench.core.errors import (
    ApiError,
    ApiUnavailableError,
    DevopsBenchError,
    InvalidInputError,
)
from devops_bench.core.json import JsonObject
from devops_bench.core.runtime import runtime_dir
from devops_bench.k8s.client import load_connection
from tests.unit.clusters.api import ApiStandIn
from tests.unit.clusters.standins import Machine


@pytest.fixture
def api(machine: Machine) -> Iterator[ApiStandIn]:
    with ApiStandIn(machine.root) as server:
        yield server


def write(machine: Machine, config: JsonObject) -> Path:
    path = machine.root / "config"
    path.write_text(json.dumps(config))
    return path


def provide(machine: Machine, path: Path | None, context: str | None = None) -> Cluster:
    run_dir = machine.root / "run"
    run_dir.mkdir(exist_ok=True)
    with KubeconfigProvider(path, context).provide("run", run_dir) as cluster:
        assert cluster.kubeconfig.is_relative_to(runtime_dir())
        assert list(run_dir.iterdir()) == [], "results are uploaded: no credentials among them"
        return cluster


def two_contexts(api: ApiStandIn) -> JsonObject:
    """A kubeconfig whose current context leads nowhere, and whose other one is the server."""
    config = api.kubeconfig()
    clusters, users, contexts = config["clusters"], config["users"], config["contexts"]
    assert isinstance(clusters, list)
    assert isinstance(users, list)
    assert isinstance(contexts, list)
    clusters.append({"name": "other", "cluster": {"server": "https://127.0.0.1:1"}})
    users.append({"name": "other", "user": {"token": "of-the-other-cluster"}})
    contexts.append({"name": "other", "context": {"cluster": "other", "user": "other"}})
    config["current-context"] = "other"
    return config


def test_only_the_chosen_context_is_handed_on(machine: Machine, api: ApiStandIn) -> None:
    path = write(machine, two_contexts(api))
    run_dir = machine.root / "run"
    run_dir.mkdir()

    with KubeconfigProvider(path, "shop").provide("run", run_dir) as cluster:
        text = cluster.kubeconfig.read_text()
        assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600

    isolated = yaml.safe_load(text)
    assert isolated["current-context"] == "shop"
    assert [item["name"] for item in isolated["contexts"]] == ["shop"]
    assert "of-the-other-cluster" not in text


def test_the_copy_is_gone_afterwards_because_it_holds_credentials(
    machine: Machine, api: ApiStandIn
) -> None:
    cluster = provide(machine, write(machine, api.kubeconfig()))

    assert not cluster.kubeconfig.exists()


def test_it_says_which_cluster_and_why(machine: Machine, api: ApiStandIn) -> None:
    cluster = provide(machine, write(machine, two_contexts(api)), "shop")

    assert cluster.description == (
        f"the cluster of context 'shop', {api.url} v1.36.3 (--kubeconfig and --context given)"
    )
    assert cluster.name == "shop"
    assert cluster.server_version == "v1.36.3"
    assert not cluster.disposable


def fails(machine: Machine, path: Path | None, context: str | None = None) -> DevopsBenchError:
    with pytest.raises(DevopsBenchError) as caught:
        provide(machine, path, context)
    assert "\n" not in str(caught.value)
    assert list((machine.root / "run").iterdir()) == []
    return caught.value


def test_a_file_that_is_not_there(machine: Machine) -> None:
    error = fails(machine, machine.root / "nowhere")

    assert isinstance(error, InvalidInputError)
    assert str(machine.root / "nowhere") in str(error)


def test_a_file_that_is_no_kubeconfig(machine: Machine) -> None:
    path = machine.root / "config"
    path.write_text("clusters: [")

    assert isinstance(fails(machine, path), InvalidInputError)


def test_a_context_that_is_not_there_and_those_that_are(machine: Machine, api: ApiStandIn) -> None:
    error = fails(machine, write(machine, two_contexts(api)), "production")

    assert isinstance(error, InvalidInputError)
    for name in ("'production'", "other", "shop"):
        assert name in str(error)


def test_a_server_that_does_not_answer(machine: Machine, api: ApiStandIn) -> None:
    error = fails(machine, write(machine, two_contexts(api)), "other")

    assert isinstance(error, ApiUnavailableError)
    assert "https://127.0.0.1:1" in str(error)
    assert "refused" in str(error)


def test_a_token_that_is_not_accepted(machine: Machine, api: ApiStandIn) -> None:
    error = fails(machine, write(machine, api.kubeconfig(token="expired-secret")))

    assert isinstance(error, ApiError)
    assert error.status == 401
    assert str(machine.root / "config") in str(error), "the file that the user knows"
    assert str(runtime_dir()) not in str(error)
    assert "expired-secret" not in str(error)


def test_a_server_of_another_authority(
    machine: Machine, api: ApiStandIn, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with ApiStandIn(tmp_path_factory.mktemp("other")) as other:
        config = other.kubeconfig()
        clusters = config["clusters"]
        assert isinstance(clusters, list)
        assert isinstance(clusters[0], dict)
        assert isinstance(clusters[0]["cluster"], dict)
        clusters[0]["cluster"]["server"] = api.url

        assert "TLS" in str(fails(machine, write(machine, config)))


def test_the_variable_alone_selects_nothing_else(
    machine: Machine, api: ApiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(machine.root / "somewhere-else"))

    assert provide(machine, write(machine, api.kubeconfig())).name == "shop"


def test_a_plane_of_ours_has_its_audit_log_by_whatever_kubeconfig(
    machine: Machine, api: ApiStandIn
) -> None:
    path = write(machine, api.kubeconfig())
    cluster = provide(machine, path)
    assert (cluster.audit_log, cluster.private_folders) == (None, ())
    claimed = state.claim("shop", Kind.UP)
    log = components.audit_log(claimed.folder)
    log.parent.mkdir()
    log.touch()
    key = claimed.folder / "pki" / "ca.key"
    key.parent.mkdir()
    key.touch()
    server = load_connection(path).server
    state.write(replace(claimed, server=server, supervisor=claimed.owner, ready=True))

    cluster = provide(machine, path)

    assert cluster.audit_log == log
    assert cluster.credentials == (key,)
    assert cluster.private_folders == (claimed.folder,)
    assert not cluster.disposable
    # One that ended has no server there any more, whoever answers now.
    state.write(replace(claimed, server=server, supervisor=None))
    assert provide(machine, path).audit_log is None
