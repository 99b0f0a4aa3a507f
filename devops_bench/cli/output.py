"""What commands write: the report that was asked for, and what is said besides.

A report that could not be written is an error, never a clean exit. This module is imported by every
command, so it imports nothing that costs time.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from typing import Final, NoReturn, TextIO

from devops_bench.core.errors import OutputError

_STDOUT: Final = 1
_STDERR: Final = 2


class LostStream(io.TextIOBase):
    """Stands for standard output once something of it is lost: no write succeeds any more.

    Args:
        why: What every write raises.
    """

    def __init__(self, why: OSError) -> None:
        self._why = why

    def write(self, text: str) -> NoReturn:  # noqa: ARG002 - the signature of every stream
        """Raise.

        Raises:
            OSError: Always.
        """
        raise self._why


def replace_closed_streams() -> None:
    """Put something in the place of standard streams that were closed before the start.

    The interpreter has ``None`` for them, and the next file that is opened gets their number, which
    every program that is started would then write to.
    """
    if sys.stdout is None:
        _keep_number(_STDOUT)
        sys.stdout = LostStream(OSError(errno.EBADF, "the stream is closed"))
    if sys.stderr is None:
        _keep_number(_STDERR)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - to the end


def _keep_number(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        if null != number:
            os.dup2(null, number)
            os.close(null)


def write_report(text: str) -> None:
    """Write what was asked for to standard output.

    A reader or a terminal that has gone away is none of our business: the exit code stays.

    Args:
        text: The report, or a part of it.

    Raises:
        OutputError: It could not be written, or something that was said there before.
    """
    error = _written(text, sys.stdout)
    if error is not None:
        raise OutputError(
            f"the report could not be written to standard output: {error.strerror or error}"
        ) from error


def write_quietly(text: str, stream: TextIO) -> None:
    """Write what is said besides: whether somebody reads it does not change the exit code.

    A report that comes after what is lost of standard output is not written either.

    Args:
        text: What to write.
        stream: Standard output or standard error.
    """
    _written(text, stream)


def _written(text: str, stream: TextIO) -> OSError | None:
    """Write it; return why it is lost, ``None`` also where nobody is left to read it."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as exc:
        has_gone = _has_gone(exc, stream)
        # The interpreter flushes again at its end; it must find a place that takes it.
        with contextlib.suppress(io.UnsupportedOperation):  # a stream without a number
            number = stream.fileno()
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, number)
            os.close(null)
        if has_gone:
            return None
        if stream is sys.stdout:
            sys.stdout = LostStream(exc)
        return exc
    return None


def _has_gone(error: OSError, stream: TextIO) -> bool:
    """Return whether who would have read it has gone: a broken pipe, a terminal that hung up."""
    if isinstance(error, BrokenPipeError):
        return True
    if error.errno != errno.EIO:
        return False
    try:
        return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    except OSError:
        return False
