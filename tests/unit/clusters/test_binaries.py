"""Which place the binaries come from, and what is said of the places that do not count."""

from __future__ import annotations

import platform
import sys

import pytest

from devops_bench.clusters import binaries, build, stages, versions
from devops_bench.core.errors import BinariesNotFoundError
from tests.unit.clusters import standins
from tests.unit.clusters.standins import Machine
from tests.unit.clusters.test_build import stand_in_go

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def envtest_name(version: str) -> str:
    return f"{version}-{sys.platform}-{ARCHITECTURE}"


def test_a_complete_assets_folder_is_used(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = standins.binaries(machine.root / "assets")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))

    result = binaries.search()

    assert result.passed_over == ()
    assert result.found is not None
    assert result.found.bin_dir == folder
    assert result.found.kubectl == folder / "kubectl"
    assert result.found.kubernetes_version == "v1.36.3"
    assert set(result.found.versions) == set(versions.REQUIRED)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"kwok": "", "kube_scheduler": ""}, "it lacks kube-scheduler, kwok"),
        ({"kubectl": "Client Version: v1.35.1"}, "kubectl v1.35.1 does not fit"),
        ({"etcd": "what?"}, "etcd did not say its version: what?"),
    ],
)
def test_a_partial_place_is_passed_over_for_the_next(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, other: dict[str, str], reason: str
) -> None:
    assets = standins.binaries(machine.root / "assets", **other)  # type: ignore[arg-type]
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    store = standins.binaries(machine.envtest / envtest_name("1.36.3"))

    result = binaries.search()

    assert result.found is not None
    assert result.found.bin_dir == store
    assert [item.place for item in result.passed_over] == [f"KUBEBUILDER_ASSETS={assets}"]
    assert reason in str(result.passed_over[0])


def test_a_program_that_may_not_be_executed_is_lacking(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = standins.binaries(machine.root / "assets")
    (assets / "etcd").chmod(0o644)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    assert str(binaries.search().passed_over[0]).endswith("it lacks etcd")


def test_the_newest_of_the_envtest_store_is_first(machine: Machine) -> None:
    # As text 1.9.0 is above 1.36.3, and it is not for this machine that 1.99.0 was made.
    for name in ("1.9.0", "1.36.3", "1.36.10"):
        standins.binaries(machine.envtest / envtest_name(name))
    standins.binaries(machine.envtest / "1.99.0-plan9-mips")
    (machine.envtest / "leftover").mkdir()

    assert [folder.name for folder in binaries.envtest_folders()] == [
        envtest_name("1.36.10"),
        envtest_name("1.36.3"),
        envtest_name("1.9.0"),
    ]


def test_the_store_is_found_below_xdg_data_home(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = machine.root / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    folder = standins.binaries(data / "kubebuilder-envtest" / "k8s" / envtest_name("1.36.3"))

    assert binaries.envtest_folders() == [folder]


def test_assets_come_before_the_store_and_the_store_before_the_cache(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_go(machine)
    build.build(lambda _: None)
    assert binaries.find_binaries().bin_dir.is_relative_to(machine.cache)

    store = standins.binaries(machine.envtest / envtest_name("1.36.3"))
    assert binaries.find_binaries().bin_dir == store

    assets = standins.binaries(machine.root / "assets")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert binaries.find_binaries().bin_dir == assets


def test_without_stages_anywhere_kwok_is_of_no_use(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = standins.binaries(machine.root / "assets", stages=False)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    result = binaries.search()

    assert result.found is None
    assert "kwok's stages" in str(result.passed_over[0])


def test_a_place_without_stages_borrows_those_of_the_cache(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_go(machine)
    built = build.build(lambda _: None)
    assets = standins.binaries(machine.root / "assets", stages=False)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    found = binaries.find_binaries()

    assert found.bin_dir == assets
    assert found.stages_dir == built.folder / "stages"


def test_a_place_without_stages_gets_those_of_the_pinned_module(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_go(machine)
    assets = standins.binaries(machine.root / "assets", stages=False)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    found = binaries.find_binaries()

    assert found.stages_dir.is_relative_to(machine.cache)
    assert stages.complete(found.stages_dir)
    # The second time Go is not asked any more.
    (machine.path / "go").unlink()
    assert binaries.find_binaries() == found
    assert list(found.stages_dir.parent.iterdir()) == [found.stages_dir]


@pytest.mark.usefixtures("machine")
def test_when_nothing_is_to_be_had_the_error_names_the_ways(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine.root / "nowhere"))

    with pytest.raises(BinariesNotFoundError) as caught:
        binaries.find_or_build(lambda _: None)

    message = str(caught.value)
    assert f"passed over KUBEBUILDER_ASSETS={machine.root / 'nowhere'}" in message
    assert "there is no such folder" in message
    for way in ("install Go", "cluster build", "--kubeconfig", "--provider kind"):
        assert way in message
    for name in versions.REQUIRED:
        assert name in message


def test_with_go_what_is_missing_is_built_and_then_found(machine: Machine) -> None:
    stand_in_go(machine)
    said: list[str] = []

    built = binaries.find_or_build(said.append)

    assert any("building the control plane" in line for line in said)
    assert binaries.search().found == built


def test_the_places_passed_over_are_told_before_a_later_one_is_used(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    standins.binaries(machine.envtest / envtest_name("1.36.3"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine.root / "nowhere"))
    said: list[str] = []

    binaries.find_or_build(said.append)

    assert len(said) == 1
    assert said[0].startswith("passed over KUBEBUILDER_ASSETS=")
