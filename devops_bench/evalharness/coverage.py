"""How much of a hold entry's window was observed, and what was not. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from devops_bench.results.evidence.records import CoverageMode
from devops_bench.verification.result import VerificationStatus

ABSORBED_INTERVALS: Final = 2
"""Errors of a sampled entry are absorbed while they leave less than so many intervals unseen."""

TRAILING_ERRORS: Final = 2
"""So many errors in a row up to the end of a window mean that its end was not observed."""

UNSEEN_INTERVALS: Final = 4
"""Longer than so many intervals without a look is a gap, whatever kept the sampler from looking."""

UNSEEN_LEAST_SEC: Final = 1.0
"""The same in seconds, for intervals so short that an ordinary delay spans several of them."""


@dataclass(frozen=True, slots=True)
class CoverageGap:
    """A stretch that was not observed while it happened.

    Attributes:
        stream: What was not observed, for the reader.
        cause: What broke the observation.
        from_sec: Where it begins, seconds after the start of the window; negative when it began
            before.
        to_sec: Where it ends; ``None`` when it never did.
        from_rv: The last revision that was seen before it, ``None`` where there are none.
        to_rv: The revision from which everything is seen again.
        closed: Whether every state in it was judged after all, or provably none existed.
        how: How it was closed, or why not.
    """

    stream: str
    cause: str
    from_sec: float
    to_sec: float | None
    from_rv: int | None = None
    to_rv: int | None = None
    closed: bool = False
    how: str = ""

    def __str__(self) -> str:
        """For messages: ``deployments.apps, from 1.2 s to 3.4 s: the server ended the watch``."""
        until = "to the end" if self.to_sec is None else f"to {self.to_sec:.1f} s"
        text = f"{self.stream}, from {max(0.0, self.from_sec):.1f} s {until}: {self.cause}"
        return f"{text} ({self.how})" if self.how else text


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was observed of an entry's window.

    Attributes:
        mode: ``watched``: every stored state was judged, but for the gaps. ``sampled``: what was
            there at the moments of the samples.
        why_sampled: Why it was not watched; empty when it was.
        streams: What was watched, for the reader.
        from_sec: Where observation began, seconds after the start of the window; ``None`` when
            there was none.
        to_sec: Where it ended.
        states_judged: States, or samples, that were judged without an error.
        gaps: What was not observed while it happened.
        largest_blind_spot_sec: The longest stretch in which a violation can have come and gone
            unseen; ``None`` when nothing was seen.
        accepts_gaps: Whether the spec accepts them (``coverage: best_effort``).
    """

    mode: CoverageMode
    why_sampled: str = ""
    streams: tuple[str, ...] = ()
    from_sec: float | None = None
    to_sec: float | None = None
    states_judged: int = 0
    gaps: tuple[CoverageGap, ...] = ()
    largest_blind_spot_sec: float | None = None
    accepts_gaps: bool = False

    def unclosed(self) -> tuple[CoverageGap, ...]:
        """Return the gaps in which anything may have happened."""
        return tuple(gap for gap in self.gaps if not gap.closed)


class SampleTrail:
    """Finds what lies unseen between the samples of one entry.

    Args:
        interval_sec: Seconds between two samples, > 0.
    """

    def __init__(self, interval_sec: float) -> None:
        self._interval = interval_sec
        self._last_good: float | None = None
        self._blind = 0.0
        self._errored_at: float | None = None
        self._errors = 0
        self._error = ""
        self._gaps: list[CoverageGap] = []

    def note(
        self, status: VerificationStatus, reason: str, began_sec: float, ended_sec: float
    ) -> None:
        """Take in the next sample; times are seconds after the start of the window."""
        if status == "error":
            if self._errored_at is None:
                self._errored_at = began_sec
            self._error = reason
            self._errors += 1
            return
        self._gaps += self._too_long(began_sec) or self._pause(ended_sec)
        self._errored_at, self._errors = None, 0
        if self._last_good is not None:
            self._blind = max(self._blind, ended_sec - self._last_good)
        self._last_good = began_sec

    def gaps(self, end_sec: float) -> tuple[CoverageGap, ...]:
        """Return the stretches that are too long to be absorbed: of errors, and without a look.

        At the end errors in a row are one, however short: nobody saw how the window ended.
        """
        last = self._too_long(end_sec) or self._unseen_end() or self._pause(end_sec)
        return (*self._gaps, *last)

    def largest_blind_spot(self, end_sec: float) -> float | None:
        """Return the longest time between two looks, or from the last one to the end."""
        if self._last_good is None:
            return None
        return max(self._blind, end_sec - self._last_good)

    def _too_long(self, now: float) -> list[CoverageGap]:
        since = self._errored_at
        if since is None or now - since < ABSORBED_INTERVALS * self._interval:
            return []
        how = f"longer than {ABSORBED_INTERVALS} intervals of {self._interval:g} s"
        return [CoverageGap("samples", self._error, since, now, how=how)]

    def _unseen_end(self) -> list[CoverageGap]:
        since = self._errored_at
        if since is None or self._errors < TRAILING_ERRORS:
            return []
        how = f"the last {self._errors} looks errored"
        return [CoverageGap("samples", self._error, since, None, how=how)]

    def _pause(self, now: float) -> list[CoverageGap]:
        """Return the gap since the last look, if nobody looked for too long."""
        since = self._last_good
        bound = max(UNSEEN_INTERVALS * self._interval, UNSEEN_LEAST_SEC)
        if since is None or now - since <= bound:
            return []
        cause = "no sample was taken in time: the one before, or the harness itself, was held up"
        return [CoverageGap("samples", cause, since, now, how=f"longer than {bound:g} s")]
