"""Paths that come from a spec and must stay below its folder."""

from __future__ import annotations

from pathlib import Path

from devops_bench.core.errors import InvalidInputError


def resolve_below(folder: Path, relative: str) -> Path:
    """Return the real path of ``relative``, which must lie below ``folder``.

    Symbolic links are followed on both sides, so that a link cannot lead out. The file is neither
    opened nor required to exist.

    Args:
        folder: The folder that must not be left.
        relative: A relative path as the spec has it; ``..`` is allowed while it stays below.

    Returns:
        The absolute path without links.

    Raises:
        InvalidInputError: It is empty, absolute, holds a NUL, leaves the folder (also through a
            link), or cannot be resolved (a loop of links, a folder that may not be entered).
    """
    if not relative.strip():
        raise InvalidInputError("the path is empty")
    if "\0" in relative:
        raise InvalidInputError("the path holds a NUL character")
    if Path(relative).is_absolute():
        raise InvalidInputError(f"{relative!r} is an absolute path")
    try:
        root = folder.resolve()
        target = (root / relative).resolve()
    except (OSError, RuntimeError) as exc:  # RuntimeError: a loop of links, before Python 3.13
        raise InvalidInputError(f"{relative!r} cannot be resolved: {exc}") from exc
    if target == root or not target.is_relative_to(root):
        raise InvalidInputError(f"{relative!r} leaves the folder {folder}")
    return target
