"""The proof that a stream has shown everything up to now.

A LIST without resourceVersion says which revision "now" is. A watch from what is held, over the
same connection and so on the same server, then has to bring a write or a bookmark at or past it:
the server sends a bookmark shortly before ``timeoutSeconds`` ends
(https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks). A stream that is
already there, and objects that are read by name and were not written, need no watch. A kind that is
not served any more has no end that could be shown: its fence is given up soon.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Final

from devops_bench.core.errors import ApiError, ApiUnavailableError, ClusterError
from devops_bench.k8s.watch.backoff import Backoff
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.context import MANY_BYTES, TOO_MUCH, StreamContext
from devops_bench.k8s.watch.events import ObjectList, parse_version
from devops_bench.k8s.watch.repair import GONE, read_exact, read_list
from devops_bench.k8s.watch.results import StreamFence
from devops_bench.k8s.watch.stream import WatchStream
from devops_bench.k8s.watch.types import Held, Source

FENCE_WATCH_SEC: Final = 3
"""The server's bookmark comes two seconds before the end, so this is the shortest that has one."""
FEW_REVISIONS: Final = 2
"""So many revisions are read by exact LISTs: no more requests than a watch, and no waiting."""
_FEW_OBJECTS: Final = 4_000
GONE_SEC: Final = 3.0
"""So long a kind may be answered with 404 (a definition that is just being replaced is)."""
_NOT_FOUND: Final = 404
_GRACE_SEC: Final = 1.0
_LOOK_SEC: Final = 0.25
_LONGEST_ANSWER_SEC: Final = 10.0

_WITHOUT_BOOKMARKS: Final = frozenset({("", "events"), ("events.k8s.io", "events")})


class Fence:
    """One fence of one stream.

    Args:
        stream: The stream.
        context: What all streams share.
        deadline: Monotonic seconds at which it gives up.
        stopping: Ends it early.
        few: How many revisions may be read by exact LISTs instead of waiting for a bookmark.

    Attributes:
        written_rv: The newest write that the LIST shows and the stream had not brought; 0 for none.
    """

    def __init__(
        self,
        stream: WatchStream,
        context: StreamContext,
        deadline: float,
        stopping: threading.Event,
        few: int = FEW_REVISIONS,
    ) -> None:
        self.written_rv = 0
        self._few = few
        self._stream = stream
        self._context = context
        self._deadline = deadline
        self._stopping = stopping
        self._rv: int | None = None
        self._requests = 0
        self._reached = threading.Event()
        self._trouble = "no try was finished"
        self._watching: Connection | None = None
        self._gone_since: float | None = None

    def run(self) -> StreamFence:
        """Try until the fence is reached or the deadline has come; never raises."""
        started = self._context.clock.monotonic()
        backoff = Backoff()
        how: str | None = None
        while how is None and not self._over() and not self._is_gone():
            delay = backoff.next()
            try:
                how = self._try_once()
            except ApiError as exc:
                self._note(exc)
                delay = max(delay, exc.retry_after_sec or 0.0)
            except ClusterError as exc:
                self._trouble = str(exc)
            if how is None:
                self._pause(delay)
        elapsed = self._context.clock.monotonic() - started
        key = str(self._stream.key)
        if how is None and self._reached.is_set():
            how = "its own watch has come so far"
        if how is not None and not self._whole():
            # A gap that is still being mended may leave a hole below the fence.
            how, self._trouble = None, f"the stream is not whole: {self._stream.trouble}"
        if how is None:
            return StreamFence(key, False, self._rv, self._trouble, elapsed, self._requests)
        return StreamFence(key, True, self._rv, how, elapsed, self._requests)

    def _note(self, failure: ApiError) -> None:
        self._trouble = f"HTTP {failure.status}: {failure}"
        if failure.status != _NOT_FOUND:
            self._gone_since = None
        elif self._gone_since is None:
            self._gone_since = self._context.clock.monotonic()

    def _is_gone(self) -> bool:
        """Return whether the kind is not served any more: waiting longer would prove no more."""
        since = self._gone_since
        return since is not None and self._context.clock.monotonic() - since >= GONE_SEC

    def _try_once(self) -> str | None:
        left = self._deadline - self._context.clock.monotonic()
        connection = self._context.connect(min(_LONGEST_ANSWER_SEC, max(0.1, left)))
        try:
            return self._on(connection)
        finally:
            self._requests += connection.requests
            with contextlib.suppress(OSError):  # it is being thrown away
                connection.close()

    def _on(self, connection: Connection) -> str | None:
        judge, key = self._context.judge, self._stream.key
        listing = read_list(connection, key.path, {})
        self._gone_since = None
        if self._rv is None:
            # The first answer says where the turn ended; later ones only serve to get there.
            self._rv = listing.rv
            judge.when_passed(key, listing.rv, self._has_reached)
        held = self._held()
        if self._reached.is_set():
            return "its own watch had come so far already"
        if listing.rv < held.rv:
            self._trouble = f"the server is at {listing.rv}, but had sent {held.rv}"
            return None
        if not self._stream.opened.is_set():
            self._stream.hurry()
            self._trouble = f"the stream is not whole: {self._stream.trouble}"
            return None
        versions = [parse_version(obj.resource_version) or 0 for obj in listing.objects]
        self.written_rv = max((rv for rv in versions if rv > held.rv), default=0)
        return self._prove(connection, held, listing)

    def _prove(self, connection: Connection, held: Held, listing: ObjectList) -> str | None:
        judge, clock = self._context.judge, self._context.clock
        key = self._stream.key
        if _unchanged(held, listing):
            judge.listed(key, listing, clock.monotonic())
            return self._confirmed("the objects that are read were not written since")
        behind = listing.rv - held.rv
        few = behind <= self._few and behind * len(listing.objects) <= _FEW_OBJECTS
        if few or (key.resource.group, key.resource.resource) in _WITHOUT_BOOKMARKS:
            for rv in range(held.rv + 1, listing.rv):
                if self._over():
                    return None
                exact = read_exact(connection, key.path, rv)
                judge.listed(key, exact, clock.monotonic())
            judge.listed(key, listing, clock.monotonic())
            how = "1 revision was" if behind == 1 else f"{behind} revisions were"
            return self._confirmed(f"{how} read by exact LISTs")
        return self._watch(connection, held.rv)

    def _watch(self, connection: Connection, rv: int) -> str | None:
        source = Source(self._stream.key, connection.close_now)
        query = {
            "resourceVersion": str(rv),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(FENCE_WATCH_SEC),
        }
        lines = connection.watch(self._stream.key.path, query, idle_sec=FENCE_WATCH_SEC + 5.0)
        self._watching = connection
        try:
            if self._reached.is_set():
                connection.close_now()
            for line in lines:
                self._context.judge.line(source, line, self._context.clock.monotonic())
                if source.waiting_bytes > MANY_BYTES:
                    self._trouble = TOO_MUCH
                    break
        except ApiUnavailableError as exc:
            self._trouble = str(exc)
        finally:
            self._watching = None
        self._held()
        if self._reached.is_set():
            return "a watch over the LIST's connection has come so far"
        if source.failure is not None:
            self._trouble = str(source.failure)
            if getattr(source.failure, "code", None) == GONE:
                self._stream.cut("a watch from where the stream stands is answered with 410")
        return None

    def _whole(self) -> bool:
        """Wait until the stream is whole, which is when every hole was told of."""
        while True:
            self._stream.hurry()
            left = self._deadline - self._context.clock.monotonic()
            if self._context.clock.wait(self._stream.opened, max(0.0, min(_LOOK_SEC, left))):
                return True
            if left <= 0.0 or self._stopping.is_set():
                return False

    def _confirmed(self, how: str) -> str | None:
        """Wait until the judge has judged what was queued; it then calls back."""
        self._held()
        return how if self._reached.is_set() else None

    def _held(self) -> Held:
        left = self._deadline - self._context.clock.monotonic()
        return self._context.judge.held(self._stream.key, max(_LOOK_SEC, left))

    def _has_reached(self) -> None:
        self._reached.set()
        watching = self._watching
        if watching is not None:
            watching.close_now()

    def _over(self) -> bool:
        return (
            self._stopping.is_set()
            or self._reached.is_set()
            or self._context.clock.monotonic() >= self._deadline
        )

    def _pause(self, seconds: float) -> None:
        left = self._deadline - self._context.clock.monotonic()
        self._context.clock.wait(self._reached, max(0.0, min(seconds, left)))


def _unchanged(held: Held, listing: ObjectList) -> bool:
    if held.named is None:
        return False
    found = {(obj.namespace, obj.name): (obj.uid, obj.resource_version) for obj in listing.objects}
    return all(found.get(key) == value for key, value in held.named.items())


def run_fences(
    streams: list[WatchStream],
    context: StreamContext,
    timeout_sec: float,
    stopping: threading.Event,
) -> list[StreamFence]:
    """Fence several streams at once.

    Args:
        streams: The streams.
        context: What they share.
        timeout_sec: Seconds after which a fence that is not reached is given up; none or less than
            none means at once. A tenth of them is for answers that are under way then.
        stopping: Ends all of it early.

    Returns:
        One result per stream, in their order.
    """
    give_up_at = context.clock.monotonic() + timeout_sec
    deadline = give_up_at - min(_GRACE_SEC, 0.1 * max(0.0, timeout_sec))
    results: list[StreamFence | None] = [None] * len(streams)

    def work(place: int, stream: WatchStream) -> Callable[[], None]:
        def run() -> None:
            results[place] = Fence(stream, context, deadline, stopping).run()

        return run

    threads = [
        threading.Thread(target=work(place, stream), name=f"fence {stream.key}", daemon=True)
        for place, stream in enumerate(streams)
    ]
    for thread in threads:
        thread.start()
    ended: list[StreamFence] = []
    for place, thread in enumerate(threads):
        # A connection may hang for one request beyond the deadline; nobody waits for it then.
        thread.join(max(0.0, give_up_at - context.clock.monotonic()))
        late = StreamFence(
            str(streams[place].key),
            False,
            None,
            "no answer within the time allowed",
            max(0.0, timeout_sec),
            0,
        )
        ended.append(results[place] or late)
    return ended
