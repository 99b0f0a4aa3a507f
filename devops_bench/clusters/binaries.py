"""Which control-plane binaries are used, looked for where the ecosystem keeps them.

In this order: ``KUBEBUILDER_ASSETS``, setup-envtest's store, our own cache, then a build. A place
counts only with all six programs in versions that fit together.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.clusters import build as builder
from devops_bench.clusters import stages, versions
from devops_bench.clusters.build import Build, Say
from devops_bench.clusters.dirs import cache_dir, control_plane_module
from devops_bench.core.errors import BinariesNotFoundError, ClusterError

ASSETS_VARIABLE: Final = "KUBEBUILDER_ASSETS"

_ENVTEST_FOLDER = re.compile(r"(\d+)\.(\d+)\.(\d+)-([a-z0-9]+)-([a-z0-9]+)")
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Binaries:
    """A complete set.

    Attributes:
        bin_dir: The folder of the six programs.
        stages_dir: The folder of kwok's stages.
        versions: The version of every program, as ``v1.2.3``.
        source: Where it was found, for the reader.
    """

    bin_dir: Path
    stages_dir: Path
    versions: dict[str, str]
    source: str

    @property
    def kubernetes_version(self) -> str:
        """The version of kube-apiserver."""
        return self.versions["kube-apiserver"]

    @property
    def kubectl(self) -> Path:
        """The kubectl that fits the server."""
        return self.program("kubectl")

    def program(self, name: str) -> Path:
        """Return the path of one of the six."""
        return self.bin_dir / name


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A place that was looked at and does not count.

    Attributes:
        place: Which, for the reader.
        reason: What it lacks.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        """One line: ``passed over PLACE: REASON``."""
        return f"passed over {self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Search:
    """What a search came to.

    Attributes:
        found: The first complete set, ``None`` without one.
        passed_over: The places before it that do not count, in order.
    """

    found: Binaries | None
    passed_over: tuple[PassedOver, ...]


def search() -> Search:
    """Look in every place in order; builds nothing and changes nothing."""
    passed: list[PassedOver] = []
    for source, folder in _foreign_places():
        judged = _judge(source, folder)
        if isinstance(judged, Binaries):
            return Search(judged, tuple(passed))
        passed.append(judged)
    own = _own_build()
    if own is not None:
        return Search(own, tuple(passed))
    place = f"the cache {builder.builds_dir()}"
    return Search(None, (*passed, PassedOver(place, "it holds no complete build")))


def find_binaries() -> Binaries:
    """Return the first complete set; builds nothing.

    Raises:
        BinariesNotFoundError: There is none; the message names the ways to get one.
    """
    result = search()
    if result.found is None:
        raise BinariesNotFoundError(_ways(result.passed_over))
    return result.found


def find_or_build(say: Say) -> Binaries:
    """Return the first complete set, building one when there is none.

    Args:
        say: Gets a line for every place that is passed over and for a build's progress.

    Raises:
        BinariesNotFoundError: Nothing complete was found and nothing can be built; the message
            names the ways to get binaries.
        ClusterError: A build was tried and failed.
    """
    result = search()
    if result.found is not None:
        for line in result.passed_over:
            say(str(line))
        return result.found
    if builder.find_go() is None:
        raise BinariesNotFoundError(_ways(result.passed_over))
    for line in result.passed_over[:-1]:  # the last one is the cache, and it is filled now
        say(str(line))
    return _of_build(builder.build(say))


def _ways(passed: tuple[PassedOver, ...]) -> str:
    looked = "".join(f"\n  {line}" for line in passed)
    names = ", ".join(versions.REQUIRED)
    return (
        f"no complete set of control-plane binaries ({names}) was found:{looked}\n"
        "any of these helps:\n"
        "  install Go (https://go.dev/doc/install) and run `devops-bench cluster build`\n"
        f"  put all six into a folder and set {ASSETS_VARIABLE} to it\n"
        "  use another cluster: `--kubeconfig FILE --context NAME`, or `--provider kind`"
    )


def _own_build() -> Binaries | None:
    """Return the newest build of the pinned module, whichever Go made it."""
    found = builder.cached_builds(builder.module_key(control_plane_module()))
    return _of_build(found[0]) if found else None


def _of_build(found: Build) -> Binaries:
    return Binaries(found.bin_dir, found.folder / "stages", found.versions, f"{found.bin_dir}")


def _foreign_places() -> Iterator[tuple[str, Path]]:
    assets = os.environ.get(ASSETS_VARIABLE, "")
    if assets:
        yield f"{ASSETS_VARIABLE}={assets}", Path(assets).expanduser()
    for folder in envtest_folders():
        yield f"setup-envtest's store {folder}", folder


def envtest_folders() -> list[Path]:
    """Return the folders of setup-envtest's store for this machine, the highest version first.

    The store is where setup-envtest keeps it by default
    (https://pkg.go.dev/sigs.k8s.io/controller-runtime/tools/setup-envtest): below
    ``XDG_DATA_HOME`` or ``~/.local/share``, on macOS in ``~/Library/Application Support``.
    """
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support" / "io.kubebuilder.envtest"
    else:
        data = os.environ.get("XDG_DATA_HOME", "")
        base = (Path(data) if data else Path.home() / ".local" / "share") / "kubebuilder-envtest"
    if not (base / "k8s").is_dir():
        return []
    machine = _ARCHITECTURES.get(platform.machine(), platform.machine())
    found: list[tuple[tuple[int, int, int], Path]] = []
    for folder in (base / "k8s").iterdir():
        parts = _ENVTEST_FOLDER.fullmatch(folder.name)
        if parts is not None and (parts[4], parts[5]) == (sys.platform, machine):
            found.append(((int(parts[1]), int(parts[2]), int(parts[3])), folder))
    return [folder for _, folder in sorted(found, reverse=True)]


def _judge(source: str, folder: Path) -> Binaries | PassedOver:
    if not folder.is_dir():
        return PassedOver(source, "there is no such folder")
    missing = [name for name in versions.REQUIRED if not os.access(folder / name, os.X_OK)]
    if missing:
        return PassedOver(source, f"it lacks {', '.join(missing)}")
    try:
        known = versions.ask_versions(folder)
    except versions.VersionUnknownError as exc:
        return PassedOver(source, str(exc))
    fault = versions.mismatch(known)
    if fault:
        return PassedOver(source, fault)
    stages_dir = _stages_for(folder)
    if stages_dir is None:
        return PassedOver(
            source,
            "kwok's stages are not in its `stages` folder, and neither the cache nor Go has them",
        )
    return Binaries(folder, stages_dir, known, source)


def _stages_for(folder: Path) -> Path | None:
    """Return kwok's stages for binaries that are not of our build: beside them, or the pinned."""
    candidates = [folder / "stages", folder.parent / "stages"]
    candidates += [found.folder / "stages" for found in builder.cached_builds()]
    for candidate in candidates:
        if stages.complete(candidate):
            return candidate
    module = control_plane_module()
    target = cache_dir() / "stages" / builder.module_key(module)
    if stages.complete(target):
        return target
    go = builder.find_go()
    if go is None:
        return None
    try:
        source = stages.module_stages(go, module)
    except ClusterError:
        return None  # the caller says what is lacking, and where it was looked for
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        whole = Path(work) / "stages"
        stages.copy_from_module(source, whole)
        with contextlib.suppress(OSError):  # another process was first
            whole.rename(target)
    return target if stages.complete(target) else None
