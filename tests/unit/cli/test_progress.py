"""What is shown while a run is at work."""

from __future__ import annotations

import io
import re
import threading

import pytest

from devops_bench.cli.progress import Progress
from devops_bench.evalharness.events import Phase, Reporter
from devops_bench.results.model import TaskResult


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "10")
    monkeypatch.delenv("NO_COLOR", raising=False)


def tell(reporter: Reporter) -> None:
    """A task from its start to its end."""
    reporter.task_started("web", "Scale the web")
    reporter.phase_started("web", Phase.CLUSTER, "local (the default provider)")
    reporter.notice("web", "a line\nof \x1b[31mtwo")
    reporter.phase_started("web", Phase.TURN, "agent oracle")
    reporter.safeguard_sampled("web", "floor", "pass", "4 of 4", False)
    reporter.safeguard_sampled("web", "floor", "fail", "2 of 4", True)
    reporter.safeguard_sampled("web", "floor", "pass", "4 of 4", True)
    reporter.safeguard_sampled("web", "image", "error", "no answer", False)
    reporter.entry_judged("web", "eight replicas", "fail", "there are 4")
    reporter.task_finished(TaskResult(id="web", status="failed", outcome=0.0, elapsed_sec=2.5))


def test_without_a_terminal_each_event_is_a_line() -> None:
    stream = io.StringIO()
    with Progress(stream, tasks=2, monotonic=lambda: 7.0) as progress:
        tell(progress)
    assert stream.getvalue().splitlines() == [
        "[1/2] web: Scale the web",
        "    0.0s  cluster   local (the default provider)",
        "    0.0s            a line\\nof \\x1b[31mtwo",
        "    0.0s  turn      agent oracle",
        "    0.0s            safeguard floor: holds",
        "    0.0s            safeguard floor: VIOLATED: 2 of 4",
        "    0.0s            safeguard floor: VIOLATED before, now it holds again",
        "    0.0s            safeguard image: error: no answer",
        "    0.0s            fail  eight replicas: there are 4",
        "[1/2] web: FAILED, outcome 0.000 (2.5 s)",
    ]


def screen(written: str) -> list[str]:
    """What a terminal would show: the lines, after the moves of the cursor."""
    lines, row = [""], 0
    for part in re.split(r"(\x1b\[[0-9;]*[A-Za-z]|\r|\n)", written):
        if part == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif part == "\x1b[J":
            lines[row:] = [""]
        elif match := re.fullmatch(r"\x1b\[(\d+)A", part):
            row -= int(match[1])
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part and not part.startswith(("\x1b", "\r")):
            lines[row] += part
    return lines


def test_on_a_terminal_the_newest_state_stands_below_the_lines() -> None:
    stream = Terminal()
    progress = Progress(stream, tasks=1, monotonic=lambda: 7.0)
    progress.task_started("web", "")
    progress.phase_started("web", Phase.TURN, "agent oracle")
    progress.safeguard_sampled("web", "image", "pass", "", False)
    progress.safeguard_sampled("web", "floor", "fail", "2 of 4", True)
    shown = screen(stream.getvalue())
    assert shown[-4:] == ["> turn, 0 s: agent oracle", "  VIOLATED  floor", "  holds     image", ""]
    assert shown[0] == "[1/1] web"


def test_at_the_end_only_the_lines_that_stay_are_there() -> None:
    live, plain = Terminal(), io.StringIO()
    for stream in (live, plain):
        with Progress(stream, tasks=2, monotonic=lambda: 7.0) as progress:
            tell(progress)
    assert screen(live.getvalue()) == [*plain.getvalue().splitlines(), ""]
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_the_live_lines_never_fill_the_terminal() -> None:
    stream = Terminal()
    progress = Progress(stream, tasks=1, monotonic=lambda: 7.0)
    progress.task_started("web", "")
    progress.phase_started("web", Phase.TURN, "x" * 500)
    for number in range(50):
        progress.safeguard_sampled("web", f"{number} " + "y" * 500, "pass", "", False)
    block = screen(stream.getvalue())[-9:]
    assert block[0].startswith("> turn")
    assert all(len(line) < 60 for line in block)


def test_no_color_is_obeyed_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with Progress(stream, tasks=1) as progress:
        tell(progress)
    assert not re.search(r"\x1b\[[0-9;]*m", stream.getvalue())


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Progress(stream, tasks=1) as progress:
        tell(progress)
    assert "\x1b" not in stream.getvalue()


def test_a_reader_that_went_away_does_not_end_the_run() -> None:
    with Progress(Gone(), tasks=1) as progress:
        tell(progress)


def test_the_start_of_a_phase_is_handed_on_and_may_interrupt() -> None:
    phases: list[Phase] = []
    progress = Progress(io.StringIO(), tasks=1)
    progress.on_phase = phases.append
    tell(progress)
    assert phases == [Phase.CLUSTER, Phase.TURN]

    def interrupt(phase: Phase) -> None:
        raise KeyboardInterrupt

    progress.on_phase = interrupt
    with pytest.raises(KeyboardInterrupt):
        progress.phase_started("web", Phase.VERIFY, "")


def test_many_threads_may_tell_at_once() -> None:
    stream = io.StringIO()
    progress = Progress(stream, tasks=1)
    progress.task_started("web", "")

    def sample(name: str) -> None:
        for _ in range(200):
            progress.safeguard_sampled("web", name, "fail", "why", True)

    threads = [threading.Thread(target=sample, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()[1:]
    assert len(lines) == 800
    assert all(re.fullmatch(r" +\d+\.\ds +safeguard \d: VIOLATED: why", line) for line in lines)


def test_a_turn_that_has_the_terminal_is_told_of_afterwards() -> None:
    """Somebody at work in it must neither be disturbed nor told how it goes."""
    stream = io.StringIO()
    progress = Progress(stream, tasks=1, quiet_turns=True)
    progress.task_started("t", "")
    progress.phase_started("t", Phase.TURN, "agent human")
    before = stream.getvalue()
    progress.safeguard_sampled("t", "floor", "fail", "two", True)
    assert stream.getvalue() == before
    progress.phase_started("t", Phase.VERIFY, "")
    told = stream.getvalue()
    assert told.index("VIOLATED") < told.index("verify")
