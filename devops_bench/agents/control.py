"""The agents whose result is known: the task's controls, by name."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench.agents.base import AGENTS, AgentResult, AgentTurn
from devops_bench.agents.idle import NoopAgent
from devops_bench.agents.mutants import builtin_mutants
from devops_bench.agents.options import AgentOptions, refuse_arguments
from devops_bench.agents.process import agent_home, run_agent_program
from devops_bench.agents.script import script_argv
from devops_bench.core.errors import AgentError, InvalidInputError
from devops_bench.core.shebang import is_shell_script
from devops_bench.tasks.model import ControlScript
from devops_bench.tasks.schema import BUILTIN_PREFIX

if TYPE_CHECKING:
    from devops_bench.agents.base import Agent
    from devops_bench.tasks.model import Task

ORACLE_VARIABLE = "ORACLE"
"""Names, for every control, the file of the oracle: ``bash "$ORACLE"`` does the work."""


@AGENTS.register("control")
class ControlAgent:
    """Runs a script of the task's own: ``--agent control -- NAME``.

    A ``script`` runs as a script of the user's would, ``run`` with ``bash -euo pipefail``. The
    task's variables are in its environment under their own names, so that a script, whose text is
    not touched, can read them, and so is :data:`ORACLE_VARIABLE`; an agent gets neither.

    Args:
        task: The task.
        name: The control's name.
        does: What it does.
    """

    name = "control"

    def __init__(self, task: Task, name: str, does: ControlScript) -> None:
        self.name = name
        self._task = task
        self._does = does

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> Agent:
        """Return the control that the one word names.

        Raises:
            InvalidInputError: No name was given, the task has no such control, or its script is
                not there.
        """
        if len(options.arguments) != 1:
            raise InvalidInputError(
                "--agent control takes one word, the control's name: "
                "--agent control -- oracle, noop, partial, or a mutant's name"
            )
        return control_agent(task, options.arguments[0])

    def run(self, turn: AgentTurn) -> AgentResult:
        """Run the script for the turn.

        Raises:
            AgentError: It could not be started.
        """
        with agent_home(turn) as home:
            environment = dict(self._task.variables)
            oracle = self._task.controls.oracle
            if oracle is not None:
                environment[ORACLE_VARIABLE] = str(_for_bash(oracle, home / "oracle.sh"))
            file = _file_of(self._does, home / "control.sh")
            if self._does.script is not None:
                argv = script_argv(file)
            else:
                argv = ["bash", "-euo", "pipefail", str(file)]
            # A control may read what lies beside its script; it is no agent that must not see it.
            scripts = [one.script for one in (oracle, self._does) if one is not None]
            reads = tuple(file.absolute().parent for file in scripts if file is not None)
            return run_agent_program(argv, turn, home, extra_env=environment, reads=reads)


def _file_of(does: ControlScript, new: Path) -> Path:
    """Return the script's file; an inline script is written to ``new``.

    A file rather than ``-c``: an argument is bounded, and shows in every process list.
    """
    if does.script is not None:
        return does.script
    if not new.exists():
        new.write_text(f"set -euo pipefail\n{does.run or ''}", encoding="utf-8")
    return new


def _for_bash(oracle: ControlScript, new: Path) -> Path:
    """Return a file by which bash runs the oracle, in whatever language it is written.

    Raises:
        AgentError: The oracle's script could not be read.
    """
    file = _file_of(oracle, new)
    try:
        argv = script_argv(file)
        runs_itself = argv == [str(file)]
        if not runs_itself or is_shell_script(file.read_text("utf-8", errors="replace")):
            return file
    except PermissionError:  # executable, and not readable: no shell's script
        argv = [str(file)]
    except OSError as exc:
        raise AgentError(f"the oracle {file} cannot be read: {exc.strerror}") from exc
    new.write_text(f'exec {shlex.join(argv)} "$@"\n', encoding="utf-8")
    new.chmod(0o700)
    return new


def control_agent(task: Task, name: str) -> Agent:
    """Return a control of the task.

    Args:
        task: The task.
        name: ``oracle``, ``noop``, ``partial``, the name of one of its mutants, or of a generic
            mutant that applies to it.

    Raises:
        InvalidInputError: It has no such control, or the control's script is not there.
    """
    if name == NoopAgent.name:
        return NoopAgent()
    scripts = control_scripts(task)
    if name.startswith(BUILTIN_PREFIX):
        scripts = {one.name: one.does for one in builtin_mutants(task).mutants}
    if name not in scripts:
        where = "generic mutant" if name.startswith(BUILTIN_PREFIX) else "control"
        known = ", ".join([NoopAgent.name, *scripts])
        raise InvalidInputError(f"task {task.id} has no {where} {name!r}; it has {known}")
    does = scripts[name]
    if does.script is not None and not does.script.is_file():
        raise InvalidInputError(f"the {name} {does.script} of task {task.id} is not a file")
    return ControlAgent(task, name, does)


def control_scripts(task: Task) -> dict[str, ControlScript]:
    """Return what each control of the task does, by its name; doing nothing is not among them."""
    controls = task.controls
    scripts: dict[str, ControlScript] = {}
    if controls.oracle is not None:
        scripts["oracle"] = controls.oracle
    if controls.partial is not None:
        scripts["partial"] = controls.partial.does
    scripts.update({mutant.name: mutant.does for mutant in controls.mutants})
    return scripts


@AGENTS.register("oracle")
class OracleAgent(ControlAgent):
    """Runs ``controls.oracle`` of the task; with it the task must pass.

    Args:
        task: A task that has an oracle.

    Raises:
        ValueError: It has none.
    """

    def __init__(self, task: Task) -> None:
        oracle = task.controls.oracle
        if oracle is None:
            raise ValueError(f"task {task.id} has no oracle")
        super().__init__(task, "oracle", oracle)

    @classmethod
    def for_task(cls, task: Task, options: AgentOptions) -> OracleAgent:
        """Return the task's oracle.

        Raises:
            InvalidInputError: The task has none, its script is not there, or words were given
                after ``--``.
        """
        refuse_arguments("oracle", options)
        oracle = task.controls.oracle
        if oracle is None:
            raise InvalidInputError(
                f"task {task.id} has no oracle: controls.oracle is missing in {task.source}"
            )
        if oracle.script is not None and not oracle.script.is_file():
            raise InvalidInputError(f"the oracle {oracle.script} of task {task.id} is not a file")
        return cls(task)
