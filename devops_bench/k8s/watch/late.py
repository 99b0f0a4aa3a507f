"""Subscriptions whose kind did not exist at the baseline, from then on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

from devops_bench.core.errors import ClusterError
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import Unreadable, View
from devops_bench.k8s.watch.appear import CRD_QUERY, Ambiguous, Appeared, AppearingKinds
from devops_bench.k8s.watch.front import CRD_SUBSCRIPTION
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.identity import Facts, remote_service
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.plan import Resolved, waits_for_kind
from devops_bench.k8s.watch.types import StateInfo, StreamKey, Subscription

WatchNow = Callable[[StreamKey, Appeared, Sequence[Subscription], float], bool]
"""Starts the stream of a kind that has appeared, for some subscriptions, at a time; returns whether
it did: a stream that is there already cannot be watched anew for somebody else."""

_STREAM: Final = "kinds"


class LateKinds:
    """Finds out when the kinds appear, and tells what about that is not known.

    Args:
        subscriptions: All that is wanted.
        resolved: What each kind is at the baseline.
        judge: Who shows what there is to see.
        watch_now: Starts to watch a kind; called on the judge's thread.
    """

    def __init__(
        self,
        subscriptions: Sequence[Subscription],
        resolved: Resolved,
        judge: Judge,
        watch_now: WatchNow,
    ) -> None:
        self._absent = tuple(item for item in subscriptions if waits_for_kind(item, resolved))
        self._kinds = AppearingKinds(frozenset(item.queries[0].kind for item in self._absent))
        self._judge = judge
        self._watch_now = watch_now
        self._numbers = itertools.count(2)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the subscriptions."""
        return tuple(item.id for item in self._absent)

    def wanted(self) -> list[Subscription]:
        """Return what has to be watched to find out: nothing where all kinds exist."""
        return [Subscription(CRD_SUBSCRIPTION, (CRD_QUERY,))] if self._absent else []

    def begin(self, definitions: StreamKey, at_sec: float) -> None:
        """Show that nothing matches; before the baseline of the definitions is shown."""
        self._judge.add_absent(self._absent, definitions, at_sec)

    def give_up(self, why: str) -> dict[str, str]:
        """Watch nothing, because the definitions cannot be; return why, by subscription."""
        given_up = dict.fromkeys(self.ids, f"its kind may appear, and {why}")
        self._absent = ()
        return given_up

    def definitions_moved(self, view: View, state: StateInfo) -> None:
        """Look at the next state of the definitions; on the judge's thread."""
        appeared: dict[StreamKey, list[tuple[Appeared, Subscription]]] = {}
        for news in self._kinds.look(view, state.rv):
            readers = [item for item in self._absent if item.queries[0].kind == news.kind]
            if isinstance(news, Ambiguous):
                why = (
                    f"two kinds are called {news.kind}: {news.first}, which is watched, and "
                    f"{news.second}; give the group as well, e.g. {news.first}"
                )
                self._tell(readers, why, state)
                continue
            for item in readers:
                namespace = item.queries[0].namespace if news.resource.namespaced else None
                key = StreamKey(news.resource, namespace)
                appeared.setdefault(key, []).append((news, item))
        for key, found in appeared.items():
            members = [item for _, item in found]
            if not self._watch_now(key, found[0][0], members, state.at_sec):
                self._tell(members, f"{key} is called like this only since the baseline", state)

    def definitions_gap(self, gap: Gap) -> None:
        """Tell of a gap of the definitions: one that was missed may have been a kind's life."""
        for item in self._absent:
            self._judge.tell(item.id, gap)

    def uncertain(
        self,
        discovery: Discovery,
        read_facts: Callable[[Sequence[ApiResource]], Facts],
        since_sec: float,
        timeout_sec: float,
    ) -> dict[str, str]:
        """Return the subscriptions of which it is not known what their word means, and why.

        They are also told of it. What appears through an APIService is in no definition.

        Args:
            discovery: Resolves kinds.
            read_facts: Looks who serves some kinds.
            since_sec: Monotonic seconds from when on that is so.
            timeout_sec: Seconds that discovery may take, > 0.
        """
        if not self._absent:
            return {}
        kinds = [item.queries[0].kind for item in self._absent]
        found = discovery.resolve_all(kinds, timeout_sec, fresh=True)
        uncertain: dict[str, str] = {}
        for item in self._absent:
            why = self._why_uncertain(item.queries[0].kind, found, read_facts)
            if why is not None:
                uncertain[item.id] = why
                gap = Gap(_STREAM, 1, why, 0, None, since_sec, None, False, "not closed")
                self._judge.tell(item.id, gap)
        return uncertain

    def _why_uncertain(
        self,
        kind: str,
        found: Resolved,
        read_facts: Callable[[Sequence[ApiResource]], Facts],
    ) -> str | None:
        answer, meant = found[kind], self._kinds.meaning(kind)
        if isinstance(answer, Unreadable):
            return answer.reason
        if not isinstance(answer, ApiResource) or str(answer) == str(meant):
            return None
        if meant is not None:
            return f"{kind} means {answer} now, and {meant} was watched"
        if not _by_definition(answer, read_facts):
            return f"{answer} has appeared without a CustomResourceDefinition"
        # Its definition was written after the fence.
        return None

    def _tell(self, readers: Sequence[Subscription], why: str, state: StateInfo) -> None:
        # The state itself is in the gap: it may be the turn's last.
        number, before = next(self._numbers), state.rv - 1
        gap = Gap(_STREAM, number, why, before, None, state.at_sec, None, False, "not closed")
        for item in readers:
            self._judge.tell(item.id, gap)


def _by_definition(
    resource: ApiResource, read_facts: Callable[[Sequence[ApiResource]], Facts]
) -> bool:
    """Return whether a CustomResourceDefinition is behind a kind: then its stream tells."""
    try:
        facts = read_facts([resource])
    except ClusterError:
        return False
    return facts.definitions.get(resource) is not None and remote_service(facts, resource) is None
