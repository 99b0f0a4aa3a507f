"""Trying a check, and asking whether a cluster can be watched, on a real API server."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
import yaml

from devops_bench.clusters.kubeconfig import KubeconfigProvider
from devops_bench.core.json import JsonObject
from tests.integration.harness import Cli, Plane, property_check


@pytest.fixture
def spec(tmp_path: Path, plane: Plane, namespace: str) -> Path:
    """A spec about a ConfigMap that is there and says ``good``, and one that is not."""
    plane.run_kubectl("-n", namespace, "create", "configmap", "it", "--from-literal=v=good")
    check = property_check("configmaps", "it", namespace, path="data.v", op="eq", value="good")
    entries: list[JsonObject] = [
        {"name": "says good", "role": "objective", "check": check},
        {"name": "unknown", "role": "objective", "check": {**check, "kind": "gizmos"}},
    ]
    file = tmp_path / "spec.yaml"
    task = {"id": "it", "prompt": "do it", "verification_spec": entries}
    file.write_text(yaml.safe_dump(task, sort_keys=False))
    return file


def check(cli: Cli, plane: Plane, spec: Path, *words: str) -> JsonObject:
    done = cli.run("check", spec, "--kubeconfig", plane.kubeconfig, "--output", "json", *words)
    parsed: JsonObject = json.loads(done.stdout)
    assert parsed["exit_code"] == done.code, done
    return parsed


def test_check_says_what_is_there_and_what_would_be_watched(
    cli: Cli, plane: Plane, namespace: str, spec: Path
) -> None:
    parsed = check(cli, plane, spec)
    assert parsed["exit_code"] == 1
    assert isinstance(parsed["entries"], list)
    good, unknown = parsed["entries"]
    assert isinstance(good, dict)
    assert isinstance(unknown, dict)
    assert good["status"] == "pass"
    assert good["watch"] == {
        "watched": True,
        "detail": f"would be watched: configmaps in namespace {namespace}",
    }
    assert good["leaves"][0]["values"] == ['"good"']  # type: ignore[index,call-overload]
    assert unknown["watch"]["watched"] is False  # type: ignore[index,call-overload]
    assert "gizmos" in unknown["watch"]["detail"]  # type: ignore[index,call-overload,operator]


def test_check_of_what_passes_is_zero(cli: Cli, plane: Plane, spec: Path) -> None:
    assert check(cli, plane, spec, "--entry", "says good")["exit_code"] == 0


def _events(stream: IO[str]) -> Iterator[JsonObject]:
    for line in stream:
        yield json.loads(line)


def test_check_goes_on_until_it_is_interrupted(
    cli: Cli, plane: Plane, namespace: str, spec: Path
) -> None:
    arguments = ("--kubeconfig", plane.kubeconfig, "--output", "json", "--watch")
    with cli.start("check", spec, "--entry", "says good", *arguments) as process:
        assert process.stdout is not None
        events = _events(process.stdout)
        assert next(events)["exit_code"] == 0
        plane.run_kubectl("-n", namespace, "patch", "configmap", "it", "-p", '{"data":{"v":"bad"}}')
        event = next(events)
        assert (event["event"], event["entry"], event["status"]) == ("judged", "says good", "fail")
        assert isinstance(event["resource_version"], int)
        # Another reason for the same verdict is no change of it.
        for value in ("worse", "good"):
            patch = json.dumps({"data": {"v": value}})
            plane.run_kubectl("-n", namespace, "patch", "configmap", "it", "-p", patch)
        event = next(events)
        assert (event["event"], event["status"]) == ("judged", "pass")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_line_says_which_version_brought_a_change(
    cli: Cli, plane: Plane, namespace: str, spec: Path
) -> None:
    arguments = ("--kubeconfig", plane.kubeconfig, "--watch")
    with cli.start("check", spec, "--entry", "says good", *arguments) as process:
        assert process.stdout is not None
        seen = iter(process.stdout)
        assert any("came to: pass" in line for line in seen)
        plane.run_kubectl("-n", namespace, "patch", "configmap", "it", "-p", '{"data":{"v":"bad"}}')
        line = next(seen)
        assert line.startswith("FAIL  says good: "), line
        assert re.search(r"\(resourceVersion [0-9]+\)$", line), line
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 1


def test_a_control_plane_can_be_watched(cli: Cli, plane: Plane, tmp_path: Path) -> None:
    done = cli.run("doctor", "--kubeconfig", plane.kubeconfig, "--output", "json")
    assert done.code == 0, done
    parsed = json.loads(done.stdout)
    grades = {item["name"]: item["grade"] for item in parsed["findings"]}
    assert set(grades) == {
        "version",
        "kinds",
        "rights",
        "identity",
        "versions_ordered",
        "one_history",
        "exact_lists",
        "bookmarks",
        "end_fence",
        "audit",
        "sandbox_bwrap",
        "sandbox_docker",
        "file_watch",
    }
    with KubeconfigProvider(plane.kubeconfig).provide("run", tmp_path) as cluster:
        # What doctor says is what a run on this kubeconfig has.
        assert (cluster.audit_log is not None) == (grades["audit"] == "ok")
    assert grades["end_fence"] == grades["versions_ordered"] == grades["one_history"] == "ok"


def test_without_rights_much_stays_unknown_and_nothing_is_claimed(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    plane.run_kubectl("-n", namespace, "create", "serviceaccount", "nobody")
    token = plane.run_kubectl("-n", namespace, "create", "token", "nobody").strip()
    config = yaml.safe_load(plane.kubeconfig.read_text())
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    file = tmp_path / "nobody"
    file.write_text(yaml.safe_dump(config))
    done = cli.run("doctor", "--kubeconfig", file, "--output", "json")
    assert done.code == 1, done
    findings = {item["name"]: item for item in json.loads(done.stdout)["findings"]}
    assert findings["identity"]["grade"] == "limited"
    assert findings["rights"]["grade"] == "limited"
    assert "may list and watch none of" in findings["rights"]["detail"]
    assert findings["versions_ordered"]["grade"] == "unknown"
    assert findings["one_history"]["grade"] == "unknown"
    assert findings["exact_lists"]["grade"] == "unknown"
    assert findings["end_fence"]["grade"] == "limited"
    assert "only sampled" in findings["end_fence"]["detail"]


def test_who_may_watch_some_kinds_is_told_which_not(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    plane.run_kubectl("-n", namespace, "create", "serviceaccount", "some")
    role, account = f"some-{namespace}", f"--serviceaccount={namespace}:some"
    plane.run_kubectl(
        "create", "clusterrole", role, "--verb=list,watch", "--resource=pods,namespaces"
    )
    plane.run_kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", account)
    token = plane.run_kubectl("-n", namespace, "create", "token", "some").strip()
    config = yaml.safe_load(plane.kubeconfig.read_text())
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    file = tmp_path / "some"
    file.write_text(yaml.safe_dump(config))
    done = cli.run("doctor", "--kubeconfig", file)
    assert done.code == 1, done
    last = done.stdout.splitlines()[-1]
    assert last.startswith("This user may list and watch 2 of "), last
    assert "bindings" in last
