"""Agents of somebody else's: whatever they do, it is told as theirs and the run goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from devops_bench.agents.base import AGENTS, AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.foreign import ForeignAgent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.process import agent_environment, agent_home
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.transcript import Transcript
from devops_bench.core.errors import AgentError, InvalidInputError, RunInterruptedError
from devops_bench.core.files import read_log
from devops_bench.tasks.model import Task

MakeTurn = Callable[..., AgentTurn]
MakeTask = Callable[..., Task]
DONE = AgentResult(AgentStatus.COMPLETED, 0.0, reason="as it says")


class Acting:
    """Does in its turn what the test says."""

    name = "acting"

    def __init__(self, act: Callable[[AgentTurn], object]) -> None:
        self._act = act

    def run(self, turn: AgentTurn) -> AgentResult:
        return self._act(turn)  # type: ignore[return-value]  # as others do


def foreign(act: Callable[[AgentTurn], object]) -> ForeignAgent:
    return ForeignAgent("mine", Acting(act), grace_sec=0.5, programs_grace_sec=0.1)


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that nobody sets before the test is over."""
    event = threading.Event()
    yield event
    event.set()


class TestTurn:
    def test_its_result_is_handed_on_with_the_time_that_it_took(self, make_turn: MakeTurn) -> None:
        result = foreign(lambda _: DONE).run(make_turn())
        assert (result.status, result.reason) == (AgentStatus.COMPLETED, "as it says")
        assert result.elapsed_sec > 0

    def test_one_that_does_not_come_back_is_lost_and_nobody_waits_for_it(
        self, make_turn: MakeTurn, never: threading.Event
    ) -> None:
        result = foreign(lambda _: never.wait(60)).run(make_turn(timeout_sec=0.2))
        assert result.status is AgentStatus.LOST
        assert "did not return within 0.5 s after its 0.2 s were over" in result.reason
        assert "may still act" in result.reason

    def test_an_interruption_does_not_wait_for_it_either(
        self, make_turn: MakeTurn, never: threading.Event
    ) -> None:
        cancel = threading.Event()
        cancel.set()
        result = foreign(lambda _: never.wait(60)).run(make_turn(cancel=cancel))
        assert result.status is AgentStatus.LOST
        assert "after the run was interrupted" in result.reason

    def test_one_that_comes_back_late_was_not_in_time(
        self, make_turn: MakeTurn, never: threading.Event
    ) -> None:
        result = foreign(lambda _: never.wait(0.3) or DONE).run(make_turn(timeout_sec=0.1))
        assert result.status is AgentStatus.TIMED_OUT

    def test_a_program_that_it_waits_for_is_ended_after_the_deadline(
        self, make_turn: MakeTurn
    ) -> None:
        def wait_for_a_program(turn: AgentTurn) -> AgentResult:
            with agent_home(turn) as home:
                subprocess.run(["sleep", "60"], env=agent_environment(turn, home), check=False)
            return DONE

        result = foreign(wait_for_a_program).run(make_turn(timeout_sec=0.2))
        assert result.status is AgentStatus.TIMED_OUT
        assert "1 process(es) that it left running were ended" in result.reason

    def test_a_program_that_it_leaves_behind_is_ended(self, make_turn: MakeTurn) -> None:
        started: list[subprocess.Popen[bytes]] = []

        def leave(turn: AgentTurn) -> AgentResult:
            with agent_home(turn) as home:
                env = agent_environment(turn, home)
                started.append(subprocess.Popen(["sleep", "60"], env=env, start_new_session=True))
            return DONE

        result = foreign(leave).run(make_turn())
        assert result.status is AgentStatus.COMPLETED
        assert "1 process(es)" in result.reason
        assert started[0].wait(10) < 0

    def test_its_own_time_out_is_one(self, make_turn: MakeTurn) -> None:
        def own(turn: AgentTurn) -> AgentResult:
            subprocess.run(["sleep", "60"], timeout=turn.timeout_sec, check=False)
            return DONE

        result = foreign(own).run(make_turn(timeout_sec=0.2))
        assert result.status is AgentStatus.TIMED_OUT

    @pytest.mark.parametrize(
        ("returned", "said"),
        [
            ("done", "must return an AgentResult, not str"),
            (None, "must return an AgentResult, not NoneType"),
            (AgentResult("completed", 0.0), "must return an AgentStatus as its status"),  # type: ignore[arg-type]
            (AgentResult(AgentStatus.FAILED, 0.0, final_text=None), "str as final_text, not None"),  # type: ignore[arg-type]
            (AgentResult(AgentStatus.FAILED, 0.0, usage={}), "Usage or None as usage, not dict"),  # type: ignore[arg-type]
        ],
    )
    def test_what_is_no_result_is_said_with_the_name_of_the_class(
        self, make_turn: MakeTurn, returned: object, said: str
    ) -> None:
        with pytest.raises(AgentError) as caught:
            foreign(lambda _: returned).run(make_turn())
        assert f"the agent mine: {__name__}.Acting.run " in str(caught.value)
        assert said in str(caught.value)

    @pytest.mark.parametrize(
        "error",
        [RuntimeError("boom"), SystemExit(3), KeyboardInterrupt(), RunInterruptedError("x")],
    )
    def test_whatever_it_raises_is_an_error_of_the_agent(
        self, make_turn: MakeTurn, error: BaseException
    ) -> None:
        def raises(turn: AgentTurn) -> AgentResult:
            raise error

        turn = make_turn()
        turn = make_turn(transcript=Transcript(turn.output_dir / "t"))
        with pytest.raises(AgentError, match="the agent mine broke down: ") as caught:
            foreign(raises).run(turn)
        assert type(error).__name__ in str(caught.value)
        (record,) = read_log(turn.output_dir / "t")
        assert "Traceback" in str(record["text"])

    def test_what_it_raises_after_an_interruption_belongs_to_that(
        self, make_turn: MakeTurn
    ) -> None:
        def interrupted(turn: AgentTurn) -> AgentResult:
            turn.cancel.set()
            raise RuntimeError("interrupted")

        assert foreign(interrupted).run(make_turn()).status is AgentStatus.CANCELLED


class TestMaking:
    @pytest.fixture
    def plug_in(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
        """Make something known as ``mine``."""
        return lambda made: monkeypatch.setattr(AGENTS, "_items", {"mine": made})

    def refused(self, task: Task, options: AgentOptions | None = None) -> str:
        with pytest.raises(InvalidInputError) as caught:
            make_agent("mine", options or AgentOptions())(task)
        return str(caught.value)

    @pytest.mark.parametrize("error", [ValueError("no init sk-abcdefgh1234567890"), SystemExit(3)])
    def test_what_cannot_be_made_is_refused_as_the_agents_fault(
        self, plug_in: Callable[[object], None], make_task: MakeTask, error: BaseException
    ) -> None:
        class Bad:
            name = "bad"

            def __init__(self) -> None:
                raise error

            def run(self, turn: AgentTurn) -> AgentResult:
                return DONE

        plug_in(Bad)
        said = self.refused(make_task())
        assert said.startswith(f"the agent mine could not be made: {type(error).__name__}: ")
        assert "abcdefgh" not in said

    def test_a_bad_for_task_is_refused_too_and_its_own_refusal_stays(
        self, plug_in: Callable[[object], None], make_task: MakeTask
    ) -> None:
        class Bad:
            name = "bad"

            @classmethod
            def for_task(cls, task: Task, options: AgentOptions) -> object:
                if options.arguments:
                    raise InvalidInputError("not these words")
                raise KeyError("x")

        plug_in(Bad)
        assert "could not be made: KeyError: 'x'" in self.refused(make_task())
        assert self.refused(make_task(), AgentOptions(("x",))) == "not these words"

    def test_something_without_a_turn_is_refused(
        self, plug_in: Callable[[object], None], make_task: MakeTask
    ) -> None:
        plug_in(dict)
        assert "dict has no method run(turn)" in self.refused(make_task())

    def test_a_sandbox_is_refused_unless_the_class_says_that_it_uses_it(
        self, plug_in: Callable[[object], None], make_task: MakeTask
    ) -> None:
        class Plain:
            name = "plain"

            def run(self, turn: AgentTurn) -> AgentResult:
                return DONE

        class Honouring(Plain):
            honours_sandbox = True

        options = AgentOptions(sandbox=SandboxOptions("bwrap"))
        plug_in(Plain)
        assert "--sandbox bwrap: the agent mine would run outside" in self.refused(
            make_task(), options
        )
        plug_in(Honouring)
        assert make_agent("mine", options)(make_task()).name == "mine"


def test_the_end_of_the_program_waits_for_nobody(tmp_path: object) -> None:
    """A class that never comes back does not keep devops-bench from ending."""
    code = (
        "import threading; from devops_bench.agents.foreign import _Call\n"
        "call = _Call(type('A', (), {'run': lambda s, t: threading.Event().wait()})(), None)\n"
        "threading.Thread(target=call.run, daemon=True).start()"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == 0
