"""How files are named for other programs."""

from __future__ import annotations

from pathlib import Path


def relative_name(file: Path) -> str:
    """Return ``file`` relative to the current folder with ``/``, or absolute outside of it."""
    absolute = file.absolute()
    try:
        return absolute.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return absolute.as_posix()
