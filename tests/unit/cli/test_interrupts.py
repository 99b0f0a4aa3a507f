"""Real signals, in each phase."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from devops_bench.cli.interrupts import SIGNALS, Interrupts
from devops_bench.evalharness.events import Phase


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def interrupts(said: list[str]) -> Iterator[Interrupts]:
    with Interrupts(said.append) as entered:
        yield entered


@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_ends_a_run(interrupts: Interrupts, said: list[str], number: int) -> None:
    interrupts.on_phase(Phase.VERIFY)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert interrupts.cancel.is_set()
    assert said == [f"{signal.Signals(number).name}: ending the run; what was made is taken down"]


def test_during_a_turn_the_first_only_asks_and_the_second_insists(
    interrupts: Interrupts, said: list[str]
) -> None:
    interrupts.on_phase(Phase.TURN)
    signal.raise_signal(signal.SIGINT)
    assert interrupts.cancel.is_set()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)  # it insists once: the way to teardown is not cut
    assert len(said) == 1


def test_teardown_is_never_cut(interrupts: Interrupts) -> None:
    interrupts.on_phase(Phase.TEARDOWN)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    assert interrupts.cancel.is_set()


def test_before_and_between_tasks_the_run_looks_for_itself(interrupts: Interrupts) -> None:
    signal.raise_signal(signal.SIGINT)
    assert interrupts.cancel.is_set()
    with pytest.raises(KeyboardInterrupt):
        interrupts.on_phase(Phase.CLUSTER)  # a task that begins all the same ends at once
    interrupts.on_phase(Phase.TEARDOWN)


def test_a_signal_during_a_turn_ends_the_phase_after_it(interrupts: Interrupts) -> None:
    interrupts.on_phase(Phase.TURN)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupts.on_phase(Phase.VERIFY)


def test_on_the_way_to_teardown_nothing_is_raised_again(interrupts: Interrupts) -> None:
    interrupts.on_phase(Phase.SETUP)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)


def test_the_signals_are_given_back(said: list[str]) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupts(said.append):
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_signal_that_is_ignored_on_purpose_stays_ignored(said: list[str]) -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts(said.append) as interrupts:
            signal.raise_signal(signal.SIGHUP)
            assert not interrupts.cancel.is_set()
    finally:
        signal.signal(signal.SIGHUP, previous)
