"""A converge entry whose check is a probe that takes long, and needs time to end."""

from __future__ import annotations

import datetime as dt
import threading

import pytest

from devops_bench.evalharness.converge import Converge
from devops_bench.evalharness.sampler import Look
from devops_bench.results.evidence.records import NullSink
from devops_bench.verification.combinators import own_timeout_sec_of
from devops_bench.verification.probes.verify_script import VerifyScript
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry


class Clock:
    """Time that passes only when somebody waits or works."""

    def __init__(self) -> None:
        self.at = 100.0

    def monotonic(self) -> float:
        return self.at

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.at, dt.UTC)

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        self.at += timeout_sec
        return event.is_set()


class Script:
    """A failing script of so many seconds; without them it could not look at all."""

    def __init__(self, clock: Clock, takes_sec: float) -> None:
        self._clock = clock
        self._takes = takes_sec
        self.given: list[float] = []

    def look(self, entry: VerificationEntry, timeout_sec: float) -> Look:
        self.given.append(timeout_sec)
        left = timeout_sec - VerifyScript.ending_sec
        self._clock.at += max(0.0, min(self._takes, left))
        if left < self._takes:
            return Look(VerificationResult.errored("the time ran out"), None)
        return Look(VerificationResult.failed("0 of 1 points"), None)

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        raise AssertionError("it is a looker")


@pytest.mark.parametrize("takes_sec", [0.5, 6.0, 40.0, 110.0])
def test_a_probe_gets_its_time_and_no_look_that_cannot_end(takes_sec: float) -> None:
    entry = VerificationEntry(
        name="a", role="objective", check=VerifyScript(task_dir="x", timeout_sec=120)
    )
    clock = Clock()
    script = Script(clock, takes_sec)
    converge = Converge(entry, script, clock=clock, sink=NullSink(), cancel=threading.Event())
    result = converge.run(None, clock.at, own_timeout_sec_of(entry.check))
    assert result.status == "fail"
    assert script.given[0] == 125.0
