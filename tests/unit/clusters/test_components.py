"""What the components are told: loopback only, and an audit log that holds no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.clusters import components
from devops_bench.clusters.binaries import Binaries
from devops_bench.clusters.components import PlaneOptions, Ports
from devops_bench.clusters.pki import Pki
from devops_bench.core.json import JsonObject

PORTS = Ports(etcd=1001, api=1002, controllers=1003, scheduler=1004)


def commands(options: PlaneOptions | None = None) -> dict[str, list[str]]:
    folder = Path("/plane")
    binaries = Binaries(Path("/bin-dir"), Path("/stages"), {}, "a test")
    made = components.programs(
        folder, binaries, Pki(folder / "pki", "token"), PORTS, options or PlaneOptions()
    )
    return {name: list(program.command) for name, program in made.items()}


def test_free_ports_are_four_different_ones() -> None:
    ports = components.free_ports()

    numbers = {ports.etcd, ports.api, ports.controllers, ports.scheduler}
    assert len(numbers) == 4
    assert all(1024 <= number <= 65535 for number in numbers)


def test_nothing_listens_beyond_this_machine() -> None:
    for name, command in commands().items():
        text = " ".join(command)
        assert "0.0.0.0" not in text
        if name != "kwok":  # it serves nothing without a port
            assert "127.0.0.1" in text


def test_no_secret_stands_on_a_command_line() -> None:
    assert not any(part == "token" for command in commands().values() for part in command)


def test_extra_flags_come_last() -> None:
    options = PlaneOptions(extra_args={"kube-apiserver": ("--profiling=true",)})

    assert commands(options)["kube-apiserver"][-1] == "--profiling=true"
    assert "--profiling=true" not in commands(options)["kube-scheduler"]


def level_of(verb: str, resource: str, group: str = "", user: str = "somebody") -> str:
    """Evaluate the policy as the API server does: the first rule that matches wins."""
    rules = components.audit_policy()["rules"]
    assert isinstance(rules, list)
    for rule in rules:
        assert isinstance(rule, dict)
        if "nonResourceURLs" in rule or "userGroups" in rule:
            continue
        if "users" in rule and user not in _list(rule, "users"):
            continue
        if "verbs" in rule and verb not in _list(rule, "verbs"):
            continue
        if "resources" in rule and not any(
            isinstance(item, dict)
            and item["group"] == group
            and ("resources" not in item or resource in _list(item, "resources"))
            for item in _list(rule, "resources")
        ):
            continue
        return str(rule["level"])
    return "None"


def _list(rule: JsonObject, key: str) -> list[object]:
    value = rule[key]
    assert isinstance(value, list)
    return list(value)


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection", "get"])
@pytest.mark.parametrize(
    ("resource", "group"),
    [
        ("secrets", ""),
        ("serviceaccounts/token", ""),
        ("tokenreviews", "authentication.k8s.io"),
    ],
)
def test_what_holds_secrets_is_logged_without_its_content(
    verb: str, resource: str, group: str
) -> None:
    assert level_of(verb, resource, group) == "Metadata"


@pytest.mark.parametrize(
    ("verb", "resource", "group", "user", "level"),
    [
        ("patch", "deployments", "apps", "somebody", "RequestResponse"),
        ("delete", "pods", "", "system:kube-scheduler", "RequestResponse"),
        ("get", "pods", "", "somebody", "Metadata"),
        ("watch", "pods", "", "devops-bench:kwok", "None"),
        ("update", "leases", "coordination.k8s.io", "devops-bench:kwok", "None"),
        ("create", "events", "", "somebody", "None"),
    ],
)
def test_writes_are_logged_in_full_and_noise_is_not(
    verb: str, resource: str, group: str, user: str, level: str
) -> None:
    assert level_of(verb, resource, group, user) == level
