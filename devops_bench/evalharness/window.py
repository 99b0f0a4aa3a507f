"""The window of one hold entry: from what is seen to what was observed. Pure.

The monitor, the soak and a replay feed the same window with the same inputs in the same order. All
times are seconds on one axis that never goes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from devops_bench.evalharness.coverage import Coverage, CoverageGap, SampleTrail
from devops_bench.evalharness.observation import AfterTurn, HoldObservation, _fold_sample
from devops_bench.k8s.watch.gap import Gap
from devops_bench.results.evidence.records import CoverageMode
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import HoldScope, VerificationEntry


@dataclass(frozen=True, slots=True)
class Method:
    """How an entry is observed.

    Attributes:
        mode: Watched or sampled.
        interval_sec: Seconds between two samples, > 0; of no meaning when it is watched.
        why_sampled: Why it is not watched; empty when it is.
        streams: What is watched, for the reader.
        scope: Whether the window ends with the turn or with the run.
        accepts_gaps: Whether the spec accepts what was not seen.
    """

    mode: CoverageMode
    interval_sec: float = 5.0
    why_sampled: str = ""
    streams: tuple[str, ...] = ()
    scope: HoldScope = "turn"
    accepts_gaps: bool = False

    @classmethod
    def of(cls, entry: VerificationEntry, mode: CoverageMode, interval_sec: float = 5.0) -> Method:
        """Return how ``entry`` is observed, as far as the spec says it."""
        accepts = entry.coverage == "best_effort"
        return cls(mode, interval_sec, scope=entry.hold_scope, accepts_gaps=accepts)

    def because(self, why: str) -> Method:
        """Return the same with why it is not watched."""
        return replace(self, why_sampled=why)

    def watching(self, streams: tuple[str, ...]) -> Method:
        """Return the same with what is watched."""
        return replace(self, streams=streams)


class _State(NamedTuple):
    result: VerificationResult
    rv: int
    at_sec: float


class EntryWindow:
    """What is known of one hold entry.

    Its life: judgements before :meth:`begin` only say whether it holds; then the window is open,
    until :meth:`end` (the turn's end, or a soak's); a safeguard may be looked at until
    :meth:`end_run`. :meth:`ending` and :meth:`run_ending` say that what is judged from there on
    belongs to the window only if the fence says so.

    Args:
        method: How it is observed.

    Attributes:
        method: The same; may be set until the window begins.
        newest: The newest judgement, ``None`` before the first.
    """

    def __init__(self, method: Method) -> None:
        self.method = method
        self.newest: VerificationResult | None = None
        self._obs = HoldObservation()
        self._origin: float | None = None
        self._ended_at: float | None = None
        self._trail = SampleTrail(method.interval_sec)
        self._gaps: dict[tuple[str, int], Gap] = {}
        self._late_gaps: dict[tuple[str, int], Gap] = {}
        self._own_gaps: list[CoverageGap] = []
        self._unjudged: _State | None = None
        self._waiting: list[_State] | None = None
        self._ending_at = 0.0
        self._turn_over = False
        self._run_over = False
        self._turn_rv: int | None = None
        self._window_rv: int | None = None
        self._after: AfterTurn | None = None
        self._finished = False

    @property
    def begun(self) -> bool:
        """Whether the window has begun."""
        return self._origin is not None

    @property
    def finished(self) -> bool:
        """Whether the window was observed to its end."""
        return self._finished

    def pending_gap(self) -> Gap | None:
        """Return a gap that is not over, if there is one."""
        return next((gap for gap in self._gaps.values() if gap.to_sec is None), None)

    def begin(self, at_sec: float) -> None:
        """Begin the window; the newest judgement is its first, what came before is forgotten."""
        self._origin = at_sec
        self._obs = HoldObservation()
        self._trail = SampleTrail(self.method.interval_sec)
        self._gaps = {key: gap for key, gap in self._gaps.items() if gap.to_sec is None}
        if self.newest is not None:
            self._fold(self.newest, at_sec, at_sec)

    def state(self, result: VerificationResult, rv: int, at_sec: float, *, again: bool) -> bool:
        """Take in a watched state.

        Args:
            result: What it came to.
            rv: Its revision.
            at_sec: When it was received.
            again: Whether it was taken in before.

        Returns:
            Whether it counts for the window now.
        """
        self.newest = result
        if self._origin is None or again or self._run_over:
            return False
        state = _State(result, rv, at_sec)
        if self._waiting is not None and at_sec > self._ending_at:
            self._waiting.append(state)
            return False
        return self._take(state)

    def sample(self, result: VerificationResult, began_sec: float, ended_sec: float) -> bool:
        """Take in a sample; one that began before the window does not count.

        Returns:
            Whether it counts for the window.
        """
        if self._origin is None:
            self.newest = result
            return False
        if began_sec < self._origin or self._finished or self._run_over:
            return False
        self.newest = result
        if self._turn_over:
            self._note_after(result, began_sec)
        self._fold(result, began_sec, ended_sec)
        return True

    def missed(self, count: int) -> None:
        """Note due samples that were not taken."""
        self._obs.missed_count += count

    def gap(self, gap: Gap) -> None:
        """Take in a gap; told again, it replaces the one of its number.

        A fence is only reached when every gap before it was told of, so the gaps of a window that
        has ended are final.
        """
        over = gap.to_sec is not None and self._origin is not None and gap.to_sec <= self._origin
        if over:
            self._gaps.pop((gap.stream, gap.number), None)
        elif self._finished:
            self._late_gaps[gap.stream, gap.number] = gap
        else:
            self._gaps[gap.stream, gap.number] = gap

    def ending(self, at_sec: float) -> None:
        """Note that the turn is over: states received from here on wait for the fence.

        What was received before was also written before, whenever it comes to be judged.
        """
        if self.method.mode == "watched" and self._origin is not None and not self._turn_over:
            self._waiting = []
            self._ending_at = at_sec

    def end(self, at_sec: float, rv: int | None = None, why_not: str | None = None) -> None:
        """End the turn of a watched entry, and its window, unless that lasts for the whole run.

        Args:
            at_sec: When this is known; the turn ended at :meth:`ending`, where that was called.
            rv: The revision that is the turn's last; ``None`` when that is not known.
            why_not: Why not everything up to there was judged; ``None`` when it was.
        """
        if self._turn_over or self._origin is None:
            return
        self._turn_over = True
        self._turn_rv = rv
        at_sec = self._asked_at(at_sec)
        waiting, self._waiting = self._waiting or [], None
        if self.method.scope == "turn":
            self._close_window(at_sec, rv, why_not)
        for state in waiting:
            self._take(state)
        if rv is None and self.method.scope == "turn":
            self._doubt(waiting)

    def end_turn_sampled(self) -> None:
        """Note that the turn of a sampled entry whose window goes on is over."""
        self._turn_over = True

    def run_ending(self, at_sec: float) -> None:
        """Note that the run is over: states received from here on wait for the fence."""
        if self.method.mode == "watched" and self._turn_over:
            self._waiting = []
            self._ending_at = at_sec

    def end_run(self, at_sec: float, rv: int | None = None, why_not: str | None = None) -> None:
        """End what is seen of a watched entry after its turn; the arguments are those of end."""
        if self._run_over or not self._turn_over:
            return
        at_sec = self._asked_at(at_sec)
        waiting, self._waiting = self._waiting or [], None
        for state in waiting:
            if rv is None or state.rv <= rv:
                self._take(state)
        self._run_over = True
        self._after = replace(self._after or AfterTurn(), why_incomplete=self._why_after(why_not))
        if self.method.scope == "run":
            self._close_window(at_sec, rv, why_not)

    def finish(self, at_sec: float) -> None:
        """Note that a sampled entry was observed to the end of its window."""
        self._finished = True
        if self._ended_at is None:
            self._ended_at = at_sec

    def cut_short(self, reason: str, at_sec: float) -> None:
        """End the window of an entry that was not observed to its end."""
        if not self._finished:
            self._finished = True
            self._obs.cut_short = reason
        if self._ended_at is None:
            self._ended_at = at_sec

    def newest_observation(self) -> HoldObservation:
        """Return a copy of what was folded so far, without its coverage: cheap."""
        return replace(self._obs)

    def observation(self, now_sec: float) -> HoldObservation:
        """Return a copy of what was observed; a window that has not ended reaches to now."""
        coverage = None if self._origin is None else self._coverage(now_sec)
        return replace(self._obs, coverage=coverage, after_turn=self._after)

    def _take(self, state: _State) -> bool:
        after = self._turn_over and (self._turn_rv is None or state.rv > self._turn_rv)
        if after:
            self._note_after(state.result, state.at_sec)
            if self.method.scope == "turn":
                return False
        self._fold_state(state)
        return True

    def _fold_state(self, state: _State) -> None:
        unjudged = self._unjudged
        if unjudged is not None:
            self._own_gaps.append(self._unjudged_gap(unjudged, state.at_sec, state.rv))
        self._unjudged = state if state.result.status == "error" else None
        self._fold(state.result, state.at_sec, state.at_sec)

    def _fold(self, result: VerificationResult, began_sec: float, ended_sec: float) -> None:
        origin = self._origin or 0.0
        began = max(0.0, began_sec - origin)
        _fold_sample(self._obs, result, began)
        if self.method.mode == "sampled":
            self._trail.note(result.status, result.reason, began, ended_sec - origin)

    def _asked_at(self, known_sec: float) -> float:
        """Return when a fence was asked for: it may take long, and proves the time up to there."""
        return known_sec if self._waiting is None else self._ending_at

    def _note_after(self, result: VerificationResult, at_sec: float) -> None:
        after = self._after or AfterTurn()
        failed = result.status == "fail" and not after.violated
        self._after = replace(
            after,
            states_judged=after.states_judged + 1,
            violated=after.violated or failed,
            first_violation_reason=result.reason if failed else after.first_violation_reason,
            first_violation_at_sec=(
                at_sec - (self._origin or 0.0) if failed else after.first_violation_at_sec
            ),
        )

    def _close_window(self, at_sec: float, rv: int | None, why_not: str | None) -> None:
        self._finished = True
        self._ended_at = at_sec
        self._window_rv = rv
        if why_not is not None or rv is None:
            # Where the end lies is not known for sure, so nothing that comes later mends this.
            cause = "the end of the window could not be proven"
            since = self._obs.last_observed_at_sec or 0.0
            gap = CoverageGap("end fence", cause, since, None, how=why_not or "no LIST answered")
            self._own_gaps.append(gap)

    def _doubt(self, waiting: list[_State]) -> None:
        """Keep a violation from being accepted as after the turn when nobody knows that."""
        failed = next((state for state in waiting if state.result.status == "fail"), None)
        if failed is not None and not self._obs.violated:
            self._obs.cut_short = (
                "whether the turn had ended could not be proven when it was violated: "
                f"{failed.result.reason}"
            )

    def _why_after(self, why_not: str | None) -> str | None:
        rv = self._turn_rv
        told = (*self._gaps.values(), *self._late_gaps.values())
        opened = [gap for gap in told if not gap.closed]
        late = [gap for gap in opened if rv is None or gap.to_rv is None or gap.to_rv > rv]
        return why_not or (f"{late[0].stream}: {late[0].cause}" if late else None)

    def _coverage(self, now_sec: float) -> Coverage:
        origin = self._origin or 0.0
        end = (self._ended_at if self._ended_at is not None else now_sec) - origin
        gaps = tuple(self._all_gaps(end))
        if self.method.mode == "watched":
            blind: float | None = max(
                (_length(gap, end) for gap in gaps if not gap.closed), default=0.0
            )
        else:
            blind = self._trail.largest_blind_spot(end)
        obs = self._obs
        seen = obs.first_observed_at_sec
        return Coverage(
            mode=self.method.mode,
            why_sampled=self.method.why_sampled,
            streams=self.method.streams,
            from_sec=seen,
            to_sec=end if self.method.mode == "watched" else obs.last_observed_at_sec,
            states_judged=obs.sample_count - obs.error_count,
            gaps=gaps,
            largest_blind_spot_sec=blind,
            accepts_gaps=self.method.accepts_gaps,
        )

    def _all_gaps(self, end: float) -> Iterator[CoverageGap]:
        if self.method.mode == "sampled":
            yield from self._trail.gaps(end)
            return
        origin = self._origin or 0.0
        for gap in self._gaps.values():
            if self._window_rv is None or gap.from_rv < self._window_rv:
                to_sec = None if gap.to_sec is None else gap.to_sec - origin
                yield CoverageGap(
                    gap.stream,
                    gap.cause,
                    gap.from_sec - origin,
                    to_sec,
                    gap.from_rv,
                    gap.to_rv,
                    gap.closed,
                    gap.how,
                )
        yield from self._own_gaps
        if self._unjudged is not None:
            yield self._unjudged_gap(self._unjudged, None, None)

    def _unjudged_gap(self, state: _State, to_sec: float | None, to_rv: int | None) -> CoverageGap:
        origin = self._origin or 0.0
        return CoverageGap(
            "judgement",
            f"the state at resourceVersion {state.rv} could not be judged: {state.result.reason}",
            state.at_sec - origin,
            None if to_sec is None else to_sec - origin,
            state.rv,
            to_rv,
        )


def _length(gap: CoverageGap, end: float) -> float:
    # What is told of while a fence is waited for can begin behind the end.
    return max(0.0, (end if gap.to_sec is None else gap.to_sec) - max(0.0, gap.from_sec))
