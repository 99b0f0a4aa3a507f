"""What an agent without a sandbox could have read: looked at, not guessed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

_NAMED_BY_VARIABLE = "KUBECONFIG"


def readable_without_sandbox(ours: Iterable[Path], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return which of the places that an agent must not see this user's processes can read.

    An agent without a sandbox runs as this process's user, so that this process's own rights are
    the agent's.

    Args:
        ours: Files and folders of the run: the spec's folder, the results, the cluster's
            kubeconfig.
        env: The environment of this process: it names the user's home and kubeconfigs.
    """
    home = Path(env.get("HOME") or "/nonexistent")
    kubeconfigs = [Path(name) for name in env.get(_NAMED_BY_VARIABLE, "").split(os.pathsep) if name]
    places = [
        *ours,
        home,
        home / ".kube" / "config",
        *kubeconfigs,
        Path(f"/proc/{os.getpid()}/environ"),
    ]
    found = dict.fromkeys(str(place.absolute()) for place in places if os.access(place, os.R_OK))
    return tuple(found)
