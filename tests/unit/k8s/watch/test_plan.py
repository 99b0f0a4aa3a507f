from __future__ import annotations

import pytest

from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import ResourceQuery, UnknownKind, Unreadable
from devops_bench.k8s.watch.identity import Facts, Served
from devops_bench.k8s.watch.plan import Plan, Resolved, make_plan, queries_on
from devops_bench.k8s.watch.types import StreamKey, Subscription

VERBS = ("get", "list", "watch")
PODS = ApiResource("", "v1", "pods", "Pod", namespaced=True, verbs=VERBS)
NODES = ApiResource("", "v1", "nodes", "Node", namespaced=False, verbs=VERBS)
METRICS = ApiResource("m.k8s.io", "v1", "pods", "PodMetrics", namespaced=True, verbs=VERBS)
REVIEWS = ApiResource("", "v1", "reviews", "Review", namespaced=True, verbs=("create",))
RESOLVED: Resolved = {
    "pod": PODS,
    "node": NODES,
    "metric": METRICS,
    "review": REVIEWS,
    "gizmo": UnknownKind("the server has no kind gizmo"),
    "dark": Unreadable("discovery failed"),
}
FACTS = Facts("uid", {"m.k8s.io/v1": Served("u", "1", "kube-system/metrics", False)}, {}, 2)


def subscription(*queries: ResourceQuery, may_appear: bool = False) -> Subscription:
    return Subscription("it", queries, may_appear)


def plan(*subscriptions: Subscription) -> Plan:
    return make_plan(subscriptions, RESOLVED, FACTS)


def test_up_to_three_namespaces_are_streams_of_their_own() -> None:
    queries = [ResourceQuery("pod", f"ns{number}") for number in range(3)]
    assert plan(subscription(*queries)).keys() == tuple(
        StreamKey(PODS, f"ns{number}") for number in range(3)
    )


def test_more_are_one_stream_unless_that_is_forbidden() -> None:
    queries = [ResourceQuery("pod", f"ns{number}") for number in range(4)]
    it = subscription(*queries)
    assert plan(it).keys() == (StreamKey(PODS, None),)
    narrow = make_plan([it], RESOLVED, FACTS, narrow={PODS})
    assert len(narrow.keys()) == 4


def test_who_reads_all_namespaces_shares_the_stream() -> None:
    one = Subscription("one", (ResourceQuery("pod", "a", name="x"),))
    all_of_them = Subscription("all", (ResourceQuery("pod"),))
    both = plan(one, all_of_them)
    key = StreamKey(PODS, None)
    assert both.keys() == (key,)
    assert list(queries_on(key, [one, all_of_them], RESOLVED, both)) == [
        *one.queries,
        *all_of_them.queries,
    ]


def test_a_cluster_scoped_kind_has_one_stream_whatever_namespace_is_given() -> None:
    assert plan(subscription(ResourceQuery("node", "default"))).keys() == (StreamKey(NODES, None),)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("review", "no such verb"),
        ("metric", "Service kube-system/metrics"),
        ("gizmo", "no kind gizmo"),
        ("dark", "discovery failed"),
    ],
)
def test_what_cannot_be_watched_is_sampled_and_says_why(kind: str, reason: str) -> None:
    made = plan(subscription(ResourceQuery("pod", "a"), ResourceQuery(kind, "a")))
    assert made.streams == {}
    assert reason in made.sampled["it"]


def test_a_kind_that_may_appear_is_waited_for_only_on_its_own() -> None:
    gizmo = ResourceQuery("gizmo", "a")
    assert plan(subscription(gizmo, may_appear=True)).absent == ("it",)
    together = plan(subscription(gizmo, ResourceQuery("pod", "a"), may_appear=True))
    assert together.absent == ()
    assert "on its own" in together.sampled["it"]


def test_a_kind_that_could_not_be_looked_up_does_not_count_as_absent() -> None:
    made = plan(subscription(ResourceQuery("dark", "a"), may_appear=True))
    assert made.absent == ()
    assert made.sampled == {"it": "discovery failed"}
