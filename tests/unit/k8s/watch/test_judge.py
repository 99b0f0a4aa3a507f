from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from devops_bench.core.errors import ApiUnavailableError
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.view import Matched, ResourceQuery, View
from devops_bench.k8s.watch.events import ErrorEvent, Malformed, ObjectList
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.merge import Merge
from devops_bench.k8s.watch.tables import Step
from devops_bench.k8s.watch.types import (
    NewGroup,
    NewStream,
    Source,
    StateInfo,
    StreamKey,
    Subscription,
)
from tests.unit.k8s.watch.objects import line, thing, value

A = StreamKey(ApiResource("", "v1", "as", "A", namespaced=True), "shop")
B = StreamKey(ApiResource("", "v1", "bs", "B", namespaced=True), "shop")
QUERY_A = ResourceQuery("as", "shop", name="it")
QUERY_B = ResourceQuery("bs", "shop", name="it")
ONE = Subscription("one", (QUERY_A,))
BOTH = Subscription("both", (QUERY_A, QUERY_B))


class Listener:
    def __init__(self) -> None:
        self.states: list[tuple[str, int, str, tuple[int, ...]]] = []
        self.gaps: list[tuple[str, Gap]] = []
        self.steps: list[tuple[str, int, int]] = []
        self.raise_at: int | None = None

    def on_state(self, subscription: str, view: View, state: StateInfo) -> None:
        if state.rv == self.raise_at:
            raise RuntimeError("the listener is broken")
        values: list[int] = []
        for query in (QUERY_A, QUERY_B) if subscription == "both" else (QUERY_A,):
            reading = view.read(query)
            assert isinstance(reading, Matched)
            values += [value(obj) for obj in reading.objects] or [-1]
        self.states.append((subscription, state.rv, state.origin, tuple(values)))

    def on_gap(self, subscription: str, gap: Gap) -> None:
        self.gaps.append((subscription, gap))

    def on_step(self, stream: str, step: Step, state: StateInfo) -> None:
        self.steps.append((stream, step.rv, len(step.updates)))


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def judge(listener: Listener) -> Iterator[Judge]:
    made = Judge(listener, listener)
    made.start()
    yield made
    assert made.stop(10)


def source(key: StreamKey, closed: threading.Event | None = None) -> Source:
    return Source(key, (closed or threading.Event()).set)


def add_both(judge: Judge) -> None:
    first = ObjectList(10, (thing("it", 5),))
    judge.add(
        [
            NewStream(A, (QUERY_A,), (ONE, BOTH), first, 0.0),
            NewStream(B, (QUERY_B,), (BOTH,), first, 0.0),
        ],
        [NewGroup((A, B), (BOTH,), 10)],
    )


def write(judge: Judge, key: StreamKey, rv: int, v: int) -> None:
    judge.line(source(key), line("MODIFIED", thing("it", rv, v=v).data), 0.0)


def test_a_stream_alone_is_shown_at_once_and_a_merged_one_when_it_is_certain(
    judge: Judge, listener: Listener
) -> None:
    add_both(judge)
    write(judge, A, 11, 1)
    judge.held(A)
    assert listener.states[2:] == [("one", 11, "event", (1,))]
    assert judge.behind() == [B]
    write(judge, B, 12, 2)
    judge.held(B)
    assert ("both", 11, "event", (1, 0)) in listener.states
    assert judge.behind() == [A]


def test_a_kind_is_not_taken_for_another_that_has_objects_of_the_same_name(
    judge: Judge, listener: Listener
) -> None:
    add_both(judge)
    write(judge, B, 11, 7)
    write(judge, A, 12, 8)
    write(judge, B, 13, 9)
    judge.held(B)
    assert [state[3] for state in listener.states if state[0] == "both"] == [
        (0, 0),
        (0, 7),
        (8, 7),
    ]


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"{", Malformed), (line("ERROR", {"code": 410, "message": "old"}), ErrorEvent)],
)
def test_lines_behind_one_that_failed_do_not_count(
    judge: Judge, listener: Listener, data: bytes, kind: type
) -> None:
    add_both(judge)
    closed = threading.Event()
    broken = source(A, closed)
    judge.line(broken, data, 0.0)
    judge.line(broken, line("MODIFIED", thing("it", 12, v=1).data), 0.0)
    assert judge.held(A).rv == 10
    assert isinstance(broken.failure, kind)
    assert closed.is_set()


def test_behind_a_hole_everybody_is_shown_the_state_once(judge: Judge, listener: Listener) -> None:
    add_both(judge)
    write(judge, A, 15, 1)
    judge.jumped(B, ObjectList(20, (thing("it", 5),)), 0.0)
    write(judge, A, 25, 2)
    judge.held(A)
    merged = [state for state in listener.states if state[0] == "both"]
    assert merged == [("both", 10, "baseline", (0, 0)), ("both", 20, "event", (1, 0))]


def test_a_state_inside_a_hole_is_not_shown_again_either(judge: Judge, listener: Listener) -> None:
    add_both(judge)
    judge.jumped(B, ObjectList(20, (thing("it", 5),)), 0.0)
    write(judge, A, 15, 1)
    judge.held(A)
    shown = len(listener.states)
    judge.again("both")
    judge.held(A)
    assert listener.states[shown:] == []
    judge.again("one")
    judge.held(A)
    assert listener.states[shown:] == [("one", 15, "again", (1,))]


def test_gaps_reach_everybody_who_reads_the_stream(judge: Judge, listener: Listener) -> None:
    add_both(judge)
    gap = Gap("as", 1, "cut", 10, None, 0.0, None, False, "")
    judge.gap(A, gap)
    judge.gap(B, gap)
    judge.held(A)
    assert [name for name, _ in listener.gaps] == ["one", "both", "both"]


def test_a_fence_is_called_back_when_its_revision_was_judged(
    judge: Judge, listener: Listener
) -> None:
    add_both(judge)
    reached = threading.Event()
    judge.when_passed(A, 12, reached.set)
    write(judge, A, 11, 1)
    judge.held(A)
    assert not reached.is_set()
    bookmark = line("BOOKMARK", {"metadata": {"resourceVersion": "12"}})
    judge.line(source(A), bookmark, 0.0)
    assert reached.wait(10)


def test_what_the_listener_does_not_survive_is_never_silent(
    judge: Judge, listener: Listener
) -> None:
    add_both(judge)
    listener.raise_at = 11
    write(judge, A, 11, 1)
    write(judge, A, 12, 2)
    judge.held(A)
    assert judge.failure is not None
    assert "the listener is broken" in judge.failure


def test_the_recorder_is_told_only_of_what_is_read(judge: Judge, listener: Listener) -> None:
    add_both(judge)
    judge.line(source(A), line("ADDED", thing("other", 11).data), 0.0)
    write(judge, A, 12, 1)
    judge.held(A)
    assert listener.steps == [(str(A), 10, 1), (str(B), 10, 1), (str(A), 12, 1)]


def test_a_judge_that_has_ended_answers_nobody() -> None:
    judge = Judge(Listener())
    judge.start()
    assert judge.stop(10)
    with pytest.raises(ApiUnavailableError, match="stopped"):
        judge.held(A)


def test_what_does_not_exist_is_shown_again_until_it_appears(
    judge: Judge, listener: Listener
) -> None:
    """B stands for the definitions; the kind that is waited for becomes stream A."""
    judge.add_absent([ONE], B, 0.0)
    judge.add([NewStream(B, (QUERY_B,), (), ObjectList(10, ()), 0.0)])
    judge.again("one")
    judge.held(B)
    assert listener.states == [("one", 0, "baseline", (-1,)), ("one", 10, "again", (-1,))]
    judge.add([NewStream(A, (QUERY_A,), (ONE,), ObjectList(11, ()), 0.0)])
    judge.again("one")
    judge.held(A)
    assert listener.states[2:] == [("one", 11, "baseline", (-1,)), ("one", 11, "again", (-1,))]


def test_states_that_are_too_many_to_wait_are_a_gap(
    judge: Judge, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devops_bench.k8s.watch.judge.Merge", partial(Merge, many_states=3))
    add_both(judge)
    for rv in range(11, 16):
        write(judge, A, rv, rv)
    judge.held(A)
    ((name, gap),) = listener.gaps
    assert (name, gap.closed, gap.from_rv, gap.to_rv) == ("both", False, 10, 14)
    assert str(B) in gap.cause
    write(judge, B, 20, 1)
    judge.held(B)
    merged = [state for state in listener.states if state[0] == "both"]
    assert merged[1:] == [
        ("both", 14, "event", (14, 0)),
        ("both", 15, "event", (15, 0)),
    ]


def test_a_judge_that_is_behind_is_not_waited_for_any_longer(
    judge: Judge, listener: Listener
) -> None:
    add_both(judge)
    busy, free = threading.Event(), threading.Event()

    def work() -> None:
        busy.set()
        free.wait(30)

    judge.submit(work)
    assert busy.wait(10)
    with pytest.raises(ApiUnavailableError, match="not judged in time"):
        judge.held(A, 0.1)
    free.set()
    assert judge.held(A).rv == 10


def test_how_much_of_a_connection_waits_is_known(judge: Judge, listener: Listener) -> None:
    add_both(judge)
    one, data = source(A), line("MODIFIED", thing("it", 11, v=1).data)
    free = threading.Event()

    def work() -> None:
        free.wait(30)

    judge.submit(work)
    judge.line(one, data, 0.0)
    assert one.waiting_bytes == len(data)
    free.set()
    judge.held(A)
    assert one.waiting_bytes == 0
