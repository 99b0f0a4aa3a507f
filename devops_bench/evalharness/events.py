"""What happens now, told to whoever shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from devops_bench.results.model import TaskResult
from devops_bench.scoring.rollup import Verdict


class Phase(StrEnum):
    """The phases of a task, in their order."""

    CLUSTER = "cluster"
    SETUP = "setup"
    BASELINE = "baseline"
    TURN = "turn"
    VERIFY = "verify"
    TEARDOWN = "teardown"


class Reporter(Protocol):
    """Shows what happens now.

    Every method may be called from any thread, must return at once, and must not raise: what a
    reporter raises is logged and dropped, it never reaches a verdict.
    """

    def task_started(self, task_id: str, title: str) -> None:
        """A task begins."""
        ...

    def phase_started(self, task_id: str, phase: Phase, detail: str) -> None:
        """A phase begins; ``detail`` says what it does, e.g. which cluster and why."""
        ...

    def safeguard_sampled(
        self, task_id: str, name: str, status: Verdict, reason: str, violated: bool
    ) -> None:
        """A safeguard in hold mode changed its state.

        Args:
            task_id: Which task.
            name: The entry's name.
            status: The status of its newest sample.
            reason: The newest sample's reason.
            violated: Whether it was violated at any time of the turn; this never goes back.
        """
        ...

    def entry_judged(self, task_id: str, name: str, status: Verdict, reason: str) -> None:
        """An entry has its verdict."""
        ...

    def notice(self, task_id: str, text: str) -> None:
        """Something that the reader should know, one sentence (what is left on the cluster…)."""
        ...

    def task_finished(self, result: TaskResult) -> None:
        """A task has ended, its cluster included."""
        ...


class NullReporter:
    """Shows nothing."""

    def task_started(self, task_id: str, title: str) -> None:
        """Do nothing."""

    def phase_started(self, task_id: str, phase: Phase, detail: str) -> None:
        """Do nothing."""

    def safeguard_sampled(
        self, task_id: str, name: str, status: Verdict, reason: str, violated: bool
    ) -> None:
        """Do nothing."""

    def entry_judged(self, task_id: str, name: str, status: Verdict, reason: str) -> None:
        """Do nothing."""

    def notice(self, task_id: str, text: str) -> None:
        """Do nothing."""

    def task_finished(self, result: TaskResult) -> None:
        """Do nothing."""
