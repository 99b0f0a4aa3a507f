"""Credentials lie in private folders: not among the results, and gone with the next command."""

from __future__ import annotations

import datetime as dt
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.agents.sandbox.availability import bwrap_availability
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.script import ScriptAgent
from devops_bench.core.dirs import STATE_VARIABLE
from devops_bench.evalharness import leash as leash_module
from devops_bench.evalharness.default import HarnessOptions
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.identity import Identity, Token, request_token
from tests.integration.harness import (
    Cli,
    Plane,
    namespace_object,
    property_check,
    wait_until,
    write_task,
)
from tests.integration.leash.yard import Hands, Yard, preset

SIGNED = b"eyJ"
"""What a JSON Web Token begins with."""


def credentials_below(folder: Path) -> list[Path]:
    """Return the files that hold a token or a key."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(w in path.read_bytes() for w in (SIGNED, b"client-key-data: "))
    ]


def test_a_killed_run_leaves_its_credentials_to_the_next_command(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    witness = tmp_path / "agent-runs"
    spec = write_task(
        tmp_path / "leashed",
        objects=[namespace_object(namespace_name)],
        entries=[
            {
                "name": "made",
                "role": "objective",
                "check": property_check("configmap", "made", namespace_name, op="exists"),
            }
        ],
        access={"preset": "edit", "namespaces": [namespace_name]},
    )
    agent = ("--agent", "command", "--", "sh", "-c", f"touch {witness}; exec tail -f /dev/null")

    with cli.start("run", "--spec", spec, "--kubeconfig", plane.kubeconfig, *agent) as process:
        wait_until(lambda: witness.exists() or process.poll() is not None, "the turn", 120)
        assert process.poll() is None, process.communicate()
        process.kill()
        process.wait()

    assert credentials_below(cli.results) == []
    kept = credentials_below(cli.state / "runtime")
    assert "credentials/kubeconfig" in {"/".join(path.parts[-2:]) for path in kept}
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    private = [path for path in (cli.state / "runtime").iterdir() if not path.name.startswith(".")]
    assert {path.stat().st_mode & 0o777 for path in private} == {0o700}

    said = cli.run("cluster", "status")

    assert credentials_below(cli.state) == []
    # What is on the cluster is named, the agent's account included, and goes by what was printed.
    text = said.stdout + said.stderr
    assert "an agent's kubeconfig of a run that was killed" in text
    printed = [
        line.strip() for line in text.splitlines() if line.startswith("  kubectl --kubeconfig")
    ]
    assert printed
    for line in printed:
        words = shlex.split(line)
        assert words[:3] == ["kubectl", "--kubeconfig", str(plane.kubeconfig)], line
        plane.run_kubectl(*words[3:], "--wait=false")
    own = {word for line in printed for word in line.split() if "/devops-bench-" in word}
    kinds = {word.partition("/")[0].partition(".")[0] for word in own}
    assert {"namespaces", "roles", "rolebindings", "clusterroles", "clusterrolebindings"} <= kinds
    (namespace,) = (word.split("/")[1] for word in own if word.startswith("namespaces/"))
    wait_until(lambda: not plane.exists("namespace", namespace), f"{namespace} is gone")


def test_a_token_that_is_renewed_is_reached_in_a_sandbox(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kubeconfig names the token's file, which is in a folder that nothing else is in."""
    found = bwrap_availability()
    if not found.available:
        pytest.fail(f"this test needs bubblewrap: {found.detail}")
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))

    def short(client: ApiClient, identity: Identity, lifetime_sec: float) -> Token:
        token = request_token(client, identity, lifetime_sec)
        return replace(token, expires_at=dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60))

    monkeypatch.setattr(leash_module, "request_token", short)
    script = tmp_path / "agent.sh"
    script.write_text(
        f"kubectl -n {yard.namespace} get pods && grep -o 'tokenFile: .*' $KUBECONFIG\n"
        # It says its token, whole and in base64; neither is among the results.
        "token=$(sed -n 's/.*tokenFile: //p' $KUBECONFIG)\n"
        "cat $token >&2; echo >&2; base64 $token >&2\n"
        # The whole state folder was opened to it: it still holds what is the agent's, alone.
        f"cd {tmp_path / 'state'} && find . -type f\n"
    )
    (tmp_path / "task").mkdir()  # the spec's folder
    yard.quiet()
    options = HarnessOptions(sandbox=SandboxOptions("bwrap", readable=(tmp_path,)))
    monkeypatch.setenv("PATH", f"{yard.plane.kubectl.parent}:/usr/bin:/bin")

    result = yard.run_with(ScriptAgent(script), preset("view", yard.namespace), options)

    folder = yard.folder / "results" / "task"
    said = (folder / "agent.stdout").read_text()
    assert result.agent is not None
    assert result.agent.status == "completed", (folder / "agent.stderr").read_text()
    assert result.status == "passed", result.reason
    assert (folder / "agent.stderr").read_text().count("[redacted]") == 2
    assert credentials_below(yard.folder / "results") == []
    named, *files = said.splitlines()
    token = Path(named.removeprefix("tokenFile: "))
    assert token.is_relative_to(tmp_path / "state" / "runtime")
    assert [Path(file).name for file in sorted(files)] == ["kubeconfig", "token"]
    assert not token.parent.parent.exists()


def test_what_an_agent_without_a_sandbox_could_read_is_what_is_not_its_own(yard: Yard) -> None:
    own: list[Path] = []

    result = yard.run(lambda hands: own.append(hands.config), preset("view", yard.namespace))

    assert result.agent is not None
    assert result.agent.sandbox is not None
    readable = {Path(path) for path in result.agent.sandbox.readable}
    # The harness's private copy, and the file of the user that it was made of.
    assert yard.plane.kubeconfig.absolute() in readable
    assert [
        path.name for path in readable if path.parent.parent == own[0].parent.parent.parent
    ] == ["kubeconfig"]
    assert own[0] not in readable


def test_the_credentials_of_the_harness_are_not_in_the_transcript(yard: Yard) -> None:
    """Without a sandbox the agent can read them; whoever reads the results must not."""

    def act(hands: Hands) -> None:
        hands.turn.transcript.message("user", yard.plane.kubeconfig.read_text())

    yard.run(act, preset("view", yard.namespace))

    assert credentials_below(yard.folder / "results") == []
