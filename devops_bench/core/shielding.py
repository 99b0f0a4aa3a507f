"""Keeps other processes of the same user out of this one's memory, and says where that fails.

The memory of the harness holds the spec, the cluster's credentials and what makes its requests its
own, and its descriptors are those of the run's record. PR_SET_DUMPABLE(2const), with 0, closes
``/proc/PID/mem``, ``environ`` and ``fd``, ptrace(2) and pidfd_getfd(2) to whoever has not
``CAP_SYS_PTRACE``. Programs that are started from here get it back with their execve(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PR_GET_DUMPABLE: Final = 3
_PR_SET_DUMPABLE: Final = 4
_CAP_SYS_PTRACE: Final = 1 << 19
_STATUS: Final = Path("/proc/self/status")
_YAMA: Final = Path("/proc/sys/kernel/yama/ptrace_scope")


def shield_memory() -> None:
    """Make this process not dumpable, where the system knows that; it writes no core dump then."""
    with contextlib.suppress(AttributeError, OSError):  # no prctl(2): memory_is_open() says so
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def memory_is_open(*, plane: bool) -> str:
    """Return why a process that this one starts could read what it must not in others' memory.

    Args:
        plane: Whether a control plane runs as this user; it holds the keys of the cluster.

    Returns:
        One sentence; empty when it could not.
    """
    if sys.platform != "linux":
        return "this system does not keep processes of one user out of each other's memory"
    if _may_trace(_capabilities(), root=os.geteuid() == 0):
        return (
            "the agent could read the memory of the harness (CAP_SYS_PTRACE), and nobody sees that"
        )
    if _dumpable():
        return "the agent could read the memory of the harness, and nobody sees that"
    if plane and _scope() == 0:
        return (
            "the agent could read the memory of the control plane, and nobody sees that "
            "(kernel.yama.ptrace_scope is 0)"
        )
    return ""


def _dumpable() -> bool:
    return bool(ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)


def _may_trace(capabilities: Mapping[str, int], *, root: bool) -> bool:
    """Return whether a program has ``CAP_SYS_PTRACE`` after execve(2), see capabilities(7)."""
    # Root gets all that its bounding set leaves; who did not say may have everything.
    names = ("CapBnd",) if root else ("CapAmb", "CapEff", "CapPrm")
    return any(capabilities.get(name, _CAP_SYS_PTRACE) & _CAP_SYS_PTRACE for name in names)


def _capabilities() -> dict[str, int]:
    lines = (line.partition(":") for line in _STATUS.read_text("ascii", "replace").splitlines())
    return {name: int(value, 16) for name, _, value in lines if name.startswith("Cap")}


def _scope() -> int:
    try:
        return int(_YAMA.read_text("ascii"))
    except (OSError, ValueError):
        return 0
