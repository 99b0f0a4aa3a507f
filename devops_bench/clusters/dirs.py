"""Where this package keeps what outlives a command: built binaries and the state of planes."""

from __future__ import annotations

import os
from pathlib import Path

from devops_bench.core.errors import ClusterError

CACHE_VARIABLE = "DEVOPS_BENCH_CACHE"
STATE_VARIABLE = "DEVOPS_BENCH_STATE"


def cache_dir() -> Path:
    """Return the folder for what can be made again; ``DEVOPS_BENCH_CACHE`` overrides it.

    Nothing is created. Without the variable it is the user's cache folder of the platform
    (``~/.cache/devops-bench`` on Linux, ``XDG_CACHE_HOME`` respected).
    """
    return _from_variable(CACHE_VARIABLE) or _platform_dir("cache")


def planes_dir() -> Path:
    """Return the folder that holds a folder per control plane.

    Nothing is created. ``DEVOPS_BENCH_STATE`` overrides the base, which otherwise is the user's
    state folder of the platform (``~/.local/state/devops-bench`` on Linux).
    """
    return (_from_variable(STATE_VARIABLE) or _platform_dir("state")) / "planes"


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


def private_dir(path: Path) -> Path:
    """Create ``path`` with mode 0700, and every missing parent, and return it."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path


def _from_variable(name: str) -> Path | None:
    value = os.environ.get(name, "")
    return Path(value).expanduser().absolute() if value else None


def _platform_dir(which: str) -> Path:
    import platformdirs  # late: `--help` must not pay for it

    if which == "cache":
        return Path(platformdirs.user_cache_dir("devops-bench"))
    return Path(platformdirs.user_state_dir("devops-bench"))
