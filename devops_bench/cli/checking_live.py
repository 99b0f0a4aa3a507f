"""``check`` on a cluster: what would be watched, and ``--watch``."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from devops_bench.cli.errors import printable
from devops_bench.cli.output import write_report
from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.hold import _default_poll_interval
from devops_bench.evalharness.trial import try_entry
from devops_bench.evalharness.watching import Assignment, EntryWatch, Watch
from devops_bench.k8s.client import connect
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.reader import LiveReader
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.types import Listener, Recorder, StateInfo
from devops_bench.k8s.watch.watcher import Watcher
from devops_bench.results.evidence.records import NullSink
from devops_bench.tasks.model import Task
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

if TYPE_CHECKING:
    from devops_bench.cli.checking import Tried

START_TIMEOUT_SEC = 30.0
"""What opening the streams may take."""


class _News(NamedTuple):
    """Something that a watch brought."""

    task_id: str
    entry: str
    result: VerificationResult | None
    state: StateInfo | None
    gap: Gap | None


class Live:
    """A cluster to judge on.

    Args:
        kubeconfig: The file, ``None`` for the default files.
        context: The context, ``None`` for the current one.

    Attributes:
        source: Where views come from.

    Raises:
        InvalidInputError: The kubeconfig or the context is wrong.
        ClusterError: The cluster does not answer.
    """

    def __init__(self, kubeconfig: Path | None, context: str | None) -> None:
        self._client = connect(kubeconfig, context)
        self._discovery = Discovery(self._client)
        self.source = LiveReader(self._client, self._discovery)
        self._news: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._watches: list[EntryWatch] = []

    def __enter__(self) -> Live:
        """Return the cluster itself."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the connections."""
        for watch in self._watches:
            watch.stop(5.0)
        self._client.close()

    def assignment(self, entries: Sequence[VerificationEntry]) -> Assignment:
        """Return what would be watched, found out by watching for a moment."""
        watch = self._watch("", entries)
        try:
            return watch.start(START_TIMEOUT_SEC)
        finally:
            watch.stop(5.0)
            while not self._news.empty():
                self._news.get()

    def follow(self, tasks: Iterable[Task], tried: Sequence[Tried], *, as_json: bool) -> int:
        """Print what changes until Ctrl-C; return the exit code of what was seen last."""
        from devops_bench.cli.checking import exit_code

        newest: dict[tuple[str, str], str] = {
            (one.task_id, one.trial.entry.name): one.trial.result.status for one in tried
        }
        sampled: list[tuple[str, VerificationEntry]] = []
        for task in tasks:
            watch = self._watch(task.id, task.entries)
            self._watches.append(watch)
            watched = watch.start(START_TIMEOUT_SEC).watched
            sampled += [(task.id, one) for one in task.entries if one.name not in watched]
        try:
            for news in self._all_news(sampled):
                if news.result is not None:
                    key, status = (news.task_id, news.entry), news.result.status
                    if newest.get(key) == status:
                        continue  # the same verdict, if perhaps for another reason
                    newest[key] = status
                write_report(_line(news, as_json=as_json))
        except KeyboardInterrupt:
            pass  # this is how it is meant to end
        return exit_code(newest.values())

    def _all_news(self, sampled: Sequence[tuple[str, VerificationEntry]]) -> Iterator[_News]:
        due = dict.fromkeys(range(len(sampled)), 0.0)
        while True:
            now = SYSTEM_CLOCK.monotonic()
            wait = max(0.0, min(due.values()) - now) if due else None
            try:
                yield self._news.get(timeout=wait)
            except queue.Empty:
                for place, (task_id, entry) in enumerate(sampled):
                    if due[place] <= now:
                        interval = entry.hold_poll_interval_sec or _default_poll_interval()
                        due[place] = now + interval
                        result = try_entry(entry, self.source, interval).result
                        yield _News(task_id, entry.name, result, None, None)

    def _watch(self, task_id: str, entries: Sequence[VerificationEntry]) -> EntryWatch:
        return EntryWatch(
            entries,
            self._make_watcher,
            clock=SYSTEM_CLOCK,
            sink=NullSink(),
            name="turn",
            on_state=lambda name, result, state: self._news.put(
                _News(task_id, name, result, state, None)
            ),
            on_gap=lambda name, gap: self._news.put(_News(task_id, name, None, None, gap)),
        )

    def _make_watcher(self, listener: Listener, recorder: Recorder, clock: Clock) -> Watch:
        return Watcher(self._client, self._discovery, listener, recorder=recorder, clock=clock)


def _seen(news: _News) -> tuple[str, str]:
    return ("", "") if news.result is None else (news.result.status, news.result.reason)


def _line(news: _News, *, as_json: bool) -> str:
    fields: Mapping[str, str | int | None]
    if news.gap is not None:
        closed = "closed" if news.gap.closed else "open"
        fields = {"event": "gap", "status": closed, "reason": f"{news.gap.cause} ({news.gap.how})"}
    else:
        status, reason = _seen(news)
        rv = None if news.state is None else news.state.rv
        fields = {"event": "judged", "status": status, "reason": reason, "resource_version": rv}
    if as_json:
        body: JsonObject = {"task": news.task_id, "entry": news.entry, **fields}
        return json.dumps(body) + "\n"
    word = "gap" if news.gap is not None else str(fields["status"]).upper()
    brought = "" if news.state is None else f" (resourceVersion {news.state.rv})"
    return printable(f"{word:5} {news.entry}: {fields['reason']}{brought}") + "\n"
