"""Signals that come before a command has begun."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from devops_bench.cli import start

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers that a program starts with, and afterwards what was there."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Puts something else into the place of the command line."""

    def put(does: Callable[[], None]) -> None:
        stub = ModuleType("devops_bench.cli.main")
        stub.main = does  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "devops_bench.cli.main", stub)

    return put


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_at_the_very_start_is_an_interrupt(
    command_line: Callable[[Callable[[], None]], None], number: signal.Signals
) -> None:
    command_line(lambda: signal.raise_signal(number))
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert ended.value.code == 130


def test_what_was_ignored_stays_ignored(
    command_line: Callable[[Callable[[], None]], None],
) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    seen: list[object] = []
    command_line(lambda: seen.append(signal.getsignal(signal.SIGHUP)))
    start.main()
    assert seen == [signal.SIG_IGN]
