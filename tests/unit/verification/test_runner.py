from __future__ import annotations

import itertools
import threading
from typing import Any, Literal

import pytest

from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.core.json import JsonValue
from devops_bench.k8s.view import Matched, Reading, ResourceQuery, Unreadable, View
from devops_bench.verification.base import Check, CheckNode, Probe, ProbeContext
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.combinators import All, AnyOf, NoneOf, Parallel, Sequenced
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import SAMPLE_TIMEOUT_SEC, VerifierAgent
from devops_bench.verification.spec import VerificationEntry
from tests.unit.verification.helpers import FakeClock, FakeSource, kube_object

_AT_LEAST_4 = ResourceProperty(
    kind="Deployment",
    resource_name="web",
    namespace="shop",
    path="spec.replicas",
    op="gte",
    value=4,
)


class Broken(Check):
    type: Literal["broken"] = "broken"

    def queries(self) -> tuple[ResourceQuery, ...]:
        return (ResourceQuery("Pod"),)

    def judge(self, view: View) -> VerificationResult:
        raise ZeroDivisionError("in the judge")


class BrokenQueries(Check):
    type: Literal["broken_queries"] = "broken_queries"

    def queries(self) -> tuple[ResourceQuery, ...]:
        raise ZeroDivisionError("in the queries")

    def judge(self, view: View) -> VerificationResult:
        return VerificationResult.passed("never")


class Called(Probe):
    """A probe that runs a function of the test."""

    type: Literal["called"] = "called"
    function: Any

    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        result: VerificationResult = self.function(context, timeout_sec)
        return result


def _passes(context: ProbeContext, timeout_sec: float) -> VerificationResult:
    return VerificationResult.passed("looked")


def _fails(context: ProbeContext, timeout_sec: float) -> VerificationResult:
    return VerificationResult.failed("looked")


def _entry(check: CheckNode, **fields: Any) -> VerificationEntry:
    return VerificationEntry.model_validate(
        {"name": "e", "role": "objective", "check": check, **fields}
    )


def _replicas(count: JsonValue) -> Matched:
    return Matched((kube_object(spec={"replicas": count}),))


class _Rollout:
    """A source's answers: one reading per moment of a fake clock."""

    def __init__(self, clock: FakeClock, *moments: tuple[float, Reading]) -> None:
        self.clock, self.moments, self.start = clock, moments, clock.time

    def __call__(self, query: ResourceQuery) -> Reading:
        passed = self.clock.time - self.start
        return [reading for since, reading in self.moments if since <= passed][-1]


def _agent(*moments: tuple[float, Reading]) -> tuple[VerifierAgent, FakeSource, FakeClock]:
    clock = FakeClock()
    source = FakeSource(_Rollout(clock, *moments))
    return VerifierAgent(source, clock=clock), source, clock


def test_assert_is_judged_once() -> None:
    agent, source, _ = _agent((0, _replicas(2)))
    assert agent.run_entry(_entry(_AT_LEAST_4, mode="assert"), 60).status == "fail"
    assert len(source.calls) == 1


def test_hold_is_judged_once_whatever_the_budget() -> None:
    agent, source, _ = _agent((0, _replicas(4)))
    entry = _entry(_AT_LEAST_4, mode="hold", hold_window_sec=30)
    assert agent.run_entry(entry, 0).success
    assert source.timeouts == [SAMPLE_TIMEOUT_SEC]


def test_converge_passes_when_it_becomes_true() -> None:
    agent, source, clock = _agent((0, _replicas(2)), (5, _replicas(4)))
    result = agent.run_entry(_entry(_AT_LEAST_4), 60)
    assert result.success
    assert 5 <= clock.time - 100 <= 6
    assert result.elapsed_time == pytest.approx(clock.time - 100)
    assert len(source.calls) > 5


def test_converge_looks_closely_at_first_and_less_often_later() -> None:
    clock = FakeClock()
    times: list[float] = []

    def answer(query: ResourceQuery) -> Reading:
        times.append(clock.time)
        return _replicas(2)

    VerifierAgent(FakeSource(answer), clock=clock).run_entry(_entry(_AT_LEAST_4), 30)
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses[0] <= 0.25
    assert max(pauses) <= 1.0 + 1e-9


def test_converge_ends_with_its_budget_and_says_what_was_seen_last() -> None:
    agent, source, clock = _agent((0, _replicas(2)), (8, _replicas(3)))
    source.clock, source.cost_sec = clock, 0.2
    result = agent.run_entry(_entry(_AT_LEAST_4), 10)
    assert result.status == "fail"
    assert "spec.replicas is 3" in result.reason
    assert clock.time - 100 <= 10
    assert all(timeout > 0 for timeout in source.timeouts)


def test_converge_uses_a_small_budget_too() -> None:
    agent, source, clock = _agent((0, _replicas(2)), (0.3, _replicas(4)))
    source.clock, source.cost_sec = clock, 0.02
    assert agent.run_entry(_entry(_AT_LEAST_4), 0.6).success


def test_converge_leaves_its_last_sample_time_to_end() -> None:
    agent, source, clock = _agent((0, _replicas(2)))
    source.clock, source.cost_sec = clock, 0.3
    agent.run_entry(_entry(_AT_LEAST_4), 10)
    assert min(source.timeouts) > 0.9


def test_converge_is_an_error_if_the_last_look_was_one() -> None:
    agent, _, _ = _agent((0, _replicas(2)), (5, Unreadable("the server is gone")))
    result = agent.run_entry(_entry(_AT_LEAST_4), 10)
    assert (result.status, result.reason) == ("error", "the server is gone")


def test_converge_gets_over_an_error() -> None:
    agent, _, _ = _agent((0, Unreadable("the server is gone")), (5, _replicas(4)))
    assert agent.run_entry(_entry(_AT_LEAST_4), 10).success


def _status(observed: int) -> Matched:
    obj = kube_object(
        metadata={"generation": 2}, status={"observedGeneration": observed, "readyReplicas": 4}
    )
    return Matched((obj,))


_READY = ResourceProperty(
    kind="Deployment", resource_name="web", path="status.readyReplicas", op="eq", value=4
)


def test_converge_does_not_pass_on_a_stale_status() -> None:
    agent, _, clock = _agent((0, _status(1)), (3, _status(2)))
    assert agent.run_entry(_entry(_READY), 10).success
    assert clock.time - 100 >= 3
    never, _, _ = _agent((0, _status(1)))
    result = never.run_entry(_entry(_READY), 10)
    assert result.status == "fail"
    assert "behind" in result.reason
    of_both = All(checks=(_READY,))
    assert never.run_entry(_entry(of_both), 1).status == "fail"


def test_assert_takes_a_stale_status_as_it_is() -> None:
    agent, _, _ = _agent((0, _status(1)))
    result = agent.run_entry(_entry(_READY, mode="assert"), 10)
    assert result.success
    assert result.stale


def test_converge_stops_when_it_is_cancelled() -> None:
    cancel = threading.Event()
    cancel.set()
    source = FakeSource(lambda query: _replicas(2))
    agent = VerifierAgent(source, clock=FakeClock(), cancel=cancel)
    result = agent.run_entry(_entry(_AT_LEAST_4), 60)
    assert result.status == "error"
    assert "interrupted" in result.reason
    assert len(source.calls) == 1


def test_a_sample_reads_everything_as_one_view() -> None:
    agent, source, _ = _agent((0, _replicas(4)))
    other = ResourceProperty(kind="Pod", op="exists")
    assert agent.sample(All(checks=(_AT_LEAST_4, other, _AT_LEAST_4)), 5).success
    assert source.calls == [(*_AT_LEAST_4.queries(), *other.queries())]


def test_without_a_cluster_pure_checks_are_errors_and_probes_run() -> None:
    agent = VerifierAgent()
    result = agent.sample(_AT_LEAST_4, 5)
    assert (result.status, result.reason) == ("error", "there is no cluster to read from")
    assert agent.sample(Called(function=_passes), 5).success
    assert agent.sample(AnyOf(checks=(_AT_LEAST_4, Called(function=_passes))), 5).success
    assert agent.sample(NoneOf(checks=(_AT_LEAST_4,)), 5).status == "error"


class _BrokenSource:
    def view(self, queries: object, timeout_sec: float) -> View:
        raise ConnectionError("reset by peer")


@pytest.mark.parametrize(
    ("source", "check", "words"),
    [
        (_BrokenSource(), _AT_LEAST_4, "ConnectionError: reset by peer"),
        (FakeSource(lambda query: _replicas(4)), Broken(), "ZeroDivisionError: in the judge"),
        (FakeSource(lambda query: _replicas(4)), BrokenQueries(), "in the queries"),
        (None, CheckNode(type="neither"), "cannot be judged"),
    ],
)
def test_whatever_breaks_is_an_error_and_never_raised(
    source: Any, check: CheckNode, words: str
) -> None:
    agent = VerifierAgent(source)
    for node in (check, All(checks=(check,)), NoneOf(checks=(check,))):
        result = agent.sample(node, 5)
        assert result.status == "error"
        assert words in result.reason


def test_one_broken_leaf_does_not_take_the_others_with_it() -> None:
    agent, _, _ = _agent((0, _replicas(4)))
    result = agent.sample(AnyOf(checks=(Broken(), _AT_LEAST_4)), 5)
    assert result.success
    assert [child.status for child in result.children] == ["error", "pass"]


def test_the_probes_of_parallel_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3)

    def meet(context: ProbeContext, timeout_sec: float) -> VerificationResult:
        meeting.wait(timeout=30)  # broken unless all three are here at once
        return VerificationResult.passed("met")

    probes = tuple(Called(function=meet, name=name) for name in "abc")
    result = VerifierAgent().sample(Parallel(checks=probes), 60)
    assert result.success
    assert [child.name for child in result.children] == ["a", "b", "c"]


def test_the_probes_of_a_sequence_stop_at_the_first_that_does_not_pass() -> None:
    ran: list[str] = []

    def note(context: ProbeContext, timeout_sec: float) -> VerificationResult:
        ran.append("later")
        return VerificationResult.passed("ran")

    probes = (Called(function=_passes), Called(function=_fails), Called(function=note))
    assert VerifierAgent().sample(Sequenced(checks=probes), 60).status == "fail"
    assert ran == []


def test_a_probe_gets_its_context_and_what_is_left_of_the_time() -> None:
    seen: list[tuple[ProbeContext, float]] = []

    def note(context: ProbeContext, timeout_sec: float) -> VerificationResult:
        seen.append((context, timeout_sec))
        return VerificationResult.passed("ran")

    context = ProbeContext()
    VerifierAgent(probe_context=context).sample(Called(function=note), 60)
    assert seen[0][0] is context
    assert 0 < seen[0][1] <= 60


def test_a_probe_that_hangs_is_left_behind_as_an_error() -> None:
    release = threading.Event()

    def hang(context: ProbeContext, timeout_sec: float) -> VerificationResult:
        release.wait()
        return VerificationResult.passed("too late")

    class Impatient(FakeClock):
        """Time runs out at once for whoever waits."""

    agent = VerifierAgent(clock=Impatient())
    check = Called(function=hang)
    try:
        assert "did not return within" in agent.sample(check, 5).reason
        again = agent.sample(check, 5)
        assert again.status == "error"
        assert "has not returned from an earlier sample" in again.reason
    finally:
        release.set()


def test_the_default_clock_is_the_systems() -> None:
    agent = VerifierAgent(FakeSource(lambda query: _replicas(4)), clock=SYSTEM_CLOCK)
    assert agent.run_entry(_entry(_AT_LEAST_4), 5).elapsed_time >= 0
