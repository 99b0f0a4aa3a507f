"""The commands of ``devops-bench cluster`` where no plane is needed; the rest is integration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.clusters import state
from devops_bench.clusters.state import Kind
from devops_bench.core.identity import ProcessIdentity
from tests.unit.clusters import standins
from tests.unit.clusters.standins import Machine
from tests.unit.clusters.test_build import stand_in_go

PROGRAM = Path(sys.executable).parent / "devops-bench"


def cluster(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [PROGRAM, "cluster", *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.usefixtures("machine")
def test_status_says_that_there_is_nothing() -> None:
    done = cluster("status")

    assert "it holds no complete build" in done.stdout
    assert "binaries: none; `devops-bench cluster build` makes them" in done.stdout
    assert "clusters: none" in done.stdout


def test_status_says_which_binaries_are_used_and_which_are_passed_over(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = standins.binaries(machine.root / "assets", kwok="")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    stand_in_go(machine)
    folder = cluster("build").stdout.strip()

    text = cluster("status").stdout
    told = json.loads(cluster("status", "--output", "json").stdout)

    assert f"passed over KUBEBUILDER_ASSETS={assets}: it lacks kwok" in text
    assert f"binaries: {folder}" in text
    assert told["passed_over"] == [
        {"place": f"KUBEBUILDER_ASSETS={assets}", "reason": "it lacks kwok"}
    ]
    assert told["binaries"]["folder"] == folder
    assert told["clusters"] == []


@pytest.mark.usefixtures("machine")
def test_without_go_and_binaries_up_names_the_ways_and_starts_nothing() -> None:
    done = cluster("up", code=3)

    assert done.stdout == ""
    assert done.stderr.startswith("error: no complete set of control-plane binaries")
    assert "install Go" in done.stderr
    assert state.names() == []


@pytest.mark.usefixtures("machine")
def test_ending_what_is_not_there_is_no_error_and_said() -> None:
    assert "there is no cluster shop" in cluster("down", "shop").stderr
    assert cluster("down", "--all").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("up", "a", "--name", "b"), "two names were given: 'a' and 'b'"),
        (("up", "../escape"), "'../escape' cannot be a cluster's name"),
        (("down", "a", "--all"), "--all and a name do not go together"),
        (("kubeconfig", "shop"), "there is no cluster 'shop'"),
    ],
)
@pytest.mark.usefixtures("machine")
def test_bad_input_gets_a_line_and_exit_code_2(arguments: tuple[str, ...], complaint: str) -> None:
    done = cluster(*arguments, code=2)

    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.usefixtures("machine")
def test_a_run_in_progress_is_shown_and_not_ended() -> None:
    state.claim("devops-bench-1", Kind.RUN)

    assert f"of a run (process {os.getpid()})" in cluster("status").stdout
    assert "belongs to a run" in cluster("down", "devops-bench-1", code=2).stderr
    assert "is not ready yet" in cluster("kubeconfig", "devops-bench-1", code=3).stderr
    assert state.read("devops-bench-1") is not None


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("command", ["status", "down", "up"])
def test_every_command_reports_and_removes_leftovers(command: str) -> None:
    left = replace(
        state.claim("devops-bench-1", Kind.RUN), owner=ProcessIdentity(2**22 + 1, "never")
    )
    state.write(left)

    done = cluster(command, code=3 if command == "up" else 0)

    assert "'devops-bench-1' of a run that was killed was left over" in done.stderr
    assert not left.folder.exists()


@pytest.mark.usefixtures("machine")
def test_kubectl_is_the_clusters_own_with_its_kubeconfig(machine: Machine) -> None:
    folder = machine.root / "assets"
    folder.mkdir()
    program = folder / "kubectl"
    program.write_text('#!/bin/sh\necho "$KUBECONFIG" "$@"\nexit 7\n')
    program.chmod(0o755)
    known = replace(state.claim("shop", Kind.UP), binaries=str(folder))
    state.write(known)
    known.kubeconfig.write_text("{}")

    done = cluster("kubectl", "--name", "shop", "get", "pods", "-n", "x", "--name", "y", code=7)

    assert done.stdout == f"{known.kubeconfig} get pods -n x --name y\n"
    program.unlink()
    assert "is gone" in cluster("kubectl", "--name", "shop", "get", code=3).stderr
    assert "there is no cluster 'other'" in cluster("kubectl", "--name", "other", code=2).stderr


def test_help_imports_nothing_heavy(machine: Machine) -> None:
    code = (
        "import sys\nfrom devops_bench.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "cluster", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = {name.partition(".")[0] for name in done.stderr.splitlines()}
    assert not loaded & {"kubernetes", "requests", "cryptography", "urllib3", "rich"}
    for command in ("build", "up", "status", "down", "kubeconfig", "kubectl"):
        assert command in done.stdout
