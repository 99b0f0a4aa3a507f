"""Stand-ins for programs that cannot run here; each says in its own text that it is one."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from devops_bench.clusters.stages import STAGE_FILES
from devops_bench.clusters.versions import REQUIRED

VERSIONS = {
    "etcd": "etcd Version: 3.6.8",
    "kube-apiserver": "Kubernetes v1.36.3",
    "kube-controller-manager": "Kubernetes v1.36.3",
    "kube-scheduler": "Kubernetes v1.36.3",
    "kubectl": "Client Version: v1.36.3\nKustomize Version: v5.8.1",
    "kwok": "kwok version v0.8.0 go1.26.8 (linux/amd64)",
}


def stand_in(path: Path, script: str) -> Path:
    """Write an executable shell script that stands in for a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n# A stand-in of the tests, not the real program.\n{script}\n")
    path.chmod(0o755)
    return path


def says(text: str) -> str:
    """A script that prints a text."""
    return f"printf '%s\\n' {shlex.quote(text)}"


def binaries(folder: Path, *, stages: bool = True, **other: str) -> Path:
    """Make a folder with stand-ins of all six programs.

    Args:
        folder: Where.
        stages: Whether kwok's stages lie beside them.
        other: What a program prints instead, its dashes as underscores; empty leaves it out.
    """
    for name in REQUIRED:
        text = other.get(name.replace("-", "_"), VERSIONS[name])
        if text:
            stand_in(folder / name, says(text))
    if stages:
        write_stages(folder / "stages")
    return folder


def write_stages(folder: Path) -> None:
    """Write a stage of each kind that is used, by the names that kwok gives them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in STAGE_FILES:
        file = Path(name)
        (folder / file.name).write_text(json.dumps(stage(file.stem, name.partition("/")[0])))


def stage(name: str, kind: str) -> dict[str, object]:
    """A Stage as kwok's module has it, reduced to its selector."""
    operator = "Exists" if name == "pod-delete" else "DoesNotExist"
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind.capitalize()},
            "selector": {
                "matchExpressions": [{"key": ".metadata.deletionTimestamp", "operator": operator}]
            },
        },
    }


@dataclass(frozen=True, slots=True)
class Machine:
    """The folders of one test's machine."""

    root: Path

    def __post_init__(self) -> None:
        for folder in (self.home, self.path):
            folder.mkdir()

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def path(self) -> Path:
        return self.root / "path"

    @property
    def envtest(self) -> Path:
        return self.home / ".local" / "share" / "kubebuilder-envtest" / "k8s"
