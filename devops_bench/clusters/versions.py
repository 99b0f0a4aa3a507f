"""The six programs of a control plane, their versions, and which versions fit together."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

REQUIRED: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kwok",
)
"""The six programs; a place that lacks one of them does not count."""

KUBERNETES: Final = tuple(name for name in REQUIRED if name.startswith("kube"))

_VERSION = re.compile(r"\bv?(\d+)\.(\d+)\.(\d+)((?:-[0-9A-Za-z.]+)?)")
_ASK: Final[Mapping[str, tuple[str, ...]]] = {"kubectl": ("version", "--client")}
_ANSWER_TIMEOUT_SEC: Final = 20.0


class VersionUnknownError(Exception):
    """A program did not say its version; the message says what it did instead."""


def parse_version(text: str) -> str | None:
    """Return the first version in ``text`` as ``v1.2.3`` (or ``v1.2.3-rc.1``), ``None`` without."""
    found = _VERSION.search(text)
    if found is None:
        return None
    return f"v{int(found[1])}.{int(found[2])}.{int(found[3])}{found[4]}"


def minor(version: str) -> str:
    """Return ``1.36`` of ``v1.36.3``.

    Raises:
        ValueError: ``version`` is not one that :func:`parse_version` returns.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ValueError(f"{version!r} is not a version")
    return f"{int(found[1])}.{int(found[2])}"


def ask_version(program: Path, name: str) -> str:
    """Run ``program`` and return the version it says.

    Args:
        program: The executable.
        name: Which of :data:`REQUIRED` it is, since not all are asked alike.

    Raises:
        VersionUnknownError: It could not be run, failed, or said no version.
    """
    command = [str(program), *_ASK.get(name, ("--version",))]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_TIMEOUT_SEC,
            check=False,
            env={"HOME": "/nonexistent", "KUBECONFIG": "/dev/null"},
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise VersionUnknownError(f"{name} could not be run: {exc}") from exc
    version = parse_version(done.stdout)
    if done.returncode != 0 or version is None:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise VersionUnknownError(f"{name} did not say its version: {said[-1] if said else '-'}")
    return version


def ask_versions(folder: Path) -> dict[str, str]:
    """Ask all six programs of ``folder`` at the same time.

    Raises:
        VersionUnknownError: One of them did not answer.
    """
    with ThreadPoolExecutor(max_workers=len(REQUIRED)) as pool:
        answers = pool.map(lambda name: ask_version(folder / name, name), REQUIRED)
        return dict(zip(REQUIRED, answers, strict=True))


def mismatch(versions: Mapping[str, str]) -> str:
    """Say why ``versions`` do not fit together, empty when they do.

    The components of a control plane may lag behind its API server
    (https://kubernetes.io/releases/version-skew-policy/); here all of them and kubectl must be of
    one minor, because nothing else is ever tested. etcd and kwok may be of any version.

    Args:
        versions: The version of every one of :data:`REQUIRED`.
    """
    wanted = minor(versions["kube-apiserver"])
    others = [f"{name} {versions[name]}" for name in KUBERNETES if minor(versions[name]) != wanted]
    if not others:
        return ""
    return f"{', '.join(others)} does not fit kube-apiserver {versions['kube-apiserver']}"
