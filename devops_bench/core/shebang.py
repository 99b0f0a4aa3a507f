"""What runs a script, by its first line. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

_SHELLS: Final = frozenset({"ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"})


def is_shell_script(text: str) -> bool:
    """Return whether a shell runs it: ``#!`` names one, or there is none."""
    if not text.startswith("#!"):
        return True
    words = [PurePosixPath(word).name for word in text[2:].split("\n", 1)[0].split()]
    program = next((word for word in words if word != "env" and not word.startswith("-")), "")
    return program in _SHELLS
