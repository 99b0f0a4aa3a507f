from __future__ import annotations

import threading
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.evalharness.backlog import STREAM, Backlog, Fed, FedState
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.types import StateInfo
from devops_bench.verification.result import VerificationResult

RESULTS = {
    "pass": VerificationResult.passed("it is good"),
    "fail": VerificationResult.failed("it is bad"),
    "error": VerificationResult.errored("it cannot be told"),
}
GAP = Gap("pods", 1, "a reset", 1, 2, 0.0, 1.0, False, "")


def state(rv: int, status: str = "pass") -> FedState:
    return FedState(RESULTS[status], StateInfo(rv, float(rv), "event"))


def taken(backlog: Backlog) -> list[Fed]:
    found: list[Fed] = []
    while (fed := backlog.take(0.0)) is not None:
        found.append(fed)
    return found


def test_everything_comes_out_in_order_while_it_is_within_the_bound() -> None:
    backlog = Backlog(SYSTEM_CLOCK, 10)
    given_in: list[Fed] = [state(1), GAP, state(2, "fail"), state(3)]
    for fed in given_in:
        backlog.put(fed)
    assert taken(backlog) == given_in


@given(st.lists(st.sampled_from(["pass", "fail", "error"]), max_size=60), st.integers(6, 20))
def test_no_status_is_lost_and_what_is_given_up_is_an_open_gap(
    statuses: list[str], bound: int
) -> None:
    backlog = Backlog(SYSTEM_CLOCK, bound)
    for rv, status in enumerate(statuses, start=1):
        backlog.put(state(rv, status))
        assert len(backlog) <= bound
    found = taken(backlog)
    states = [fed for fed in found if isinstance(fed, FedState)]
    revisions = [fed.state.rv for fed in states]
    assert revisions == sorted(revisions)
    assert {fed.result.status for fed in states} == set(statuses)
    assert revisions[-1:] == [len(statuses)][: len(statuses)]
    gaps = [fed for fed in found if isinstance(fed, Gap)]
    missing = set(range(1, len(statuses) + 1)) - set(revisions)
    assert all(any(gap.from_rv < rv < (gap.to_rv or rv + 1) for gap in gaps) for rv in missing)
    assert not any(gap.closed for gap in gaps)
    assert len({gap.number for gap in gaps}) == len(gaps)


def test_gaps_of_the_streams_survive_and_only_their_newest_word_counts() -> None:
    backlog = Backlog(SYSTEM_CLOCK, 6)
    closed = replace(GAP, closed=True)
    told: list[Fed] = [GAP, closed, *(state(rv) for rv in range(1, 20))]
    for fed in told:
        backlog.put(fed)
    gaps = [fed for fed in taken(backlog) if isinstance(fed, Gap) and fed.stream != STREAM]
    assert gaps == [closed]


def test_gaps_that_are_too_many_become_one_that_says_so() -> None:
    backlog = Backlog(SYSTEM_CLOCK, 8)
    for number in range(1, 30):
        backlog.put(replace(GAP, number=number, from_rv=number, to_rv=None, to_sec=None))
        assert len(backlog) <= 8
    found = [fed for fed in taken(backlog) if isinstance(fed, Gap)]
    assert min(gap.from_rv for gap in found) == 1
    assert all(gap.to_rv is None and not gap.closed for gap in found)


def test_a_gap_that_was_taken_is_not_replaced_by_the_next_one() -> None:
    backlog = Backlog(SYSTEM_CLOCK, 6)
    numbers = []
    for start in (1, 21):
        for rv in range(start, start + 20):
            backlog.put(state(rv))
        numbers += [fed.number for fed in taken(backlog) if isinstance(fed, Gap)]
    assert len(numbers) == len(set(numbers)) == 2


def test_a_closed_backlog_keeps_nothing() -> None:
    backlog = Backlog(SYSTEM_CLOCK)
    backlog.put(state(1))
    backlog.close()
    backlog.put(state(2))
    backlog.close()
    assert (len(backlog), backlog.take(0.0)) == (0, None)


def test_whoever_waits_is_woken() -> None:
    backlog = Backlog(SYSTEM_CLOCK)
    found: list[Fed | None] = []
    waiting = threading.Thread(target=lambda: found.append(backlog.take(30.0)))
    waiting.start()
    backlog.put(state(1))
    waiting.join(30)
    assert found == [state(1)]
