"""A file that an option names for a report: it may be anything that can be written to."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from devops_bench.core.errors import InvalidInputError, OutputError
from devops_bench.core.files import write_atomic

_STREAMS = ("/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/")
"""Names that begin so stand for what is open, also where that is a regular file."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """Where a report goes besides standard output.

    A regular file, or none yet, gets it as a whole or not at all; a symlink is followed. Anything
    else (a FIFO, a device, ``>(…)`` of a shell) is written to as it is, never replaced.

    Attributes:
        path: As it was given.
        option: The option that named it.
    """

    path: Path
    option: str

    def require_writable(self) -> None:
        """Find out that nothing can be written before anything runs, not when it is over.

        Raises:
            InvalidInputError: Nothing can.
        """
        try:
            if self.path.is_dir():
                raise InvalidInputError(f"{self.option} {self.path} is a folder")
            if self._is_written_as_it_is():
                if not os.access(self.path, os.W_OK):
                    raise PermissionError(0, "it may not be written to")
            else:
                with tempfile.TemporaryFile(dir=self._target.parent):
                    pass
        except OSError as exc:
            reason = exc.strerror or str(exc)
            raise InvalidInputError(
                f"{self.option}: nothing can be written to {self.path}: {reason}"
            ) from exc

    def write(self, data: bytes) -> None:
        """Write the report.

        Raises:
            OutputError: It could not be written.
        """
        try:
            if self._is_written_as_it_is():
                with self.path.open("ab", buffering=0) as file:
                    _write_all(file.fileno(), data)
            else:
                write_atomic(self._target, data)
        except OSError as exc:
            reason = exc.strerror or str(exc)
            raise OutputError(
                f"the report could not be written to {self.path} ({self.option}): {reason}"
            ) from exc

    @property
    def _target(self) -> Path:
        return Path(os.path.realpath(self.path))

    def _is_written_as_it_is(self) -> bool:
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            return False
        name = os.path.abspath(self.path)  # noqa: PTH100 - not through links
        return name.startswith(_STREAMS) or not stat.S_ISREG(mode)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
