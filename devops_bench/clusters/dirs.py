"""Where this package keeps what outlives a command: built binaries and the state of planes."""

from __future__ import annotations

from pathlib import Path

from devops_bench.core.dirs import (
    STATE_VARIABLE,
    dir_from_variable,
    platform_dir,
    private_dir,
    state_dir,
)
from devops_bench.core.errors import ClusterError

__all__ = ["STATE_VARIABLE", "cache_dir", "control_plane_module", "planes_dir", "private_dir"]

CACHE_VARIABLE = "DEVOPS_BENCH_CACHE"


def cache_dir() -> Path:
    """Return the folder for what can be made again; ``DEVOPS_BENCH_CACHE`` overrides it.

    Nothing is created. Without the variable it is the user's cache folder of the platform
    (``~/.cache/devops-bench`` on Linux, ``XDG_CACHE_HOME`` respected).
    """
    return dir_from_variable(CACHE_VARIABLE) or platform_dir("cache")


def planes_dir() -> Path:
    """Return the folder that holds a folder per control plane.

    Nothing is created. It is in the state folder; see :func:`devops_bench.core.dirs.state_dir`.
    """
    return state_dir() / "planes"


def control_plane_module() -> Path:
    """Return the folder with the ``go.mod`` that pins the control plane's binaries.

    An installed wheel carries it beside this file, a checkout keeps it in ``hack/controlplane``.

    Raises:
        ClusterError: Neither is there: the installation is incomplete.
    """
    here = Path(__file__).resolve().parent
    places = (here / "controlplane", here.parents[1] / "hack" / "controlplane")
    for place in places:
        if (place / "go.mod").is_file() and (place / "go.sum").is_file():
            return place
    raise ClusterError(
        "this installation does not contain the control plane's go.mod and go.sum "
        f"(looked in {places[0]} and {places[1]})"
    )
