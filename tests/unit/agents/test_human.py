"""A person at a terminal: a shell with the right kubeconfig, until it ends."""

from __future__ import annotations

import os
import pty
import select
import termios
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.human import HumanAgent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.transcript import Transcript
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.files import read_log
from devops_bench.tasks.model import Task

MakeTurn = Callable[..., AgentTurn]


@dataclass
class Person:
    """Somebody at a terminal: types a line whenever something is shown, and remembers all of it."""

    keyboard: int
    terminal: int
    shown: bytearray = field(default_factory=bytearray)

    @property
    def device(self) -> str:
        return os.ttyname(self.terminal)

    def use(self, turn: AgentTurn, *lines: tuple[str, str]) -> AgentResult:
        """Take the turn: for each pair wait for the first text, then type the second."""
        results: list[AgentResult] = []
        thread = threading.Thread(
            target=lambda: results.append(HumanAgent(self.device).run(turn)), daemon=True
        )
        thread.start()
        for wanted, typed in lines:
            self._read_until(wanted.encode(), thread)
            os.write(self.keyboard, typed.encode())
        while thread.is_alive():
            self._read_some(0.05)
        self._read_some(0.05)
        thread.join()
        return results[0]

    def _read_until(self, wanted: bytes, thread: threading.Thread) -> None:
        while wanted not in self.shown:
            assert thread.is_alive(), self.shown.decode()
            self._read_some(0.2)
        # The next text is looked for after this one.
        del self.shown[: self.shown.index(wanted)]

    def _read_some(self, seconds: float) -> None:
        if select.select([self.keyboard], [], [], seconds)[0]:
            self.shown += os.read(self.keyboard, 65536)


@pytest.fixture
def person() -> Iterator[Person]:
    keyboard, terminal = pty.openpty()
    yield Person(keyboard, terminal)
    os.close(keyboard)
    os.close(terminal)


def test_the_shell_has_the_kubeconfig_and_its_exit_ends_the_turn(
    person: Person, make_turn: MakeTurn, tmp_path: Path
) -> None:
    turn = make_turn(transcript=Transcript(tmp_path / "t"))
    before = termios.tcgetattr(person.terminal)
    result = person.use(
        turn,
        ("kubectl is set up", 'echo "at=$PWD"; cat "$KUBECONFIG"; tty; exit 3\n'),
    )
    assert (result.status, result.exit_code) == (AgentStatus.FAILED, 3)
    words = "".join(str(r["text"]) for r in read_log(tmp_path / "t"))
    assert f"at={turn.work_dir}" in words
    assert "kind: Config" in words
    assert person.device not in words
    assert termios.tcgetattr(person.terminal) == before


def test_control_c_ends_a_command_and_not_the_shell(person: Person, make_turn: MakeTurn) -> None:
    result = person.use(
        make_turn(),
        ("kubectl is set up", "PS1='re''ady> '\n"),
        # The command itself says that it has the terminal: the shell alone would keep an interrupt.
        ("ready> ", "sh -c 'echo be\"\"gun; exec sleep 99'\n"),
        ("begun", "\x03"),
        # What is typed before the prompt is there again may go with the interrupted line.
        ("ready> ", "exit\n"),
    )
    assert result.status in (AgentStatus.COMPLETED, AgentStatus.FAILED)
    assert result.exit_code in (0, 130)


def test_the_deadline_ends_the_shell(person: Person, make_turn: MakeTurn) -> None:
    result = person.use(make_turn(timeout_sec=1.0))
    assert result.status is AgentStatus.TIMED_OUT


def test_words_after_it_are_refused(make_task: Callable[..., Task]) -> None:
    with pytest.raises(InvalidInputError, match="takes no words"):
        make_agent("human", AgentOptions(("x",)))(make_task())
