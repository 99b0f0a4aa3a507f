"""Follows the audit log through the agent's turn, and says what of it may be missing.

What is read at the end alone may have been cut meanwhile: truncate(2) needs no opening that anybody
could see, and leaves no gap in a file to which the server then appends.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from devops_bench.evalharness.logwatch import LogWatch
from devops_bench.evalharness.requests import Parties, Requests
from devops_bench.evalharness.trail import Change
from devops_bench.k8s.audit import AuditEvent, AuditLog

_READ_EVERY_SEC: Final = 0.5
_LAST_REQUEST_SEC: Final = 5.0
_LOOK_EVERY_SEC: Final = 0.1
_SERVER: Final = "kube-apiserver"


class AuditWatch:
    """The audit log of one task; what is in it already is passed over.

    Args:
        path: The log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = AuditLog(path, from_end=True)
        self._watch: LogWatch | None = None
        self._changed: list[str] = []
        self._writable = False

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Read what comes while it comes, and see who else changes the file."""
        stop = threading.Event()
        self._writable = os.access(self.path, os.W_OK)
        watch = self._watch = LogWatch(self.path, writers(self.path))
        watch.start()

        def follow() -> None:
            while not stop.wait(_READ_EVERY_SEC):
                self._log.read()

        thread = threading.Thread(target=follow, name="audit-watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            self._changed = watch.stop()

    def read(self, parties: Parties) -> list[AuditEvent]:
        """Read it to its end, and look whether it is whole; :attr:`problem` says so.

        Args:
            parties: Who is who; the harness made a request after the turn.

        Returns:
            What is in it, also when it is not whole.
        """
        self._log.read()
        pause = threading.Event()
        for _ in range(round(_LAST_REQUEST_SEC / _LOOK_EVERY_SEC)):
            if self._log.problem is not None or self._shows_us(parties):
                break
            pause.wait(_LOOK_EVERY_SEC)  # the server answers first, and writes then
            self._log.read()
        self._log.look_again()
        if self._log.problem is None and not self._shows_us(parties):
            self._log.problem = f"the audit log {self.path} lacks a request of the harness itself"
        if self._changed:
            who = "; ".join(self._changed)
            self._log.problem = f"the audit log was changed by others than the API server: {who}"
        return self._log.events

    @property
    def problem(self) -> str:
        """Why something of it is missing; empty while nothing is."""
        return self._log.problem or ""

    def why_unwatched(self, *, confined: bool) -> str:
        """Return why it can be whole in what is seen, and yet not be; empty when it cannot.

        Args:
            confined: Whether the agent had a sandbox, in which there is no such file.
        """
        why = "nobody watched it" if self._watch is None else self._watch.why_not
        if why is None or confined or not self._writable:
            return ""
        return f"the agent could change the audit log, and whether it did was not seen: {why}"

    def close(self) -> None:
        """Let go of the file."""
        self._log.close()

    def _shows_us(self, parties: Parties) -> bool:
        return any(
            parties.is_harness(event) and event.received_at >= parties.turn_to
            for event in reversed(self._log.events)
        )


def unexplained(changes: Iterable[Change], requests: Requests) -> str:
    """Return which change was seen although the log has no request for it; empty for none.

    Args:
        changes: What was watched in the turn.
        requests: The log.
    """
    for change in changes:
        if change.now is None or change.rv is None or requests.writer(change.uid, change.rv):
            continue
        if requests.answers(change.kind):
            return f"the audit log lacks the request that wrote {change} (revision {change.rv})"
    return ""


def writers(log: Path) -> list[int]:
    """Return the ids of the API servers that have a log open now, as far as we may look."""
    return [pid for pid in _servers() if _has_open(pid, log)]


def _servers() -> Iterator[int]:
    with contextlib.suppress(OSError):  # no /proc
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            with contextlib.suppress(OSError):  # it ended
                if (folder / "comm").read_text("utf-8", "replace").strip() == _SERVER:
                    yield int(folder.name)


def _has_open(pid: int, file: Path) -> bool:
    with contextlib.suppress(OSError):  # it ended, or is not ours to look at
        wanted = file.stat()
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # it was closed meanwhile
                if os.path.samestat(one.stat(), wanted):
                    return True
    return False
