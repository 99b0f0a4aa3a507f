"""A build is made once, whole or not at all, whoever else builds at the same time."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import filelock
import pytest

from devops_bench.clusters import build, stages
from devops_bench.core.errors import BinariesNotFoundError, ClusterError
from tests.unit.clusters import standins
from tests.unit.clusters.standins import Machine, stand_in


def stand_in_go(machine: Machine, *, before: str = "", version: str = "go1.26.8") -> Path:
    """Put a ``go`` on the PATH that "builds" by copying stand-ins, and counts its builds.

    Args:
        machine: Where.
        before: Shell that runs at the start of each build.
        version: What it says it is.
    """
    products = machine.root / "products"
    standins.binaries(products, stages=False)
    (products / "etcd").rename(products / "server")
    module = machine.root / "kwok-module"
    for name in stages.STAGE_FILES:
        target = module / "kustomize" / "stage" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        standins.write_stages(machine.root / "some-stages")
        target.write_text((machine.root / "some-stages" / target.name).read_text())
    script = f"""
PATH=/usr/bin:/bin
case "$1" in
env) echo {version} ;;
mod) ;;
list) echo {shlex.quote(str(module))} ;;
build)
  echo run >> {shlex.quote(str(machine.root / "builds"))}
  {before}
  while [ "$1" != -o ]; do shift; done
  echo k8s.io/api >&2
  cp {shlex.quote(str(products))}/* "$2"
  ;;
esac"""
    return stand_in(machine.path / "go", script)


def builds_run(machine: Machine) -> int:
    counter = machine.root / "builds"
    return len(counter.read_text().splitlines()) if counter.exists() else 0


def test_it_is_built_once(machine: Machine) -> None:
    stand_in_go(machine)
    said: list[str] = []

    first = build.build(said.append)
    second = build.build(said.append)

    assert first == second
    assert builds_run(machine) == 1
    assert {path.name for path in first.bin_dir.iterdir()} == set(first.versions)
    assert stages.complete(first.folder / "stages")
    assert said[-1] == f"built {first.folder}"


def test_force_builds_again(machine: Machine) -> None:
    stand_in_go(machine)

    assert build.build(print) == build.build(print, force=True)
    assert builds_run(machine) == 2


def test_another_go_makes_another_build_and_the_old_one_stays_usable(machine: Machine) -> None:
    stand_in_go(machine)
    first = build.build(print)
    stand_in_go(machine, version="go1.99.0")

    second = build.build(print)

    assert first.folder != second.folder
    assert {one.folder for one in build.cached_builds()} == {first.folder, second.folder}
    assert second.folder.name.endswith("-go1.99.0")


@pytest.mark.usefixtures("machine")
def test_without_go_it_says_what_is_needed() -> None:
    with pytest.raises(BinariesNotFoundError, match=r"needs `go` on PATH \(https://go.dev"):
        build.build(print)


def test_a_build_that_fails_quotes_go_and_leaves_nothing(machine: Machine) -> None:
    stand_in_go(machine, before="echo 'x.go:1: no such thing' >&2; exit 2")

    with pytest.raises(ClusterError, match=r"(?s)go build failed:.*no such thing"):
        build.build(print)

    assert build.cached_builds() == []
    assert [path.name for path in build.builds_dir().iterdir() if path.is_dir()] == []


def test_a_build_that_makes_another_version_is_refused(machine: Machine) -> None:
    stand_in_go(machine)
    stand_in(machine.root / "products" / "server", standins.says("etcd Version: 3.5.0"))

    with pytest.raises(ClusterError, match=r"made etcd v3\.5\.0, but v3\.6\.8 is pinned"):
        build.build(print)

    assert build.cached_builds() == []


def test_a_half_built_folder_is_never_used(machine: Machine) -> None:
    stand_in_go(machine)
    whole = build.build(print)
    (whole.bin_dir / "kwok").write_text("cut short")

    assert build.read_build(whole.folder) is None
    assert build.cached_builds() == []
    assert build.read_build(build.build(print).folder) is not None
    assert builds_run(machine) == 2


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"versions": {}, "sizes": 3}'])
def test_a_folder_without_a_proper_manifest_is_no_build(machine: Machine, manifest: str) -> None:
    stand_in_go(machine)
    folder = build.build(print).folder
    (folder / build.MANIFEST).write_text(manifest)

    assert build.read_build(folder) is None


def test_what_a_killed_build_left_is_removed(machine: Machine) -> None:
    stand_in_go(machine)
    folder = build.build(print).folder
    stale = folder.parent / f".building-{folder.name}-999999999"
    (stale / "bin").mkdir(parents=True)

    build.build(print, force=True)

    assert not stale.exists()


def test_a_second_build_waits_for_the_first_and_uses_it(machine: Machine) -> None:
    """The first build is held up until the second one has said that it waits."""
    gate = machine.root / "gate"
    os.mkfifo(gate)
    stand_in_go(machine, before=f"cat {shlex.quote(str(gate))} >/dev/null")
    code = (
        "from devops_bench.clusters import build\n"
        "print(build.build(lambda line: print(line, flush=True)).folder, flush=True)"
    )
    first = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert "building the control plane" in first.stdout.readline()

    said: list[str] = []
    waiting = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        waiting.set()

    made: list[build.Build] = []
    second = threading.Thread(target=lambda: made.append(build.build(say)))
    second.start()
    assert waiting.wait(60)
    gate.write_text("go on\n")
    output, _ = first.communicate(timeout=60)
    second.join(60)

    assert said == ["another build of the control plane is running: waiting until it has ended"]
    assert output.splitlines()[-1] == str(made[0].folder)
    assert builds_run(machine) == 1


def test_the_lock_of_a_killed_build_is_free(machine: Machine) -> None:
    stand_in_go(machine)
    folder = build.build(print).folder
    lock = folder.parent / f".{folder.name}.lock"
    code = (
        f"import filelock, os; filelock.FileLock({str(lock)!r}).acquire(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)

    with filelock.FileLock(lock, timeout=0):
        pass


def test_the_pinned_versions_are_those_of_go_mod(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(
        "module x\nrequire (\n\tk8s.io/kubernetes v1.99.1\n\tsigs.k8s.io/kwok v0.1.2 // indirect\n"
        "\tgo.etcd.io/etcd/server/v3 v3.9.9\n)\n"
        "replace k8s.io/kubernetes => k8s.io/kubernetes v0.0.1\n// k8s.io/kubernetes v9.9.9\n"
    )

    assert build.pinned_versions(tmp_path) == {
        "etcd": "v3.9.9",
        "kube-apiserver": "v1.99.1",
        "kwok": "v0.1.2",
    }


def test_a_go_mod_that_pins_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module x\n\ntool k8s.io/kubernetes/cmd/kubectl\n")

    with pytest.raises(ClusterError, match=r"does not pin go\.etcd\.io/etcd/server/v3"):
        build.pinned_versions(tmp_path)
