"""The one thread that owns every store: it parses, applies, and shows each state."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import structlog

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiUnavailableError
from devops_bench.k8s.view import View
from devops_bench.k8s.watch.events import BookmarkEvent, ObjectEvent, ObjectList, parse_line
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.judged import Group, JudgedStream, Readers
from devops_bench.k8s.watch.merge import Merge
from devops_bench.k8s.watch.store import StreamStore
from devops_bench.k8s.watch.tables import Step, Tables
from devops_bench.k8s.watch.types import (
    Held,
    Listener,
    NewGroup,
    NewStream,
    Recorder,
    Source,
    StateInfo,
    StreamKey,
    Subscription,
)

log = structlog.get_logger(__name__)

T = TypeVar("T")

_LOOK_SEC = 0.5


class _Line(NamedTuple):
    source: Source
    data: bytes
    at_sec: float


class _Reply(Generic[T]):
    """The answer to a question that another thread asked the judge."""

    def __init__(self, run: Callable[[], T]) -> None:
        self._run = run
        self.done = threading.Event()
        self.values: list[T] = []

    def __call__(self) -> None:
        try:
            self.values.append(self._run())
        finally:
            self.done.set()


class Judge:
    """Applies what the streams bring, in order, and shows it.

    Methods may be called from any thread; what they ask for is done on the judge's own thread, in
    the order of the calls.

    Args:
        listener: Who is shown every state.
        recorder: Who writes down what was seen, if anybody.
        clock: Where times come from.

    Attributes:
        failure: Why the judge cannot vouch for anything any more; ``None`` while it can.
    """

    def __init__(
        self, listener: Listener, recorder: Recorder | None = None, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.failure: str | None = None
        self._listener = listener
        self._recorder = recorder
        self._clock = clock
        self._queue: queue.SimpleQueue[_Line | Callable[[], None] | None] = queue.SimpleQueue()
        self._streams: dict[StreamKey, JudgedStream] = {}
        self._groups: list[Group] = []
        self._absent: dict[str, tuple[StreamKey, Tables]] = {}
        self._thread = threading.Thread(target=self._run, name="safeguard-monitor", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_sec: float) -> bool:
        """End the thread when everything queued is done; return whether it ended in time."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(max(0.0, timeout_sec))
        return not self._thread.is_alive()

    def backlog(self) -> int:
        """Return about how many lines wait."""
        return self._queue.qsize()

    def line(self, source: Source, data: bytes, at_sec: float) -> None:
        """Queue one line of a watch."""
        source.queued_bytes += len(data)
        self._queue.put(_Line(source, data, at_sec))

    def submit(self, run: Callable[[], None]) -> None:
        """Queue something to be done on the judge's thread."""
        self._queue.put(run)

    def ask(self, run: Callable[[], T], timeout_sec: float = math.inf) -> T:
        """Have something done on the judge's thread, after all that is queued; wait for it.

        Args:
            run: What.
            timeout_sec: Seconds to wait at most.

        Raises:
            ApiUnavailableError: The judge has ended or failed, or has not come so far in time.
        """
        reply = _Reply(run)
        self.submit(reply)
        deadline = self._clock.monotonic() + timeout_sec
        while not self._clock.wait(reply.done, _LOOK_SEC):
            if not self._thread.is_alive():
                raise ApiUnavailableError("the watcher was stopped")
            if self._clock.monotonic() >= deadline:
                raise ApiUnavailableError(
                    f"what was seen was not judged in time: about {self.backlog()} lines wait"
                )
        if not reply.values:
            raise ApiUnavailableError(self.failure or "the watcher failed")
        return reply.values[0]

    def held(self, key: StreamKey, timeout_sec: float = math.inf) -> Held:
        """Return how far a stream is known once everything that is queued was judged.

        Args:
            key: The stream.
            timeout_sec: Seconds to wait at most.

        Raises:
            ApiUnavailableError: The judge has ended or failed, or has not come so far in time.
        """

        def look() -> Held:
            store = self._streams[key].store
            return Held(store.rv, store.only_named())

        return self.ask(look, timeout_sec)

    def add(self, streams: Sequence[NewStream], groups: Sequence[NewGroup] = ()) -> None:
        """Take in new streams and judge their baselines.

        Args:
            streams: The streams.
            groups: What is read together; every reader of more than one stream has to be in one.
        """
        self.submit(lambda: self._add(streams, groups))

    def listed(self, key: StreamKey, listing: ObjectList, at_sec: float) -> None:
        """Take in the state that an exact LIST shows; the revisions before it are known."""

        def run() -> None:
            stream = self._streams[key]
            step = stream.store.replace(listing.objects, listing.rv)
            if step is not None:
                self._stepped(key, stream, step, StateInfo(step.rv, at_sec, "repair"))
            self._moved(key, stream, at_sec)

        self.submit(run)

    def jumped(self, key: StreamKey, listing: ObjectList, at_sec: float) -> None:
        """Take in a LIST behind writes that are not known: all who read it are shown that state."""
        self.submit(lambda: self._jump(key, listing, at_sec))

    def gap(self, key: StreamKey, gap: Gap) -> None:
        """Tell everybody who reads the stream about a gap."""

        def run() -> None:
            for subscription in self._reading(key):
                self._listener.on_gap(subscription.id, gap)

        self.submit(run)

    def tell(self, subscription: str, gap: Gap) -> None:
        """Tell one subscription about a gap."""
        self.submit(lambda: self._listener.on_gap(subscription, gap))

    def add_absent(
        self, subscriptions: Sequence[Subscription], definitions: StreamKey, at_sec: float
    ) -> None:
        """Take in subscriptions whose kind does not exist: they are shown that nothing matches.

        One that is the reader of a stream later, because its kind has appeared, is absent no more.

        Args:
            subscriptions: Those.
            definitions: The stream of CustomResourceDefinitions, whose revision they are at.
            at_sec: Monotonic seconds when it was found that the kind does not exist.
        """

        def run() -> None:
            for item in subscriptions:
                view = Tables(item.queries)
                self._absent[item.id] = (definitions, view)
                self._listener.on_state(item.id, view, StateInfo(0, at_sec, "baseline"))

        self.submit(run)

    def when_passed(self, key: StreamKey, rv: int, then: Callable[[], None]) -> None:
        """Call ``then`` on the judge's thread as soon as everything up to ``rv`` was judged."""

        def run() -> None:
            stream = self._streams[key]
            stream.waiting.append((rv, then))
            self._moved(key, stream, None)

        self.submit(run)

    def again(self, subscription: str) -> None:
        """Show a subscription its newest judged state once more."""
        self.submit(lambda: self._again(subscription))

    def behind(self) -> list[StreamKey]:
        """Return the streams that merged states wait for."""
        return self.ask(
            lambda: [key for group in self._groups if group.merge for key in group.merge.behind()]
        )

    # From here on: only on the judge's thread.

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                if type(item) is _Line:
                    self._take(item)
                elif callable(item):
                    item()
            except Exception as exc:
                # Whatever it is, nothing that is judged from here on can be vouched for.
                if self.failure is None:
                    self.failure = f"the watcher failed: {type(exc).__name__}: {exc}"
                    log.exception("watch_judge_failed")

    def _take(self, line: _Line) -> None:
        source = line.source
        source.taken_bytes += len(line.data)
        if source.failure is not None:
            return
        stream = self._streams[source.stream]
        event = parse_line(line.data)
        if isinstance(event, ObjectEvent):
            source.rv = event.rv
            step = stream.store.apply(event)
            if step is not None:
                state = StateInfo(step.rv, line.at_sec, "event")
                self._stepped(source.stream, stream, step, state, len(line.data))
        elif isinstance(event, BookmarkEvent):
            source.rv = event.rv
            stream.store.advance(event.rv)
        else:
            source.failure = event
            source.close()
            return
        self._moved(source.stream, stream, line.at_sec)

    def _add(self, streams: Sequence[NewStream], new_groups: Sequence[NewGroup]) -> None:
        groups = [Group(group.keys, group.readers) for group in new_groups]
        together = {item.id for group in new_groups for item in group.readers}
        steps: dict[StreamKey, Step] = {}
        for new in streams:
            key, listing = new.key, new.listing
            store = StreamStore(new.queries, key.resource.namespaced)
            alone = [item for item in new.readers if item.id not in together]
            for item in new.readers:
                self._absent.pop(item.id, None)
            stream = JudgedStream(store, alone, [group for group in groups if key in group.streams])
            self._streams[key] = stream
            step = store.replace(listing.objects, listing.rv) or Step(listing.rv, ())
            steps[key] = step
            state = StateInfo(listing.rv, new.at_sec, "baseline")
            self._record(key, step, state)
            self._show(stream.readers, store.tables, range(len(alone)), state)
        for group, new_group in zip(groups, new_groups, strict=True):
            for key in new_group.keys:
                group.tables.apply(steps[key])
            group.merge = Merge(new_group.keys, new_group.rv)
            at_sec = max(new.at_sec for new in streams if new.key in new_group.keys)
            places = range(len(group.readers.all))
            state = StateInfo(new_group.rv, at_sec, "baseline")
            group.moved_sec = at_sec
            self._show(group.readers, group.tables, places, state)
        self._groups += groups

    def _stepped(
        self,
        key: StreamKey,
        stream: JudgedStream,
        step: Step,
        state: StateInfo,
        size: int = 0,
    ) -> None:
        if step.updates:
            self._record(key, step, state)
            places = stream.readers.touched(step)
            self._show(stream.readers, stream.store.tables, places, state)
        for group in stream.groups:
            if group.merge is not None:
                group.merge.push(key, step, size)

    def _jump(self, key: StreamKey, listing: ObjectList, at_sec: float) -> None:
        stream = self._streams[key]
        before = stream.store.rv
        step = stream.store.replace(listing.objects, listing.rv)
        if step is None:
            return
        state = StateInfo(step.rv, at_sec, "relist")
        self._record(key, step, state)
        places = range(len(stream.readers.all))
        self._show(stream.readers, stream.store.tables, places, state)
        for group in stream.groups:
            if group.merge is not None:
                group.merge.blind(before, step.rv)
                group.merge.push(key, step)
        self._moved(key, stream, at_sec)

    def _moved(self, key: StreamKey, stream: JudgedStream, at_sec: float | None) -> None:
        rv = stream.store.rv
        for group in stream.groups:
            if group.merge is not None:
                group.merge.passed(key, rv)
                self._drain(group, self._clock.monotonic() if at_sec is None else at_sec)
                self._relieve(group)
        if stream.waiting:
            due = [then for wanted, then in stream.waiting if wanted <= rv]
            stream.waiting = [item for item in stream.waiting if item[0] > rv]
            for then in due:
                then()

    def _drain(self, group: Group, at_sec: float) -> None:
        if group.merge is None:
            return
        for merged in group.merge.ready():
            group.moved_sec = at_sec
            for step in merged.steps:
                group.tables.apply(step)
                group.unseen.update(group.readers.touched(step))
            if merged.known:
                state = StateInfo(merged.rv, at_sec, "event")
                self._show(group.readers, group.tables, sorted(group.unseen), state)
                group.unseen.clear()

    def _relieve(self, group: Group) -> None:
        """Give up states that wait, where there are too many, and say so."""
        hole = None if group.merge is None else group.merge.give_up()
        if hole is not None:
            gap = group.gave_up(hole, self._clock.monotonic())
            log.warning("watch_states_given_up", streams=gap.stream, why=hole.why)
            for subscription in group.readers.all:
                self._listener.on_gap(subscription.id, gap)

    def _again(self, subscription: str) -> None:
        now = self._clock.monotonic()
        absent = self._absent.get(subscription)
        if absent is not None:
            definitions, view = absent
            state = StateInfo(self._streams[definitions].store.rv, now, "again")
            self._listener.on_state(subscription, view, state)
        for group in self._groups:
            for place, member in enumerate(group.readers.all):
                # Inside a gap the tables mix one stream's present with another's past.
                if member.id == subscription and group.merge is not None and not group.unseen:
                    state = StateInfo(group.merge.judged_rv, now, "again")
                    self._show(group.readers, group.tables, [place], state)
        for stream in self._streams.values():
            for place, member in enumerate(stream.readers.all):
                if member.id == subscription:
                    state = StateInfo(stream.store.rv, now, "again")
                    self._show(stream.readers, stream.store.tables, [place], state)

    def _show(self, readers: Readers, view: View, places: Iterable[int], state: StateInfo) -> None:
        for place in places:
            self._listener.on_state(readers.all[place].id, view, state)

    def _record(self, key: StreamKey, step: Step, state: StateInfo) -> None:
        if self._recorder is not None:
            self._recorder.on_step(str(key), step, state)

    def _reading(self, key: StreamKey) -> list[Subscription]:
        stream = self._streams[key]
        members = [*stream.readers.all]
        for group in stream.groups:
            members += group.readers.all
        return members
