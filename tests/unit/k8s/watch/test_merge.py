from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.k8s.view import Matched, ResourceQuery
from devops_bench.k8s.watch.merge import Merge
from devops_bench.k8s.watch.store import StreamStore
from devops_bench.k8s.watch.tables import Step, Tables
from tests.unit.k8s.watch.objects import thing, value, written

START = 100


@dataclass(frozen=True)
class Write:
    """Stream ``stream`` is set to ``v`` at the revision that is its place in the history."""

    stream: int
    v: int


class Watched:
    """One stream, its store, and what is still on its way."""

    def __init__(self, number: int) -> None:
        self.query = ResourceQuery(f"kind{number}", namespace="shop")
        self.store = StreamStore([self.query], namespaced=True, rv=START)
        self.line: list[tuple[int, int | None]] = []
        """Revision and value; a bookmark has no value."""


def deliver(watched: Watched, number: int, merge: Merge[int]) -> None:
    rv, v = watched.line.pop(0)
    if v is None:
        watched.store.advance(rv)
        merge.passed(number, rv)
        return
    step = watched.store.apply(written(thing("it", rv, v=v)))
    assert step is not None
    merge.push(number, step)


def picture(tables: Tables, streams: list[Watched]) -> tuple[int, ...]:
    values = []
    for stream in streams:
        reading = tables.read(stream.query)
        assert isinstance(reading, Matched)
        values.append(value(reading.objects[0]) if reading.objects else 0)
    return tuple(values)


def oracle(writes: list[Write], count: int) -> list[tuple[int, ...]]:
    """Every state that really existed, in order."""
    now = [0] * count
    states = []
    for write in writes:
        now[write.stream] = write.v
        states.append(tuple(now))
    return states


def histories(count: int) -> st.SearchStrategy[list[Write]]:
    write = st.builds(Write, st.integers(0, count - 1), st.integers(0, 2))
    return st.lists(write, max_size=25)


@settings(max_examples=1500, deadline=None)
@given(st.data(), st.integers(min_value=2, max_value=4))
def test_whatever_is_delayed_exactly_the_states_that_existed_are_judged(
    data: st.DataObject, count: int
) -> None:
    writes = data.draw(histories(count))
    streams = [Watched(number) for number in range(count)]
    for offset, write in enumerate(writes, start=1):
        streams[write.stream].line.append((START + offset, write.v))
    end = START + len(writes) + 1
    for number, stream in enumerate(streams):
        own = [place for place, write in enumerate(writes) if write.stream == number]
        marks = data.draw(st.lists(st.integers(START, end - 1), max_size=3))
        stream.line += [(mark, None) for mark in marks] + [(end, None)]
        stream.line.sort(key=lambda item: (item[0], item[1] is None))
        assert len([item for item in stream.line if item[1] is not None]) == len(own)
    merge = Merge(range(count), START)
    tables = Tables([stream.query for stream in streams])
    judged: list[tuple[int, ...]] = []
    while any(stream.line for stream in streams):
        number = data.draw(st.sampled_from([n for n in range(count) if streams[n].line]))
        deliver(streams[number], number, merge)
        for merged in merge.ready():
            for step in merged.steps:
                tables.apply(step)
            assert merged.known
            judged.append(picture(tables, streams))
    assert judged == oracle(writes, count)
    assert merge.judged_rv == end
    assert merge.behind() == []


def test_a_compensation_that_arrives_first_hides_nothing() -> None:
    """A goes bad at 110, B compensates at 111, and B's event is here before A's."""
    a, b = Watched(0), Watched(1)
    a.line, b.line = [(110, 1), (120, None)], [(111, 1), (120, None)]
    merge, tables = Merge(range(2), START), Tables([a.query, b.query])
    seen: list[tuple[int, ...]] = []
    for watched, number in ((b, 1), (b, 1), (a, 0), (a, 0)):
        deliver(watched, number, merge)
        for merged in merge.ready():
            for step in merged.steps:
                tables.apply(step)
            seen.append(picture(tables, [a, b]))
    assert seen == [(1, 0), (1, 1)]


def test_a_write_waits_for_a_stream_that_has_not_passed_it() -> None:
    a, b = Watched(0), Watched(1)
    a.line = [(110, 1)]
    merge: Merge[int] = Merge(range(2), START)
    deliver(a, 0, merge)
    assert list(merge.ready()) == []
    assert merge.behind() == [1]
    merge.passed(1, 109)
    assert list(merge.ready()) == []
    b.line = [(112, 1)]
    deliver(b, 1, merge)
    assert [merged.rv for merged in merge.ready()] == [110]


def test_inside_a_gap_nothing_is_known_and_at_its_end_everything_is() -> None:
    a, b = Watched(0), Watched(1)
    a.line = [(105, 1), (110, 2), (120, 0), (130, 1)]
    merge: Merge[int] = Merge(range(2), START)
    for _ in range(4):
        deliver(a, 0, merge)
    merge.passed(1, 107)
    assert [(merged.rv, merged.known) for merged in merge.ready()] == [(105, True)]
    merge.blind(107, 125)
    step = b.store.replace([thing("it", 115, v=1)], 125)
    assert step is not None
    merge.push(1, step)
    assert [(m.rv, m.known) for m in merge.ready()] == [(110, False), (120, False), (125, True)]
    merge.passed(1, 140)
    assert [(m.rv, m.known) for m in merge.ready()] == [(130, True)]


def test_a_merge_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Merge[int]([], 1)


def test_a_step_without_updates_is_progress_and_no_state() -> None:
    merge: Merge[int] = Merge(range(1), START)
    merge.push(0, Step(130, ()))
    assert list(merge.ready()) == []
    assert merge.judged_rv == 130


@settings(max_examples=1000, deadline=None)
@given(st.data(), st.integers(min_value=2, max_value=4), st.integers(min_value=1, max_value=8))
def test_what_is_given_up_for_want_of_room_is_told_and_the_rest_is_right(
    data: st.DataObject, count: int, room: int
) -> None:
    writes = data.draw(histories(count))
    streams = [Watched(number) for number in range(count)]
    for offset, write in enumerate(writes, start=1):
        streams[write.stream].line.append((START + offset, write.v))
    end = START + len(writes) + 1
    for stream in streams:
        stream.line.append((end, None))
    merge = Merge(range(count), START, many_states=room)
    tables = Tables([stream.query for stream in streams])
    judged: dict[int, tuple[int, ...]] = {}
    given_up: set[int] = set()
    while any(stream.line for stream in streams):
        number = data.draw(st.sampled_from([n for n in range(count) if streams[n].line]))
        deliver(streams[number], number, merge)
        for merged in merge.ready():
            for step in merged.steps:
                tables.apply(step)
            if merged.known:
                judged[merged.rv] = picture(tables, streams)
        hole = merge.give_up()
        if hole is not None:
            given_up |= set(range(hole.from_rv + 1, hole.to_rv))
        assert merge.waiting <= max(room, count + 1)
    truth = dict(enumerate(oracle(writes, count), start=START + 1))
    assert all(truth[rv] == state for rv, state in judged.items())
    assert set(truth) - set(judged) <= given_up
    assert picture(tables, streams) == (truth[end - 1] if truth else (0,) * count)


def test_bytes_are_bounded_as_well() -> None:
    a = Watched(0)
    merge: Merge[int] = Merge(range(2), START, many_bytes=10)
    for rv, v in ((110, 1), (111, 2)):
        step = a.store.apply(written(thing("it", rv, v=v)))
        assert step is not None
        merge.push(0, step, 6)
        if rv == 110:
            assert merge.give_up() is None
    hole = merge.give_up()
    assert hole is not None
    assert (hole.from_rv, hole.to_rv) == (START, 111)
    assert "waited for 1" in hole.why
    assert merge.give_up() is None
