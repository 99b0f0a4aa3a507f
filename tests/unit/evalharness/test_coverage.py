"""What lies unseen between samples, and which gaps decide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.evalharness.coverage import Coverage, CoverageGap, SampleTrail
from devops_bench.evalharness.observation import HoldObservation, _fold_sample, hold_verdict
from devops_bench.verification.result import VerificationStatus
from tests.unit.evalharness.helpers import result

STATUSES: tuple[VerificationStatus, ...] = ("pass", "fail", "error")
INTERVAL = 1.0


def trail_of(history: list[tuple[VerificationStatus, float]]) -> tuple[SampleTrail, float]:
    """Return the trail of samples that each came so many seconds after the one before."""
    trail, now = SampleTrail(INTERVAL), 0.0
    for status, later in history:
        now += later
        trail.note(status, f"{status} at {now}", now, now)
    return trail, now


histories = st.lists(st.tuples(st.sampled_from(STATUSES), st.floats(0.25, 3.75)), max_size=10)


def long_stretches(history: list[tuple[VerificationStatus, float]], end: float) -> int:
    """Count what is too long, on the whole history at once.

    That is a run of errors of two intervals or longer, or of two errors at the end, or more than
    four intervals without a look.
    """
    times, now = [], 0.0
    for _, later in history:
        now += later
        times.append(now)
    count, place = 0, 0
    while place < len(history):
        stop = place
        while stop < len(history) and history[stop][0] == "error":
            stop += 1
        if stop > place:
            until = times[stop] if stop < len(history) else end
            unlooked = place > 0 and until - times[place - 1] > 4 * INTERVAL
            unseen_end = stop == len(history) and stop - place >= 2
            count += until - times[place] >= 2 * INTERVAL or unseen_end or unlooked
        place = stop + 1
    return count


@given(histories, st.floats(0, 3.75))
def test_errors_are_absorbed_below_two_intervals(
    history: list[tuple[VerificationStatus, float]], rest: float
) -> None:
    trail, now = trail_of(history)
    assert len(trail.gaps(now + rest)) == long_stretches(history, now + rest)


def test_an_end_that_nobody_saw_is_a_gap_that_says_so() -> None:
    trail = SampleTrail(INTERVAL)
    for status, at in (("pass", 0.0), ("error", 0.5), ("error", 0.75)):
        trail.note(status, "refused", at, at)  # type: ignore[arg-type]
    (gap,) = trail.gaps(0.75)
    assert (gap.cause, gap.from_sec, gap.to_sec, gap.closed) == ("refused", 0.5, None, False)
    assert gap.how == "the last 2 looks errored"


@pytest.mark.parametrize(
    ("interval", "until", "gaps"), [(1.0, 4.0, 0), (1.0, 4.1, 1), (0.1, 1.0, 0), (0.1, 1.1, 1)]
)
def test_nobody_looking_for_too_long_is_a_gap(interval: float, until: float, gaps: int) -> None:
    """A harness that is stopped, or a look that hangs and comes back, saw nothing meanwhile."""
    ended, between = SampleTrail(interval), SampleTrail(interval)
    for trail in (ended, between):
        trail.note("pass", "", 0.0, 0.0)
    between.note("pass", "", until, until)
    assert len(ended.gaps(until)) == gaps
    assert len(between.gaps(until)) == gaps


def test_a_look_is_no_proof_for_the_time_that_it_took() -> None:
    trail = SampleTrail(INTERVAL)
    trail.note("pass", "", 0.0, 0.0)
    trail.note("pass", "", 1.0, 6.0)
    assert [gap.from_sec for gap in trail.gaps(6.0)] == [0.0, 1.0]


@pytest.mark.parametrize(("until", "gaps"), [(1.9, 0), (2.0, 1)])
def test_two_intervals_are_too_long(until: float, gaps: int) -> None:
    trail = SampleTrail(INTERVAL)
    trail.note("error", "refused", 0.0, 0.0)
    assert len(trail.gaps(until)) == gaps


@given(histories, st.floats(0, 3.75))
def test_the_blind_spot_is_the_longest_time_between_good_looks(
    history: list[tuple[VerificationStatus, float]], rest: float
) -> None:
    trail, now = trail_of(history)
    good, at = [], 0.0
    for status, later in history:
        at += later
        if status != "error":
            good.append(at)
    end = now + rest
    pairs = zip(good, [*good, end][1:], strict=True)
    assert trail.largest_blind_spot(end) == max((b - a for a, b in pairs), default=None)


def test_a_slow_look_is_blind_until_it_ends() -> None:
    """Whether it saw the moment of its begin or of its end is not known."""
    trail = SampleTrail(INTERVAL)
    trail.note("pass", "", 0.0, 0.1)
    trail.note("pass", "", 1.0, 9.0)
    assert trail.largest_blind_spot(9.0) == 9.0


GAP = CoverageGap("pods in namespace shop", "the server ended the watch", 1.0, 2.0)
CLOSED = CoverageGap("pods in namespace shop", "410", 1.0, 2.0, closed=True, how="closed: read")

coverages = st.builds(
    Coverage,
    mode=st.sampled_from(("watched", "sampled")),
    gaps=st.lists(st.sampled_from((GAP, CLOSED)), max_size=3).map(tuple),
    accepts_gaps=st.booleans(),
)


@given(st.lists(st.sampled_from(STATUSES), max_size=8), coverages, st.sampled_from((None, "cut")))
def test_coverage_is_judged_last_and_only_ever_takes_a_pass_away(
    history: list[VerificationStatus], coverage: Coverage, cut: str | None
) -> None:
    obs = HoldObservation()
    for second, status in enumerate(history):
        _fold_sample(obs, result(status), float(second))
    obs.cut_short = cut
    before = hold_verdict(obs)[1]
    obs.coverage = coverage
    success, after, reason = hold_verdict(obs)
    missed = any(not gap.closed for gap in coverage.gaps)
    if before == "pass" and missed and not coverage.accepts_gaps:
        assert (success, after) == (False, "error")
        assert GAP.stream in reason
        assert GAP.cause in reason
    else:
        assert after == before


def test_accepted_gaps_are_shown() -> None:
    obs = HoldObservation()
    _fold_sample(obs, result("pass"), 0.0)
    obs.coverage = Coverage("watched", gaps=(GAP,), accepts_gaps=True)
    _, status, reason = hold_verdict(obs)
    assert status == "pass"
    assert GAP.cause in reason


@pytest.mark.parametrize("to_sec", [None, 2.0])
def test_a_gap_reads_as_a_sentence(to_sec: float | None) -> None:
    text = str(CoverageGap("pods", "a reset", -0.5, to_sec, how="not closed: compacted"))
    assert text.startswith("pods, from 0.0 s to ")
    assert text.endswith(": a reset (not closed: compacted)")
