"""Hold entries of a recorded task, fed with what was recorded. Pure."""

from __future__ import annotations

from devops_bench.evalharness.budget import EntryOutcome
from devops_bench.evalharness.drivers import IgnoringDriver, reason_of
from devops_bench.evalharness.window import EntryWindow, Method
from devops_bench.results.evidence.records import (
    Fenced,
    GapNoted,
    Judged,
    Marked,
    Missed,
    Sampled,
    Subscribed,
)
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

UNFINISHED = "the recording ends before its window does"


class HoldDriver(IgnoringDriver):
    """A safeguard in hold mode: see :class:`~devops_bench.evalharness.book.ObservationBook`.

    Args:
        entry: The entry as it is now.
        recorded: The same as it was recorded.
        changed: Whether its check is not the one that was recorded.
    """

    def __init__(
        self, entry: VerificationEntry, recorded: VerificationEntry, *, changed: bool
    ) -> None:
        self._entry = entry
        self._changed = changed
        self._recorded = recorded
        self._window = EntryWindow(Method.of(entry, "sampled"))
        self._run_over = False
        self._turn_taken = False
        self._baseline_over = False
        self._task_over = False
        self._refused: str | None = None
        self._baseline: str | None = None

    def subscribed(self, record: Subscribed) -> None:
        """Note how the entry is observed."""
        method = Method.of(self._entry, record.coverage, record.interval_sec or 5.0)
        self._window.method = method.because(record.why).watching(record.streams)
        if record.coverage == "watched":
            return
        if self._entry.coverage == "watch" and self._recorded.coverage != "watch":
            self._refused = f"coverage: watch asks for more than samples, and {record.why}"
        elif self._entry.hold_scope != self._recorded.hold_scope:
            self._refused = f"it was sampled for the {self._recorded.hold_scope}, and no further"

    def judged(self, record: Judged, result: VerificationResult) -> None:
        """Take in a watched state."""
        if record.watch == "turn":
            again = record.origin == "again"
            self._window.state(result, record.rv, record.at_sec, again=again)

    def sampled(self, record: Sampled, result: VerificationResult) -> None:
        """Take in a sample."""
        self._window.sample(result, record.began_sec, record.ended_sec)

    def missed(self, record: Missed) -> None:
        """Take in samples that were not taken."""
        self._window.missed(record.count)

    def gap(self, record: GapNoted) -> None:
        """Take in a gap."""
        if record.watch == "turn":
            self._window.gap(record.gap)

    def fenced(self, record: Fenced) -> None:
        """Take in the fence of the turn, then that of the run."""
        if record.watch != "turn" or self._window.method.mode != "watched":
            return
        name, fence = self._entry.name, record.fence
        end = self._window.end_run if self._run_over else self._window.end
        end(record.at_sec, fence.end_rv(name), fence.why_not(name))

    def marked(self, record: Marked) -> None:
        """Move the window on."""
        window = self._window
        sampled_run = window.method.mode == "sampled" and window.method.scope == "run"
        if record.mark == "window_begin":
            window.begin(record.at_sec)
            self._begun_on(window.newest)
        elif record.mark == "turn_ending":
            window.ending(record.at_sec)
            if sampled_run:
                window.end_turn_sampled()
        elif record.mark == "run_ending":
            self._run_over = True
            window.run_ending(record.at_sec)
        elif record.mark == "entry_finished" and record.entry is not None:
            window.finish(record.at_sec)
        elif record.mark == "cut_short" and record.entry is not None:
            window.cut_short(reason_of(record), record.at_sec)
        elif record.mark == "agent":
            self._turn_taken = True
        elif record.mark == "phase":
            self._baseline_over |= (record.detail or {}).get("name") == "baseline"
        elif record.mark == "task_end":
            self._task_over = True

    def outcome(self, end_sec: float) -> EntryOutcome | None:
        """Return what was observed; an entry that did not hold from the start is no verdict."""
        # Of a run that was killed in the turn there is no report of the agent.
        killed_in_turn = self._baseline_over and not self._task_over
        if not self._turn_taken and not killed_in_turn:
            return None
        refused = self._refused or self._baseline
        if refused is not None:
            return VerificationResult.errored(refused)
        if not self._window.finished:
            self._window.cut_short(UNFINISHED, end_sec)
        return self._window.observation(end_sec)

    def _begun_on(self, newest: VerificationResult | None) -> None:
        """Refuse to blame an agent for what did not hold before its turn.

        The windows begin more than once while the harness waits for the baseline; the last counts.
        """
        self._baseline = None
        if self._changed and newest is not None and newest.status != "pass":
            said = "it did not hold before the agent's turn, which is no fault of the agent"
            if newest.status == "error":
                said = "whether it held before the agent's turn cannot be told"
            self._baseline = f"{said}: {newest.reason}"


class SoakDriver(IgnoringDriver):
    """An objective in hold mode: see :class:`~devops_bench.evalharness.soak.Soak`.

    Args:
        entry: The entry as it is now.
        changed: Whether its check, its window or its settling time is not what was recorded.
    """

    def __init__(self, entry: VerificationEntry, *, changed: bool) -> None:
        self._entry = entry
        self._changed = changed
        self._window = EntryWindow(Method.of(entry, "sampled"))
        self._seen = False
        self._over = False
        self._decided = False
        self._begin_sec: float | None = None
        self._settle_until = 0.0

    def subscribed(self, record: Subscribed) -> None:
        """Note how the entry is observed, as the soak decided.

        Of a sampled soak older recordings also hold what a watcher came to, before or after that,
        without an interval.
        """
        sampled = record.coverage == "sampled"
        if self._window.begun or self._over or self._decided:
            return
        if sampled and record.interval_sec is None:
            return
        self._decided = sampled
        method = Method.of(self._entry, record.coverage, record.interval_sec or 5.0)
        self._window = EntryWindow(method.because(record.why).watching(record.streams))

    def judged(self, record: Judged, result: VerificationResult) -> None:
        """Take in a watched state."""
        if record.watch != "post_run" or self._passed_over(record.at_sec):
            return
        again = record.origin == "again"
        self._window.state(result, record.rv, record.at_sec, again=again)
        self._look(result, record.at_sec)

    def sampled(self, record: Sampled, result: VerificationResult) -> None:
        """Take in a sample."""
        if self._passed_over(record.began_sec):
            return
        self._window.sample(result, record.began_sec, record.ended_sec)
        self._look(result, record.began_sec)

    def missed(self, record: Missed) -> None:
        """Take in samples that were not taken."""
        if not self._over:
            self._window.missed(record.count)

    def gap(self, record: GapNoted) -> None:
        """Take in a gap."""
        if record.watch == "post_run" and not self._over:
            self._window.gap(record.gap)

    def fenced(self, record: Fenced) -> None:
        """End the window where the fence says."""
        if record.entry == self._entry.name and not self._over:
            self._over = True
            name, fence = self._entry.name, record.fence
            self._window.end(record.at_sec, fence.end_rv(name), fence.why_not(name))

    def marked(self, record: Marked) -> None:
        """Move the window on."""
        if record.mark == "post_run_begin":
            self._settle_until = record.at_sec + self._entry.hold_settle_sec
        if record.entry != self._entry.name or self._over:
            return
        if record.mark == "soak_begin":
            self._seen = True
            if not self._changed or not self._entry.hold_settle_sec:
                self._begin(record.at_sec)
        elif record.mark == "soak_end":
            self._end(record.at_sec)
        elif record.mark == "cut_short":
            self._seen = self._over = True
            self._window.cut_short(reason_of(record), record.at_sec)

    def outcome(self, end_sec: float) -> EntryOutcome | None:
        """Return what was observed."""
        if not self._seen:
            return None
        if not self._window.finished:
            self._window.cut_short(UNFINISHED, end_sec)
        return self._window.observation(end_sec)

    def _begin(self, at_sec: float) -> None:
        self._begin_sec = at_sec
        self._window.begin(at_sec)

    def _look(self, result: VerificationResult, at_sec: float) -> None:
        """Begin the window of a changed soak where it would have begun."""
        if not self._changed or self._window.begun or not self._entry.hold_settle_sec:
            return
        if result.success or at_sec >= self._settle_until:
            self._begin(at_sec)

    def _passed_over(self, at_sec: float) -> bool:
        """Return whether a moment lies behind the window of a changed soak."""
        if self._over:
            return True
        window = self._entry.hold_window_sec or 0.0
        began = self._begin_sec
        return self._changed and began is not None and at_sec > began + window

    def _end(self, at_sec: float) -> None:
        window = self._entry.hold_window_sec or 0.0
        began = self._begin_sec
        if self._changed and (began is None or began + window > at_sec):
            self._over = True
            why = "before it had begun" if began is None else f"{at_sec - began:.1f} s into it"
            self._window.cut_short(f"the run stopped looking {why}", at_sec)
        elif self._window.method.mode == "watched":
            self._window.ending(at_sec)
        else:
            self._over = True
            self._window.finish(at_sec)
