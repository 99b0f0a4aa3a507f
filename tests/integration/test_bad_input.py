"""What bad input gets: one clear line, the right exit code, and nothing left on the cluster."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import yaml

from devops_bench.core.json import JsonObject, JsonValue
from tests.integration.harness import (
    SPECS,
    Cli,
    Finished,
    Plane,
    deployment,
    namespace_object,
    property_check,
    write_task,
)

INVALID = 2
NOT_EVALUATED = 3


def only_line(done: Finished) -> str:
    """The one line that says what is wrong."""
    (line,) = done.error_lines()
    return line


def assert_gone(plane: Plane, namespace: str) -> None:
    """A namespace may still be on its way out, but it must be on it."""
    if plane.exists("namespace", namespace):
        metadata = plane.get("namespace", namespace)["metadata"]
        assert isinstance(metadata, dict)
        assert "deletionTimestamp" in metadata, f"{namespace} was not taken down"


def safeguard(check: JsonObject, **rest: JsonValue) -> JsonObject:
    return {
        "name": "guard",
        "role": "safeguard",
        "severity": "catastrophic",
        "mode": "hold",
        "hold_poll_interval_sec": 0.1,
        "check": check,
        **rest,
    }


def kubeconfig_with(plane: Plane, path: Path, *, server: str = "", token: str = "") -> Path:
    """Write the plane's kubeconfig with another server or another token."""
    loaded = json.loads(
        plane.run_kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    )
    if server:
        loaded["clusters"][0]["cluster"]["server"] = server
    if token:
        loaded["users"][0]["user"] = {"token": token}
    path.write_text(yaml.safe_dump(loaded))
    path.chmod(0o600)
    return path


def run_scale_out(cli: Cli, kubeconfig: Path, namespace: str, *more: str) -> Finished:
    return cli.run(
        "run",
        *("--spec", SPECS / "scale-out"),
        *("--kubeconfig", kubeconfig),
        *("--var", f"NAMESPACE={namespace}"),
        *(more or ("--agent", "oracle")),
    )


def test_a_kubeconfig_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    done = run_scale_out(cli, tmp_path / "nowhere.yaml", "unused")

    assert done.code == INVALID, str(done)
    assert "nowhere.yaml" in only_line(done)
    assert done.run_dirs == []


def test_a_kubeconfig_that_is_none(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("clusters: [")

    done = run_scale_out(cli, path, "unused")

    assert done.code == INVALID, str(done)
    assert "broken.yaml" in only_line(done)


def test_a_context_that_is_not_there(cli: Cli, plane: Plane) -> None:
    done = run_scale_out(
        cli, plane.kubeconfig, "unused", "--context", "elsewhere", "--agent", "oracle"
    )

    assert done.code == INVALID, str(done)
    assert "elsewhere" in only_line(done)


def test_a_server_that_does_not_answer(cli: Cli, plane: Plane, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(
            ("127.0.0.1", 0)
        )  # bound and not listening: nobody answers, nobody else takes it
        server = f"https://127.0.0.1:{taken.getsockname()[1]}"
        path = kubeconfig_with(plane, tmp_path / "config", server=server)

        done = run_scale_out(cli, path, "unused")

    assert done.code == NOT_EVALUATED, str(done)
    assert server in only_line(done)


def test_a_token_that_is_not_valid(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    path = kubeconfig_with(plane, tmp_path / "config", token="expired-long-ago")

    done = run_scale_out(cli, path, namespace_name)

    assert done.code == NOT_EVALUATED, str(done)
    line = only_line(done)
    assert "401" in line or "nauthorized" in line
    assert "expired-long-ago" not in done.stdout + done.stderr
    assert not plane.exists("namespace", namespace_name)


def test_a_forbidden_read_is_an_error_and_the_agent_is_not_started(
    cli: Cli, plane: Plane, namespace: str, tmp_path: Path
) -> None:
    plane.run_kubectl("-n", namespace, "create", "serviceaccount", "limited")
    plane.run_kubectl(
        *("-n", namespace, "create", "rolebinding", "limited"),
        *("--clusterrole=view", f"--serviceaccount={namespace}:limited"),
    )
    token = plane.run_kubectl("-n", namespace, "create", "token", "limited").strip()
    path = kubeconfig_with(plane, tmp_path / "config", token=token)
    # The role "view" reads ConfigMaps and not Secrets.
    task = write_task(
        tmp_path / "forbidden",
        entries=[safeguard(property_check("Secret", "key", namespace, op="absent"))],
        ready=[],
    )
    witness = tmp_path / "agent-ran"

    done = cli.run(
        *("run", "--spec", task, "--kubeconfig", path),
        *("--agent", "command", "--", "touch", witness),
        env={"BENCH_SETUP_TIMEOUT_SEC": "3"},
    )

    assert done.code == NOT_EVALUATED, str(done)
    assert done.task().status == "error"
    assert "guard" in only_line(done)
    assert "forbidden" in only_line(done)
    assert done.row("guard")["status"] == "error"
    assert not witness.exists()


@pytest.mark.parametrize(
    ("what", "check"),
    [
        ("kind", {"type": "resource_property", "kind": "Sprocket", "op": "absent"}),
        (
            "namespace",
            {"type": "resource_property", "kind": "Pod", "namespace": "no-such", "op": "absent"},
        ),
    ],
)
def test_a_safeguard_on_what_does_not_exist_is_a_broken_task(
    cli: Cli,
    plane: Plane,
    namespace_name: str,
    tmp_path: Path,
    what: str,
    check: JsonObject,
) -> None:
    task = write_task(
        tmp_path / "broken",
        objects=[namespace_object(namespace_name), deployment("web", namespace_name)],
        entries=[safeguard(check)],
    )
    witness = tmp_path / "agent-ran"

    done = cli.run(
        *("run", "--spec", task, "--kubeconfig", plane.kubeconfig),
        *("--agent", "command", "--", "touch", witness),
    )

    assert done.code == NOT_EVALUATED, str(done)
    assert done.task().status == "error"
    assert "guard" in only_line(done)
    assert ("Sprocket" if what == "kind" else "no-such") in only_line(done)
    assert not witness.exists()
    assert_gone(plane, namespace_name)


def test_a_safeguard_on_what_may_appear_is_not_broken(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    check: JsonObject = {"type": "resource_property", "kind": "Pod", "namespace": "no-such"}
    task = write_task(
        tmp_path / "later",
        objects=[namespace_object(namespace_name)],
        entries=[safeguard({**check, "op": "absent"}, may_appear=True)],
    )

    done = cli.run(*("run", "--spec", task, "--kubeconfig", plane.kubeconfig), *("--agent", "noop"))

    assert done.code == 0, str(done)


def test_an_agent_that_is_not_found(cli: Cli, plane: Plane, namespace_name: str) -> None:
    done = run_scale_out(
        cli, plane.kubeconfig, namespace_name, "--agent", "command", "--", "no-such-agent"
    )

    assert done.code in (INVALID, NOT_EVALUATED), str(done)
    assert "no-such-agent" in only_line(done)
    assert_gone(plane, namespace_name)


def test_a_script_that_is_not_found(cli: Cli, plane: Plane, namespace_name: str) -> None:
    done = run_scale_out(
        cli, plane.kubeconfig, namespace_name, "--agent", "script", "no-such-script.sh"
    )

    assert done.code == INVALID, str(done)
    assert "no-such-script.sh" in only_line(done)
    assert not plane.exists("namespace", namespace_name)


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_an_empty_prompt(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path, prompt: str
) -> None:
    task = write_task(
        tmp_path / "silent", objects=[namespace_object(namespace_name)], prompt=prompt
    )

    done = cli.run(*("run", "--spec", task, "--kubeconfig", plane.kubeconfig), *("--agent", "noop"))

    assert done.code == INVALID, str(done)
    assert "prompt" in done.stderr
    assert not plane.exists("namespace", namespace_name)


def test_a_check_on_another_cluster_is_refused(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    check = property_check("Pod", "p", "default", op="absent", context="other")
    task = write_task(
        tmp_path / "elsewhere",
        objects=[namespace_object(namespace_name)],
        entries=[{"name": "there", "role": "objective", "check": check}],
    )

    done = cli.run(*("run", "--spec", task, "--kubeconfig", plane.kubeconfig), *("--agent", "noop"))

    assert done.code == INVALID, str(done)
    assert "there" in done.stderr or "verification_spec[0]" in done.stderr
    assert not plane.exists("namespace", namespace_name)


def test_the_ambient_kubeconfig_selects_nothing(cli: Cli, tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.write_text("not a kubeconfig")

    done = cli.run(
        *("run", "--spec", SPECS / "scale-out", "--agent", "oracle"),
        env={"KUBECONFIG": str(poison)},
    )

    assert done.code == 0, str(done)
    assert "local" in (done.stdout + done.stderr).splitlines()[0]
