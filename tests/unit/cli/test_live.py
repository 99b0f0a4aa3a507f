"""The stream behind what is shown while something is at work."""

from __future__ import annotations

import io
import threading

import pytest

from devops_bench.cli.live import LiveStream

WAIT_SEC = 20.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_it_is_redrawn_until_it_is_stopped() -> None:
    screen = LiveStream(Terminal())
    drawn = threading.Event()
    screen.start(drawn.set)
    assert drawn.wait(WAIT_SEC)
    assert not screen.stopped
    screen.stop()
    assert screen.stopped
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


@pytest.mark.parametrize("term", ["dumb", None])
def test_where_nothing_can_be_drawn_again_nothing_is(
    term: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if term is not None:
        monkeypatch.setenv("TERM", term)
    screen = LiveStream(Terminal() if term is not None else io.StringIO())
    screen.start(lambda: pytest.fail("it was redrawn"))
    assert not screen.live
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]
    screen.stop()


def test_a_signal_handler_may_write_in_the_middle_of_a_write() -> None:
    class Interrupted(io.StringIO):
        def flush(self) -> None:
            if "handler" not in self.getvalue():
                screen.write("handler\n")

    screen = LiveStream(stream := Interrupted())
    screen.write("line\n")
    assert stream.getvalue() == "line\nhandler\n"


def test_after_the_reader_has_gone_nothing_more_is_tried() -> None:
    class Gone(io.StringIO):
        tries = 0

        def write(self, text: str) -> int:
            self.tries += 1
            raise BrokenPipeError

    screen = LiveStream(stream := Gone())
    screen.write("a")
    screen.write("b")
    assert stream.tries == 1
