"""Building the control plane's binaries from ``hack/controlplane`` into the cache, once.

A build is kept under the hash of what decides its content: ``go.mod``, ``go.sum`` and the version
of Go. It is made in a folder of its own and renamed when it is complete and every binary said
the pinned version, so that a half-built one is never found. Builds of the same content wait for
each other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import filelock

from devops_bench.clusters import stages, versions
from devops_bench.clusters.dirs import cache_dir, control_plane_module
from devops_bench.core.errors import BinariesNotFoundError, ClusterError

Say: TypeAlias = Callable[[str], None]
"""Takes one line for the reader."""

MANIFEST: Final = "manifest.json"
_PROGRESS_EVERY_SEC: Final = 10.0
_TAIL_LINES: Final = 15
_PIN: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes",
    "kwok": "sigs.k8s.io/kwok",
}


@dataclass(frozen=True, slots=True)
class Build:
    """A complete build in the cache.

    Attributes:
        folder: Its folder; ``bin/`` holds the programs, ``stages/`` kwok's stages.
        versions: The version of every program.
    """

    folder: Path
    versions: dict[str, str]

    @property
    def bin_dir(self) -> Path:
        """The folder of the six programs."""
        return self.folder / "bin"


def builds_dir() -> Path:
    """Return the folder of all builds; nothing is created."""
    return cache_dir() / "controlplane"


def find_go() -> str | None:
    """Return the ``go`` on ``PATH``, ``None`` without one."""
    return shutil.which("go")


def module_key(module: Path) -> str:
    """Return a short hash of the content of ``module``'s ``go.mod`` and ``go.sum``."""
    digest = hashlib.sha256()
    for part in ((module / "go.mod").read_bytes(), (module / "go.sum").read_bytes()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:12]


def content_key(module: Path, go_version: str) -> str:
    """Return the name of the build that ``go_version`` (``go1.26.8``) makes of ``module``."""
    return f"{module_key(module)}-{re.sub(r'[^0-9A-Za-z.]+', '_', go_version)}"


def read_build(folder: Path) -> Build | None:
    """Return the build in ``folder``, ``None`` unless it is complete and unchanged in size."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        known = {name: str(manifest["versions"][name]) for name in versions.REQUIRED}
        sizes = {name: int(manifest["sizes"][name]) for name in versions.REQUIRED}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for name, size in sizes.items():
        program = folder / "bin" / name
        if not os.access(program, os.X_OK) or program.stat().st_size != size:
            return None
    return Build(folder, known) if stages.complete(folder / "stages") else None


def cached_builds(key: str = "") -> list[Build]:
    """Return the complete builds in the cache whose module key is ``key``, the newest first.

    Args:
        key: What :func:`module_key` returns; empty for all.
    """
    if not builds_dir().is_dir():
        return []
    folders = [
        path
        for path in builds_dir().iterdir()
        if path.name.startswith(key) and not path.name.startswith(".")
    ]
    found = [build for build in map(read_build, folders) if build is not None]
    return sorted(found, key=lambda build: build.folder.stat().st_mtime, reverse=True)


def build(say: Say, *, force: bool = False) -> Build:
    """Return the build for this module and this Go, making it when the cache has none.

    Args:
        say: Gets a line for everything that takes long.
        force: Make it again even if the cache has it.

    Raises:
        BinariesNotFoundError: There is no ``go`` on ``PATH``.
        ClusterError: The build failed, or made something else than what is pinned.
    """
    module = control_plane_module()
    go = find_go()
    if go is None:
        raise BinariesNotFoundError(
            "building the control plane needs `go` on PATH (https://go.dev/doc/install), "
            "and there is none"
        )
    go_version = _go_output([go, "env", "GOVERSION"], module)
    target = builds_dir() / content_key(module, go_version)
    builds_dir().mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(builds_dir() / f".{target.name}.lock")
    with _waiting_lock(lock, say):
        ready = None if force else read_build(target)
        if ready is not None:
            return ready
        return _build_locked(go, module, target, say)


@contextlib.contextmanager
def _waiting_lock(lock: filelock.FileLock, say: Say) -> Iterator[None]:
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        say("another build of the control plane is running: waiting until it has ended")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _build_locked(go: str, module: Path, target: Path, say: Say) -> Build:
    for stale in target.parent.glob(f".building-{target.name}-*"):
        # The lock is ours, so whoever made these was killed.
        shutil.rmtree(stale)
    work = target.parent / f".building-{target.name}-{os.getpid()}"
    (work / "bin").mkdir(parents=True)
    try:
        pinned = pinned_versions(module)
        say(
            f"building the control plane ({pinned['kube-apiserver']}) once, about 50 s with a "
            "warm Go cache, 5 to 10 minutes without"
        )
        _go_build(go, module, work / "bin", pinned["kube-apiserver"], say)
        # go names a binary after its package's folder, and etcd's is `server`.
        (work / "bin" / "server").rename(work / "bin" / "etcd")
        stages.copy_from_module(stages.module_stages(go, module), work / "stages")
        _write_manifest(work, _verify(work / "bin", pinned))
        if target.exists():
            shutil.rmtree(target)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    done = read_build(target)
    if done is None:
        raise ClusterError(f"the build in {target} was changed while it was made")
    say(f"built {target}")
    return done


def pinned_versions(module: Path) -> dict[str, str]:
    """Return the versions that ``go.mod`` pins for etcd, kube-apiserver and kwok.

    Raises:
        ClusterError: It does not pin one of them.
    """
    lines = (module / "go.mod").read_text().splitlines()
    words = [line.split() for line in lines if not line.strip().startswith("//")]
    found: dict[str, str] = {}
    for name, path in _PIN.items():
        exact = [w for w in words if "=>" not in w and path in w and w[-1] != path]
        version = versions.parse_version(" ".join(exact[0])) if exact else None
        if version is None:
            raise ClusterError(f"{module / 'go.mod'} does not pin {path}")
        found[name] = version
    return found


def _verify(bin_dir: Path, pinned: dict[str, str]) -> dict[str, str]:
    try:
        known = versions.ask_versions(bin_dir)
    except versions.VersionUnknownError as exc:
        raise ClusterError(f"the build made a program that does not work: {exc}") from exc
    for name, wanted in pinned.items():
        if known[name] != wanted:
            raise ClusterError(f"the build made {name} {known[name]}, but {wanted} is pinned")
    fault = versions.mismatch(known)
    if fault:
        raise ClusterError(f"the build made programs of different versions: {fault}")
    return known


def _write_manifest(folder: Path, known: dict[str, str]) -> None:
    sizes = {name: (folder / "bin" / name).stat().st_size for name in versions.REQUIRED}
    (folder / MANIFEST).write_text(json.dumps({"versions": known, "sizes": sizes}, indent=2))


def _go_build(go: str, module: Path, bin_dir: Path, version: str, say: Say) -> None:
    numbers = versions.minor(version).split(".")
    variable = "k8s.io/component-base/version"
    flags = (
        f"-s -w -X {variable}.gitVersion={version} -X {variable}.gitMajor={numbers[0]} "
        f"-X {variable}.gitMinor={numbers[1]} -X {variable}.gitTreeState=clean"
    )
    command = [go, "build", "-v", "-trimpath", "-buildvcs=false", "-mod=readonly"]
    command += ["-o", f"{bin_dir}/", "-ldflags", flags, "tool"]
    with subprocess.Popen(
        command,
        cwd=module,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            tail = _Progress(say).follow(process)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise ClusterError("go build failed:\n  " + "\n  ".join(tail or ["it said nothing"]))


class _Progress:
    """Says every few seconds what ``go build -v`` is doing; linking prints nothing itself."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._started = time.monotonic()
        self._current = "starting"
        self._compiled = 0

    def follow(self, process: subprocess.Popen[str]) -> list[str]:
        """Read what the build says until it ends, and return its last lines."""
        ended = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(ended,), daemon=True)
        ticker.start()
        tail: list[str] = []
        try:
            for line in process.stderr or ():
                tail = [*tail[-(_TAIL_LINES - 1) :], line.rstrip()]
                self._current = line.strip()
                self._compiled += not line.startswith("go: ")
        finally:
            ended.set()
            ticker.join()
        return tail

    def _tick(self, ended: threading.Event) -> None:
        while not ended.wait(_PROGRESS_EVERY_SEC):
            elapsed = int(time.monotonic() - self._started)
            self._say(f"  {elapsed} s: {self._compiled} packages compiled, last {self._current}")


def _go_output(command: list[str], module: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=module, capture_output=True, text=True, check=True, timeout=120
        )
    except subprocess.CalledProcessError as exc:
        said = str(exc.stderr).strip()
        raise ClusterError(f"`{' '.join(command)}` failed: {said}") from exc
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ClusterError(f"`{' '.join(command)}` failed: {exc}") from exc
    return done.stdout.strip()
