"""A descriptor to give to somebody else's program, whose output goes to a sink of ours."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator
from typing import TextIO

from devops_bench.core.boundedfile import OutputSink

_CHUNK = 65536
# How long what is left in the pipe is read for when somebody who still writes holds it open.
_DRAIN_SEC = 2.0


@contextlib.contextmanager
def pumped(sink: OutputSink) -> Iterator[TextIO]:
    """Yield a pipe's end as a text file, and write what comes through it to a sink.

    At the end what is in the pipe is still taken; a process that outlives the context and holds
    the pipe open is not waited for. It gets SIGPIPE when it writes later.

    Args:
        sink: What takes the output, in a thread of its own; closed at the end.

    Raises:
        OSError: There is no descriptor or thread left for it.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(sink))
        source, theirs = os.pipe()
        stack.callback(os.close, source)
        file = stack.enter_context(os.fdopen(theirs, "w", encoding="utf-8"))
        stop, stopped = os.pipe()
        stack.callback(os.close, stop)
        thread = threading.Thread(target=_copy, args=(source, stop, sink), name="pump", daemon=True)
        try:
            thread.start()
            try:
                yield file
            finally:
                file.close()
        finally:
            os.close(stopped)
            if thread.ident is not None:
                thread.join()


def _copy(source: int, stop: int, sink: OutputSink) -> None:
    deadline: float | None = None
    while True:
        waits = None if deadline is None else 0
        ready, _, _ = select.select([source, stop] if deadline is None else [source], [], [], waits)
        if source in ready:
            data = os.read(source, _CHUNK)
            sink.write(data)
            if not data:
                return
        elif deadline is not None:
            return
        if stop in ready:
            deadline = time.monotonic() + _DRAIN_SEC
        if deadline is not None and time.monotonic() >= deadline:
            return
