"""One stream: a thread that only reads while a watch is open, and mends it when it ends."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

import structlog

from devops_bench.core.errors import ApiError, ApiUnavailableError, ClusterError
from devops_bench.k8s.watch.backoff import Backoff
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.context import (
    MANY_BYTES,
    TOO_MUCH,
    StreamContext,
)
from devops_bench.k8s.watch.events import ErrorEvent, Malformed, ObjectList
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.identity import Facts
from devops_bench.k8s.watch.mending import SCHEMA_MOVED, closed_how, ended_with, read_again
from devops_bench.k8s.watch.repair import (
    GONE,
    Hole,
    Repaired,
    read_exact,
    read_list,
    read_version,
    require_not_older,
)
from devops_bench.k8s.watch.sameness import Sameness
from devops_bench.k8s.watch.types import Held, Source, StreamKey

log = structlog.get_logger(__name__)

_EMPTY_WATCH_SEC: Final = 1.0
_SWITCH_SEC: Final = 1.0
"""Within that the server reads by a definition that was changed; it is a matter of milliseconds."""
WATCH_SEC: Final = 3_600
"""Streams are kept as long as possible: an open one outlives the right to open it again."""


class WatchStream:
    """One stream, from its baseline to its end.

    :meth:`baseline`, :meth:`exact` and :meth:`try_open` are called by the thread that starts the
    watcher, in this order; then :meth:`start` hands the connection to the stream's own thread.

    Args:
        key: Which stream.
        context: What all streams share.
        facts: What was served at the baseline.
        only_name: The name of the one object that is read, where it is only one: repairs then ask
            for it alone.

    Attributes:
        key: Which stream.
        opened: Set while the stream is whole.
        trouble: The newest reason why it is not whole, or why the last try to mend it failed.
        requests: How many requests it has sent.
        stopping: Set when it is to end.
        sameness: Whether its kind is what it was.
    """

    def __init__(
        self, key: StreamKey, context: StreamContext, facts: Facts, only_name: str | None = None
    ) -> None:
        self.key = key
        self.opened = threading.Event()
        self.trouble = ""
        self.requests = 0
        self._context = context
        self.sameness = Sameness(key.resource, context, facts)
        self._query = {"fieldSelector": f"metadata.name={only_name}"} if only_name else {}
        self.stopping = threading.Event()
        self._wake = threading.Event()
        self._connection: Connection | None = None
        self._source: Source | None = None
        self._lines: Iterator[bytes] = iter(())
        self._pending: Gap | None = None
        self._gap_numbers = itertools.count(1)
        self._whole_at = 0.0
        self._garbled_rv: int | None = None
        self._repair_first = False
        self._backoff = Backoff()
        self._has_holes = False
        self._thread = threading.Thread(target=self._run, name=f"watch {key}", daemon=True)

    def baseline(self) -> ObjectList:
        """LIST the collection as it is now.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer.
        """
        if self._connection is None:
            self._connection = self._context.connect()
        try:
            return read_list(self._connection, self.key.path, {})
        except ApiUnavailableError:
            self._drop_connection()
            raise

    def exact(self, rv: int) -> ObjectList:
        """LIST the collection as it was at a revision.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer.
        """
        if self._connection is None:
            self._connection = self._context.connect()
        return read_exact(self._connection, self.key.path, rv)

    def try_open(self, rv: int, refusals: Collection[int]) -> str | None:
        """Open the watch; what fails for now is left to the stream's own thread.

        Args:
            rv: The revision to go on from.
            refusals: HTTP status codes that no later try will change.

        Returns:
            Why it will never open; ``None`` if it is open or may open later (see :attr:`trouble`).
        """
        try:
            connection = self._connection or self._context.connect()
            self._connection = connection
            self._open(connection, rv)
        except ApiError as exc:
            if exc.status in refusals:
                return str(exc)
            self.trouble = f"the watch could not be opened: {exc}"
        except ApiUnavailableError as exc:
            self.trouble = f"the watch could not be opened: {exc}"
        return None

    def renew(self, why: str) -> None:
        """End the connection and mend the stream, because it shows objects as they are no more."""
        self.opened.clear()
        self.cut(why)

    def total_requests(self) -> int:
        """Return how many requests the stream has sent until now."""
        connection = self._connection
        requests = self.requests + self.sameness.requests
        return requests + (0 if connection is None else connection.requests)

    def version(self) -> int:
        """Return the revision that the server is at, as a LIST of the collection tells it.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer.
        """
        if self._connection is None:
            self._connection = self._context.connect()
        return read_version(self._connection, self.key.path)

    def start(self, rv: int, trouble: str | None = None, *, repair: bool = False) -> None:
        """Start the thread.

        Args:
            rv: The revision of the baseline.
            trouble: Why the watch is not open; the thread then begins with mending that.
            repair: Whether what was written since ``rv`` is to be read by exact LISTs.
        """
        self._whole_at = self._context.clock.monotonic()
        self._repair_first = repair
        if trouble is not None:
            self._begin_gap(trouble, rv)
        self._thread.start()

    def stop(self) -> None:
        """Tell the thread to end; does not wait. Safe to call twice."""
        self.stopping.set()
        self._wake.set()
        connection = self._connection
        if connection is not None:
            connection.close_now()

    def discard(self) -> None:
        """Give up a stream that was never started."""
        self.stopping.set()
        self._drop_connection()

    def join(self, timeout_sec: float) -> bool:
        """Wait for the thread's end; return whether it has ended."""
        if self._thread.is_alive():
            self._thread.join(max(0.0, timeout_sec))
        return not self._thread.is_alive()

    def hurry(self) -> None:
        """Try to mend the stream now instead of waiting for the next try."""
        self._wake.set()

    def cut(self, why: str) -> None:
        """End the connection because it is known to be dead; the stream then mends itself."""
        self.trouble = why
        source = self._source
        if source is not None and source.failure is None:
            source.close()

    def newest_rv(self) -> int:
        """Return the newest revision that the stream's own connection has brought."""
        source = self._source
        return 0 if source is None else source.rv

    def pending(self) -> Gap | None:
        """Return the gap that is being mended now, with the newest reason; ``None`` if whole."""
        gap = self._pending
        return None if gap is None else replace(gap, how=f"not closed: {self.trouble}")

    def new_gap(self, cause: str, from_rv: int, to_rv: int | None, how: str) -> Gap:
        """Return a new open gap that lasts from when the stream was last whole until now."""
        to_sec = None if to_rv is None else self._context.clock.monotonic()
        number, since = next(self._gap_numbers), self._whole_at
        return Gap(str(self.key), number, cause, from_rv, to_rv, since, to_sec, False, how)

    def quiet_since(self) -> float:
        """Return monotonic seconds when the stream last brought something or was opened."""
        return self._whole_at

    # From here on: only on the stream's own thread, except _open.

    def _run(self) -> None:
        try:
            while not self.stopping.is_set():
                cause = self._read() if self._pending is None else self.trouble
                if self.stopping.is_set():
                    break
                self._mend(cause)
        except Exception as exc:
            # The fence cannot pass a stream without its thread: the gap stays, with this cause.
            self.opened.clear()
            self.trouble = f"the watcher failed: {type(exc).__name__}: {exc}"
            log.exception("watch_stream_failed", stream=str(self.key))
        finally:
            self._drop_connection()

    def _read(self) -> str:
        """Read until the watch ends; return why it ended."""
        source = self._source
        if source is None:
            return "the watch was never opened"
        judge, monotonic = self._context.judge, self._context.clock.monotonic
        try:
            for line in self._lines:
                self._whole_at = now = monotonic()
                judge.line(source, line, now)
                if source.waiting_bytes > MANY_BYTES:
                    return TOO_MUCH
        except ApiUnavailableError as exc:
            return str(exc)
        return "the server ended the watch"

    def _mend(self, cause: str) -> None:
        self.opened.clear()
        source = self._source
        held = self._context.judge.held(self.key)
        stale, self._repair_first = self._repair_first, False
        if source is not None and source.failure is not None:
            cause, stale = self._judged_failure(source.failure, held.rv)
        elif self.trouble and self._pending is None:
            cause = self.trouble
        if self._pending is None:
            self._begin_gap(cause, held.rv)
        backoff = self._backoff
        if source is None or source.rv > 0:
            backoff.reset()
            delay = 0.0
        else:
            # It was opened and brought nothing: a server that does only that is not to be hammered.
            delay = min(_EMPTY_WATCH_SEC, backoff.next())
        log.info("watch_gap", stream=str(self.key), cause=cause, from_rv=held.rv)
        while not self.stopping.is_set():
            self._context.clock.wait(self._wake, delay)
            if not self.stopping.is_set():
                self._wake.clear()
            try:
                if self._try_once(stale):
                    return
                delay = backoff.next()
            except ApiError as exc:
                self.trouble = f"HTTP {exc.status}: {exc}"
                if exc.status == GONE and not stale:
                    stale, delay = True, 0.0
                else:
                    delay = backoff.next(exc.retry_after_sec)
            except ClusterError as exc:
                self.trouble = str(exc)
                delay = backoff.next()

    def _judged_failure(self, failure: ErrorEvent | Malformed, held_rv: int) -> tuple[str, bool]:
        """Return the cause of a gap that the judge found, and whether to repair before watching."""
        if isinstance(failure, ErrorEvent):
            return ended_with(failure), failure.code == GONE
        # The line comes again when watching goes on; if it is garbled again, a LIST may not be.
        again = self._garbled_rv == held_rv
        self._garbled_rv = held_rv
        return failure.reason, again

    def _try_once(self, stale: bool) -> bool:
        """Try to make the stream whole; return whether it is."""
        self._drop_connection()
        connection = self._context.connect()
        self._connection = connection
        if self.stopping.is_set():
            return False
        facts = self.sameness.look()
        changed = self.sameness.difference(facts)
        if changed is not None:
            self.trouble = changed
            return False
        held = self._context.judge.held(self.key)
        require_not_older(read_version(connection, self.key.path), held.rv)
        repaired: Repaired | None = None
        differently = self.sameness.redefined(facts)
        if differently is not None:
            self._context.clock.wait(self.stopping, _SWITCH_SEC)
        if stale or differently is not None:
            repaired = read_again(
                self._context,
                self.key,
                connection,
                held,
                differently,
                self._query,
                self._tell_hole,
            )
            # What stays unknown was told of, whatever comes after.
            self.sameness.adopt(facts)
        self._open(connection, held.rv if repaired is None else repaired.rv)
        after = self.sameness.look(facts)
        changed = self.sameness.difference(after, facts)
        if changed is None and self.sameness.redefined(after, facts) is not None:
            changed = SCHEMA_MOVED
        if changed is not None:
            self.trouble = changed
            self._drop_connection()
            return False
        self.sameness.adopt(after)
        self._end_gap(held, repaired)
        return True

    def _open(self, connection: Connection, rv: int) -> None:
        source = Source(self.key, connection.close_now)
        query: Mapping[str, str] = {
            "resourceVersion": str(rv),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SEC),
        }
        self._lines = connection.watch(self.key.path, query)
        self._source = source
        if self._pending is None:
            self.opened.set()

    def _begin_gap(self, cause: str, rv: int) -> None:
        self.trouble = cause
        self._pending = self.new_gap(cause, rv, None, "")

    def _tell_hole(self, hole: Hole) -> None:
        """Tell of what stays unknown, whatever comes after."""
        self._has_holes = True
        cause = self._pending.cause if self._pending is not None else self.trouble
        gap = self.new_gap(cause, hole.from_rv, hole.to_rv, f"not closed: {hole.why}")
        self._context.judge.gap(self.key, gap)

    def _end_gap(self, held: Held, repaired: Repaired | None) -> None:
        pending = self._pending
        self._pending = None
        self.trouble = ""
        has_holes, self._has_holes = self._has_holes, False
        now = self._context.clock.monotonic()
        if pending is not None:
            to_rv = held.rv if repaired is None else repaired.rv
            how = closed_how(to_rv, repaired, has_holes)
            gap = replace(pending, to_rv=to_rv, to_sec=now, closed=True, how=how)
            self._context.judge.gap(self.key, gap)
            log.info("watch_gap_closed", stream=str(self.key), cause=gap.cause, how=how)
        self._whole_at = now
        self.opened.set()

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self.requests += connection.requests
            with contextlib.suppress(OSError):  # it is being thrown away
                connection.close()
