"""kwok's Stage resources: taken from kwok's own module, and one of ours beside them.

kwok plays the kubelet by Stages (https://kwok.sigs.k8s.io/docs/user/stages-configuration/). Its
module carries sets of them; they are copied into the cache when the binaries are built, so that
starting a plane needs no Go.
"""

from __future__ import annotations

import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Final

import yaml

from devops_bench.core.errors import ClusterError
from devops_bench.core.json import JsonObject, JsonValue

STAGE_FILES: Final = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
)
"""Which of the module's stages are used, below its ``kustomize/stage``. The node's are those made
for a lease: without one kwok's heartbeat is slower than the node controller's patience."""

OWN_STAGE: Final = "image-pull-backoff.yaml"

_BROKEN_IMAGE: Final[JsonValue] = {
    "key": ".spec | (.initContainers[]?, .containers[]) | .image"
    ' | select(startswith("broken.invalid/"))',
    "operator": "DoesNotExist",
}
_DELETED: Final = ".metadata.deletionTimestamp"


def complete(folder: Path) -> bool:
    """Return whether ``folder`` holds every stage file that is used."""
    return all((folder / Path(name).name).is_file() for name in STAGE_FILES)


def module_stages(go: str, module: Path) -> Path:
    """Return the ``kustomize/stage`` folder of the kwok module that ``module`` pins.

    Args:
        go: The ``go`` executable.
        module: The folder with the ``go.mod``.

    Raises:
        ClusterError: Go could not find or fetch it.
    """
    command = [go, "mod", "download", "-json", "sigs.k8s.io/kwok"]
    listing = [go, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
    for arguments in (command, listing):
        try:
            done = subprocess.run(
                arguments, cwd=module, capture_output=True, text=True, check=True, timeout=600
            )
        except subprocess.CalledProcessError as exc:
            raise ClusterError(f"kwok's module cannot be had: {str(exc.stderr).strip()}") from exc
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise ClusterError(f"kwok's module cannot be had: {exc}") from exc
    return Path(done.stdout.strip()) / "kustomize" / "stage"


def copy_from_module(source: Path, target: Path) -> None:
    """Copy the stages that are used from the module's ``kustomize/stage`` into ``target``.

    Raises:
        ClusterError: The module does not have one of them.
    """
    target.mkdir(parents=True)
    for name in STAGE_FILES:
        if not (source / name).is_file():
            raise ClusterError(f"kwok's module has no stage {name} (looked in {source})")
        # copyfile, not copy: the module cache is read-only, and the copy must be removable.
        shutil.copyfile(source / name, target / Path(name).name)


def configuration(folder: Path) -> str:
    """Return kwok's configuration: the stages in ``folder`` and our own, as YAML documents.

    A pod with an image under ``broken.invalid/`` must match our stage only: kwok picks at random
    among several that match. So every pod stage of the module, save the deleting one, gets one
    more condition.

    Raises:
        ClusterError: A stage file cannot be read as one.
    """
    documents: list[JsonValue] = []
    for name in STAGE_FILES:
        path = folder / Path(name).name
        try:
            loaded = list(yaml.safe_load_all(path.read_text()))
        except (OSError, yaml.YAMLError) as exc:
            raise ClusterError(f"the kwok stage {path} cannot be read: {exc}") from exc
        for stage in loaded:
            if not isinstance(stage, dict) or stage.get("kind") != "Stage":
                raise ClusterError(f"the kwok stage {path} is no Stage")
            documents.append(without_broken_images(stage))
    text: str = yaml.safe_dump_all(documents, sort_keys=False)
    own = resources.files("devops_bench.clusters").joinpath("data", OWN_STAGE).read_text()
    return f"{text}---\n{own}"


def without_broken_images(stage: JsonObject) -> JsonObject:
    """Return ``stage`` so that it no longer matches living pods with a ``broken.invalid/`` image.

    Stages of other kinds, and those for deleted pods, come back as they are.
    """
    spec = _object(stage.get("spec"))
    selector = _object(spec.get("selector"))
    expressions = selector.get("matchExpressions")
    conditions = expressions if isinstance(expressions, list) else []
    if _object(spec.get("resourceRef")).get("kind") != "Pod" or any(
        _object(item).get("key") == _DELETED and _object(item).get("operator") == "Exists"
        for item in conditions
    ):
        return stage
    narrowed: JsonObject = {**selector, "matchExpressions": [*conditions, _BROKEN_IMAGE]}
    return {**stage, "spec": {**spec, "selector": narrowed}}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
