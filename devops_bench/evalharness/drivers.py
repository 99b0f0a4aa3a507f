"""What takes the records of one entry of a recorded task. Pure."""

from __future__ import annotations

from typing import Protocol

from devops_bench.evalharness.budget import EntryOutcome
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


class Driver(Protocol):
    """Takes the records of one entry, in order."""

    def subscribed(self, record: Subscribed) -> None:
        """Note how the entry is observed."""
        ...

    def judged(self, record: Judged, result: VerificationResult) -> None:
        """Take in a watched state and what it comes to."""
        ...

    def sampled(self, record: Sampled, result: VerificationResult) -> None:
        """Take in a sample and what it comes to."""
        ...

    def missed(self, record: Missed) -> None:
        """Take in samples that were not taken."""
        ...

    def gap(self, record: GapNoted) -> None:
        """Take in a gap."""
        ...

    def fenced(self, record: Fenced) -> None:
        """Take in the end of a fence that is about this entry."""
        ...

    def marked(self, record: Marked) -> None:
        """Take in a mark that is about this entry, or about all."""
        ...

    def outcome(self, end_sec: float) -> EntryOutcome | None:
        """Return what the entry came to, ``None`` when it was not judged.

        Args:
            end_sec: When the recording ends.
        """
        ...


class IgnoringDriver:
    """What a driver does with records that are not its business: nothing."""

    def subscribed(self, record: Subscribed) -> None:
        """Do nothing."""

    def judged(self, record: Judged, result: VerificationResult) -> None:
        """Do nothing."""

    def sampled(self, record: Sampled, result: VerificationResult) -> None:
        """Do nothing."""

    def missed(self, record: Missed) -> None:
        """Do nothing."""

    def gap(self, record: GapNoted) -> None:
        """Do nothing."""

    def fenced(self, record: Fenced) -> None:
        """Do nothing."""


def reason_of(record: Marked) -> str:
    """Return the reason that a mark carries."""
    reason = (record.detail or {}).get("reason")
    return reason if isinstance(reason, str) else "no reason was recorded"
