from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, ResourceQuery, Unreadable
from devops_bench.k8s.watch.events import ObjectEvent
from devops_bench.k8s.watch.store import StreamStore
from tests.unit.k8s.watch.objects import removed, thing, written

ALL = ResourceQuery("things")
IN_SHOP = ResourceQuery("things", namespace="shop")
WEB = ResourceQuery("things", namespace="shop", name="web")
RED = ResourceQuery("things", namespace="shop", selector="color=red")
QUERIES = (ALL, IN_SHOP, WEB, RED)


def names(store: StreamStore, query: ResourceQuery) -> list[str]:
    reading = store.tables.read(query)
    assert isinstance(reading, Matched)
    return [f"{obj.namespace}/{obj.name}" for obj in reading.objects]


def test_each_query_sees_only_what_it_asks_for_in_order() -> None:
    store = StreamStore(QUERIES, namespaced=True)
    for rv, (name, namespace, color) in enumerate(
        [("web", "shop", "red"), ("api", "shop", "blue"), ("web", "bank", "red")], start=1
    ):
        store.apply(written(thing(name, rv, namespace=namespace, labels={"color": color})))
    assert names(store, ALL) == ["bank/web", "shop/api", "shop/web"]
    assert names(store, IN_SHOP) == ["shop/api", "shop/web"]
    assert names(store, WEB) == ["shop/web"]
    assert names(store, RED) == ["shop/web"]


def test_an_object_that_changes_its_labels_leaves_the_query() -> None:
    store = StreamStore([RED], namespaced=True)
    store.apply(written(thing("web", 1, labels={"color": "red"})))
    step = store.apply(written(thing("web", 2, labels={"color": "blue"})))
    assert step is not None
    assert [update.object for update in step.updates] == [None]
    assert names(store, RED) == []


def test_a_write_that_no_query_reads_is_a_step_without_updates() -> None:
    store = StreamStore([WEB], namespaced=True)
    step = store.apply(written(thing("api", 5)))
    assert step is not None
    assert (step.rv, step.updates, store.rv) == (5, (), 5)


def test_a_write_behind_a_bookmark_is_a_duplicate() -> None:
    store = StreamStore([ALL], namespaced=True)
    store.advance(10)
    assert store.apply(written(thing("web", 10))) is None
    assert names(store, ALL) == []


def test_an_exact_list_finds_what_went_and_what_reads_differently() -> None:
    store = StreamStore([ALL], namespaced=True)
    store.replace([thing("a", 1), thing("b", 2), thing("c", 3)], 3)
    step = store.replace([thing("b", 2), thing("c", 3, v=9), thing("d", 7)], 8)
    assert step is not None
    changed = {update.key[1]: update.object is not None for update in step.updates}
    assert changed == {"a": False, "c": True, "d": True}


def test_of_a_cluster_scoped_kind_the_namespace_means_nothing() -> None:
    store = StreamStore([IN_SHOP], namespaced=False)
    store.apply(written(thing("node", 1, namespace="")))
    assert names(store, IN_SHOP) == ["/node"]


def test_unchanged_named_objects_are_a_proof_and_absent_ones_are_not() -> None:
    store = StreamStore([WEB], namespaced=True)
    assert store.only_named() is None
    store.apply(written(thing("web", 4)))
    assert store.only_named() == {("shop", "web"): ("uid-web", "4")}
    assert StreamStore([IN_SHOP], namespaced=True).only_named() is None


def test_a_query_that_was_not_declared_is_unreadable() -> None:
    assert isinstance(StreamStore([WEB], namespaced=True).tables.read(RED), Unreadable)


WRITE = st.tuples(
    st.sampled_from(["web", "api", "db"]),
    st.sampled_from(["shop", "bank"]),
    st.sampled_from(["red", "blue", "gone"]),
)


def history(writes: list[tuple[str, str, str]]) -> tuple[list[ObjectEvent], list[list[KubeObject]]]:
    """Return the events of some writes, and every state from the empty one on."""
    live: dict[tuple[str, str], KubeObject] = {}
    events: list[ObjectEvent] = []
    states: list[list[KubeObject]] = [[]]
    for name, namespace, color in writes:
        rv = len(events) + 1
        old = live.get((namespace, name))
        if color == "gone" and old is None:
            continue
        if color == "gone" and old is not None:
            del live[namespace, name]
            events.append(removed(old, rv))
        else:
            obj = thing(name, rv, namespace=namespace, labels={"color": color})
            live[namespace, name] = obj
            events.append(written(obj))
        states.append(list(live.values()))
    return events, states


def expected(state: list[KubeObject]) -> dict[ResourceQuery, list[str]]:
    shop = sorted((o for o in state if o.namespace == "shop"), key=lambda o: o.name)
    return {
        ALL: sorted(f"{obj.namespace}/{obj.name}" for obj in state),
        IN_SHOP: [f"shop/{obj.name}" for obj in shop],
        WEB: [f"shop/{obj.name}" for obj in shop if obj.name == "web"],
        RED: [f"shop/{obj.name}" for obj in shop if obj.labels["color"] == "red"],
    }


@given(st.lists(WRITE, max_size=30), st.data())
def test_two_connections_together_give_every_state_once_and_in_order(
    writes: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    events, states = history(writes)
    store = StreamStore(QUERIES, namespaced=True)
    seen = 0
    sources = [iter(events), iter(events)]
    while sources:
        source = data.draw(st.sampled_from(sources))
        event = next(source, None)
        if event is None:
            sources.remove(source)
            continue
        if store.apply(event) is not None:
            seen += 1
            assert {query: names(store, query) for query in QUERIES} == expected(states[seen])
    assert seen == len(events)


@given(st.lists(WRITE, max_size=30), st.integers(min_value=0, max_value=30))
def test_a_stretch_read_by_exact_lists_is_the_same_as_a_watched_one(
    writes: list[tuple[str, str, str]], switch: int
) -> None:
    events, states = history(writes)
    watched, mixed = StreamStore(QUERIES, namespaced=True), StreamStore(QUERIES, namespaced=True)
    for event in events:
        one = watched.apply(event)
        two = (
            mixed.apply(event) if event.rv <= switch else mixed.replace(states[event.rv], event.rv)
        )
        assert one is not None
        assert two is not None
        changed = [
            {(u.query, u.key, u.object is None) for u in step.updates} for step in (one, two)
        ]
        assert changed[0] == changed[1]
        assert {q: names(watched, q) for q in QUERIES} == {q: names(mixed, q) for q in QUERIES}
