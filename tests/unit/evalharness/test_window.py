"""The window of one entry, against a second statement of the rule on the whole history."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.evalharness.observation import HoldObservation, hold_verdict
from devops_bench.evalharness.window import EntryWindow, Method
from devops_bench.k8s.watch.gap import Gap
from devops_bench.verification.result import VerificationStatus
from devops_bench.verification.spec import HoldScope
from tests.unit.evalharness.helpers import ERROR, FAIL, PASS, result

WATCHED = Method("watched", streams=("pods",))
BEGIN_RV = 10
STATUSES: tuple[VerificationStatus, ...] = ("pass", "fail", "error")


def gap(from_rv: int, to_rv: int | None = None, *, closed: bool = False, number: int = 1) -> Gap:
    """Return a gap; its seconds are its revisions."""
    to_sec = None if to_rv is None else float(to_rv)
    return Gap("pods", number, "a reset", from_rv, to_rv, float(from_rv), to_sec, closed, "")


def open_window(method: Method = WATCHED) -> EntryWindow:
    """Return a window that has begun with a pass at second and revision 10."""
    window = EntryWindow(method)
    window.state(PASS, BEGIN_RV, float(BEGIN_RV), again=False)
    window.begin(float(BEGIN_RV))
    return window


def tell(window: EntryWindow, rv: int, status: VerificationStatus) -> None:
    window.state(result(status, f"{status} at {rv}"), rv, float(rv), again=False)


def verdict(obs: HoldObservation) -> str:
    return hold_verdict(obs)[1]


@dataclass(frozen=True)
class Story:
    """What was written, and when the fence was asked for and answered."""

    statuses: list[VerificationStatus]
    asked: int
    answered: int
    turn_end: int
    known: bool
    why_not: str | None

    @property
    def writes(self) -> list[tuple[int, VerificationStatus]]:
        return [(BEGIN_RV + 1 + place, status) for place, status in enumerate(self.statuses)]

    @property
    def turn_rv(self) -> int:
        return BEGIN_RV + self.turn_end

    def in_turn(self) -> list[VerificationStatus]:
        return [status for rv, status in self.writes if rv <= self.turn_rv]

    def after_turn(self) -> list[VerificationStatus]:
        return [status for rv, status in self.writes if rv > self.turn_rv]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Whatever was judged before the fence was asked for was written before its LIST."""
    statuses = draw(st.lists(st.sampled_from(STATUSES), max_size=10))
    asked = draw(st.integers(0, len(statuses)))
    turn_end = draw(st.integers(asked, len(statuses)))
    answered = draw(st.integers(turn_end, len(statuses)))
    why_not = draw(st.none() | st.just("no bookmark came"))
    return Story(statuses, asked, answered, turn_end, draw(st.booleans()), why_not)


def play(story: Story, method: Method = WATCHED) -> EntryWindow:
    window = open_window(method)
    for place, (rv, status) in enumerate(story.writes):
        if place == story.asked:
            window.ending(rv - 0.5)
        if place == story.answered:
            _answer(window, story)
        tell(window, rv, status)
    if story.asked == len(story.writes):
        window.ending(98.0)
    if story.answered == len(story.writes):
        _answer(window, story)
    return window


def _answer(window: EntryWindow, story: Story) -> None:
    known = story.known or story.why_not is None
    window.end(99.0, story.turn_rv if known else None, story.why_not)


def rule(statuses: list[VerificationStatus], *, proven: bool) -> str:
    """The verdict of a window that began with a pass."""
    if "fail" in statuses:
        return "fail"
    return "pass" if proven and "error" not in statuses else "error"


@given(stories())
def test_what_was_written_up_to_the_fence_decides(story: Story) -> None:
    obs = play(story).observation(100.0)
    if story.known or story.why_not is None:
        assert verdict(obs) == rule(story.in_turn(), proven=story.why_not is None)
    else:
        certain = story.statuses[: story.asked]
        assert verdict(obs) == rule(certain, proven=False)


@given(stories())
def test_what_came_after_the_turn_is_kept_apart(story: Story) -> None:
    window = play(story)
    window.run_ending(99.0)
    window.end_run(100.0, 99, None)
    after = window.observation(100.0).after_turn
    assert after is not None
    if story.known or story.why_not is None:
        assert after.violated == ("fail" in story.after_turn())
        assert after.states_judged == len(story.after_turn())


@given(stories(), st.none() | st.just("no bookmark came"))
def test_a_window_of_the_whole_run_takes_everything(story: Story, why_not: str | None) -> None:
    window = play(story, replace(WATCHED, scope="run"))
    window.run_ending(99.0)
    window.end_run(100.0, 99, why_not)
    assert verdict(window.observation(100.0)) == rule(story.statuses, proven=why_not is None)


@pytest.mark.parametrize("received", ["before", "after"])
def test_what_was_received_before_the_end_needs_no_fence(received: str) -> None:
    """It may be judged late, yet it was written in the turn."""
    window = open_window()
    window.ending(12.0)
    tell(window, 12 if received == "before" else 13, "fail")
    window.end(14.0, None, "nobody answers")
    assert verdict(window.observation(14.0)) == ("fail" if received == "before" else "error")


def test_a_window_of_the_whole_run_is_no_pass_before_its_end() -> None:
    window = open_window(replace(WATCHED, scope="run"))
    window.ending(10.5)
    window.end(11.0, 10, None)
    assert not window.finished
    window.cut_short("the run ended before", 12.0)
    assert verdict(window.observation(12.0)) == "error"


@given(stories().filter(lambda s: "fail" in s.statuses[: s.answered]))
def test_a_violation_that_may_be_the_turns_is_not_accepted_as_a_gap(story: Story) -> None:
    unknown = replace(story, known=False, why_not="nobody answers")
    window = play(unknown, replace(WATCHED, accepts_gaps=True))
    assert verdict(window.observation(100.0)) != "pass"


gaps = st.builds(
    lambda start, length, closed: gap(start, start + length, closed=closed),
    st.integers(BEGIN_RV - 3, BEGIN_RV + 8),
    st.integers(1, 4),
    st.booleans(),
)


@given(st.lists(gaps, max_size=4), st.integers(0, 6))
def test_a_gap_counts_where_it_touches_the_window(told: list[Gap], turn_end: int) -> None:
    window = open_window()
    numbered = [replace(one, number=number) for number, one in enumerate(told)]
    for one in numbered:
        window.gap(one)
    window.ending(10.5)
    turn_rv = BEGIN_RV + turn_end
    window.end(float(turn_rv), turn_rv, None)
    missed = any(
        not one.closed and (one.to_rv or 99) > BEGIN_RV and one.from_rv < turn_rv
        for one in numbered
    )
    assert verdict(window.observation(100.0)) == ("error" if missed else "pass")


def test_a_gap_told_of_again_replaces_what_was_told() -> None:
    window = open_window()
    window.gap(gap(11))
    window.gap(gap(11, 13, closed=True))
    window.ending(10.5)
    window.end(14.0, 14, None)
    obs = window.observation(14.0)
    assert verdict(obs) == "pass"
    assert obs.coverage is not None
    assert [one.closed for one in obs.coverage.gaps] == [True]


def test_a_gap_after_the_turn_is_shown_and_does_not_count() -> None:
    window = open_window()
    window.ending(10.5)
    window.end(11.0, 11, None)
    window.gap(gap(12))
    window.run_ending(99.0)
    window.end_run(20.0, 15, None)
    obs = window.observation(20.0)
    assert verdict(obs) == "pass"
    assert obs.after_turn is not None
    assert obs.after_turn.why_incomplete == "pods: a reset"


def test_a_gap_told_of_when_the_window_is_over_does_not_reach_back() -> None:
    """A watcher that broke later does not know any more how far it had come."""
    window = open_window()
    window.ending(10.5)
    window.end(11.0, 11, None)
    window.gap(gap(0))
    assert verdict(window.observation(12.0)) == "pass"


def test_an_end_that_nobody_knows_is_no_pass() -> None:
    window = open_window()
    window.ending(10.5)
    window.end(11.0, None, None)
    assert verdict(window.observation(12.0)) == "error"


def test_what_comes_behind_the_end_of_the_run_does_not_count() -> None:
    window = open_window(replace(WATCHED, scope="run"))
    window.ending(10.5)
    window.end(11.0, 11, None)
    window.run_ending(11.5)
    tell(window, 12, "pass")
    tell(window, 13, "fail")
    window.end_run(14.0, 12, None)
    tell(window, 15, "fail")
    obs = window.observation(15.0)
    assert (verdict(obs), obs.sample_count) == ("pass", 2)


@pytest.mark.parametrize("scope", ["turn", "run"])
def test_a_window_ends_when_its_fence_was_asked_for_however_long_that_takes(
    scope: HoldScope,
) -> None:
    window = open_window(replace(WATCHED, scope=scope))
    tell(window, 12, "pass")
    window.ending(13.0)
    tell(window, 20, "fail")
    window.end(27.0, 12, None)
    ends = 13.0
    if scope == "run":
        window.run_ending(30.0)
        window.end_run(44.0, 40, None)
        ends = 30.0
    obs = window.observation(50.0)
    assert obs.coverage is not None
    assert obs.coverage.to_sec == ends - 10.0
    assert obs.after_turn is not None
    assert obs.after_turn.violated


def test_a_violation_outweighs_a_gap() -> None:
    window = open_window()
    window.gap(gap(10, 12))
    tell(window, 13, "fail")
    assert verdict(window.observation(14.0)) == "fail"


def test_a_state_that_could_not_be_judged_is_a_gap_for_as_long_as_it_lasted() -> None:
    window = open_window()
    tell(window, 12, "error")
    tell(window, 15, "pass")
    window.ending(10.5)
    window.end(20.0, 20, None)
    obs = window.observation(20.0)
    assert verdict(obs) == "error"
    assert obs.coverage is not None
    (missed,) = obs.coverage.unclosed()
    assert (missed.from_sec, missed.to_sec) == (2.0, 5.0)
    assert obs.coverage.largest_blind_spot_sec == 3.0


def test_a_state_that_is_shown_again_is_not_counted_again() -> None:
    window = open_window()
    window.state(PASS, BEGIN_RV, 11.0, again=True)
    assert window.observation(12.0).sample_count == 1


def test_what_came_before_the_window_is_forgotten() -> None:
    window = EntryWindow(WATCHED)
    window.state(FAIL, 5, 5.0, again=False)
    window.gap(gap(5, 7))
    window.state(PASS, 8, 8.0, again=False)
    window.begin(10.0)
    window.ending(10.5)
    window.end(11.0, 11, None)
    obs = window.observation(11.0)
    assert verdict(obs) == "pass"
    assert (obs.first_observed_at_sec, obs.sample_count) == (0.0, 1)
    assert obs.coverage is not None
    assert obs.coverage.gaps == ()


# --- sampled ------------------------------------------------------------------------------


def sampled(scope: str = "turn") -> EntryWindow:
    method = Method("sampled", 1.0, "a probe")
    window = EntryWindow(replace(method, scope="run") if scope == "run" else method)
    window.sample(PASS, 9.0, 9.5)
    window.begin(10.0)
    return window


def test_a_sample_from_before_the_window_does_not_count() -> None:
    window = sampled()
    assert not window.sample(FAIL, 9.9, 10.5)
    assert verdict(window.observation(11.0)) == "pass"


def test_errors_that_leave_too_much_unseen_are_an_error() -> None:
    window = sampled()
    for second in (11.0, 12.0, 13.0):
        window.sample(ERROR, second, second)
    window.sample(PASS, 14.0, 14.0)
    window.finish(14.0)
    obs = window.observation(14.0)
    assert verdict(obs) == "error"
    assert obs.coverage is not None
    assert obs.coverage.why_sampled == "a probe"


def test_an_error_that_leaves_little_unseen_is_absorbed() -> None:
    window = sampled()
    window.sample(ERROR, 11.0, 11.0)
    window.sample(PASS, 12.0, 12.0)
    window.finish(12.0)
    assert verdict(window.observation(12.0)) == "pass"


@pytest.mark.parametrize(("scope", "expected"), [("turn", "pass"), ("run", "fail")])
def test_samples_after_the_turn_count_for_the_run_alone(scope: str, expected: str) -> None:
    window = sampled(scope)
    window.sample(PASS, 11.0, 11.0)
    if scope == "turn":
        window.finish(12.0)
    else:
        window.end_turn_sampled()
    window.sample(FAIL, 13.0, 13.0)
    window.finish(14.0)
    obs = window.observation(14.0)
    assert verdict(obs) == expected
    assert (obs.after_turn is not None and obs.after_turn.violated) == (scope == "run")
