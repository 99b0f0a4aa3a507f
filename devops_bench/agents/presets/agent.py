"""The agent that is a public coding CLI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from devops_bench.agents.base import (
    AGENTS,
    MAX_FINAL_TEXT,
    Agent,
    AgentResult,
    AgentStatus,
    AgentTurn,
)
from devops_bench.agents.command import located
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.presets.model import Preset, load_preset, preset_names, read_preset
from devops_bench.agents.presets.reading import OutputReader
from devops_bench.agents.process import AgentProgram, agent_home, run_program_for_turn
from devops_bench.agents.usage import Prices
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task

_PROMPT = "{prompt}"


class CliAgent:
    """Runs a coding CLI headless and reads what it prints.

    Args:
        name: The preset's name.
        preset: How it is started and read.
        program: Its program, a name or an absolute path.
        words: More arguments of the user's.
        prices: To say what the tokens cost where the CLI does not.
    """

    def __init__(
        self,
        name: str,
        preset: Preset,
        program: str,
        words: tuple[str, ...] = (),
        prices: Prices | None = None,
    ) -> None:
        self.name = name
        self._preset = preset
        self._program = program
        self._words = words
        self._prices = prices

    def run(self, turn: AgentTurn) -> AgentResult:
        """Run it for the turn.

        Raises:
            AgentError: It could not be started.
        """
        preset = self._preset
        reader = OutputReader(preset, turn.transcript, self._prices)
        last = [word.replace(_PROMPT, turn.prompt) for word in preset.last_arguments]
        program = AgentProgram(
            [self._program, *preset.arguments, *self._words, *last],
            stdin=turn.prompt.encode() if preset.prompt == "stdin" else None,
            extra_env=preset.environment,
            reads=(Path(self._program),) if Path(self._program).is_absolute() else (),
            on_line=reader.line,
        )
        with agent_home(turn) as home:
            ended = run_program_for_turn(program, turn, home)
        reader.close()
        return self._result(ended, reader)

    def _result(self, ended: AgentResult, reader: OutputReader) -> AgentResult:
        status, said = self._status(ended, reader)
        usage = reader.usage if self._prices is None else self._prices.priced(reader.usage)
        return AgentResult(
            status=status,
            elapsed_sec=ended.elapsed_sec,
            exit_code=ended.exit_code,
            reason=f"{said}; {ended.reason}" if said else ended.reason,
            leftover_processes=ended.leftover_processes,
            final_text=reader.final_text[:MAX_FINAL_TEXT],
            usage=usage if usage.known else None,
            sandbox=ended.sandbox,
            records=ended.records,
        )

    def _status(self, ended: AgentResult, reader: OutputReader) -> tuple[AgentStatus, str]:
        """Return how it ended and why: the worst of what it said and of what was seen."""
        if ended.status in (AgentStatus.TIMED_OUT, AgentStatus.CANCELLED):
            return ended.status, ""
        outcome, text = reader.outcome, reader.outcome_text.strip().partition("\n")[0][:300]
        if outcome not in (None, AgentStatus.COMPLETED):
            return outcome, f"it said: {text}" if text else f"it said that it was {outcome}"
        if ended.status is not AgentStatus.COMPLETED:
            return self._preset.exit_codes.get(ended.exit_code or 0, ended.status), ""
        if not reader.lines:
            return AgentStatus.EMPTY, "it printed nothing"
        if outcome is None and not reader.events:
            return AgentStatus.FAILED, "nothing of what it printed is in the format of its preset"
        if outcome is None:
            return AgentStatus.FAILED, "its output ended before it said how it ended"
        if not reader.final_text.strip():
            return AgentStatus.EMPTY, "its answer is empty"
        return AgentStatus.COMPLETED, ""


class _PresetClass:
    """What is registered for a preset: makes the agent of a task."""

    preset_name: ClassVar[str]
    name: str

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> Agent:  # noqa: ARG003
        """Return the agent; the words after ``--`` become arguments of the CLI.

        Raises:
            InvalidInputError: The CLI is not found.
        """
        preset = load_preset(cls.preset_name)
        return _agent(cls.preset_name, preset, options.arguments, options)

    def run(self, turn: AgentTurn) -> AgentResult:
        """Never called: ``for_task`` makes what takes the turn."""
        raise NotImplementedError


@AGENTS.register("preset")
class PresetFileAgent(_PresetClass):
    """A CLI by a preset file of the user's: ``--agent preset -- FILE [ARGUMENT…]``."""

    name = "preset"

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> Agent:  # noqa: ARG003
        """Return the agent; the first word is the preset's file.

        Raises:
            InvalidInputError: No file was given, it is no preset, or the CLI is not found.
        """
        if not options.arguments:
            raise InvalidInputError(
                "--agent preset needs the preset's file: --agent preset -- FILE.toml [ARGUMENT…]"
            )
        file = options.base_dir / Path(options.arguments[0]).expanduser()
        return _agent(file.stem, read_preset(file), options.arguments[1:], options)


def _agent(name: str, preset: Preset, words: tuple[str, ...], options: AgentOptions) -> CliAgent:
    return CliAgent(name, preset, located(preset.command, options), words, options.prices)


def _register() -> None:
    for preset_name in preset_names():
        made = type(
            f"Preset_{preset_name}",
            (_PresetClass,),
            {"preset_name": preset_name, "name": preset_name, "__module__": __name__},
        )
        AGENTS.register(preset_name)(made)


_register()
