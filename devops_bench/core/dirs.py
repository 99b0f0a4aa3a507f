"""Where this package keeps what outlives a command, and what only its user may read."""

from __future__ import annotations

import os
from pathlib import Path

STATE_VARIABLE = "DEVOPS_BENCH_STATE"


def state_dir() -> Path:
    """Return the folder for what is known of what runs; ``DEVOPS_BENCH_STATE`` overrides it.

    Nothing is created. Without the variable it is the user's state folder of the platform
    (``~/.local/state/devops-bench`` on Linux).
    """
    return dir_from_variable(STATE_VARIABLE) or platform_dir("state")


def private_dir(path: Path) -> Path:
    """Create ``path`` with mode 0700, and every missing parent, and return it."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path


def dir_from_variable(name: str) -> Path | None:
    """Return the folder that a variable names, absolute; ``None`` when it is unset or empty."""
    value = os.environ.get(name, "")
    return Path(value).expanduser().absolute() if value else None


def platform_dir(which: str) -> Path:
    """Return this package's ``cache`` or ``state`` folder as the platform has it."""
    import platformdirs  # late: `--help` must not pay for it

    if which == "cache":
        return Path(platformdirs.user_cache_dir("devops-bench"))
    return Path(platformdirs.user_state_dir("devops-bench"))
