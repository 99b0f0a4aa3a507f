"""What an agent class may be given on the command line, and how it becomes an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from devops_bench.agents.base import Agent
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.usage import Prices
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What the user said about the agent.

    Attributes:
        arguments: The words after ``--``.
        base_dir: What relative paths of the user are relative to.
        search_path: The ``PATH`` that programs are looked up on, ``None`` for that of this process.
        prices: What tokens cost, ``None`` when nobody said.
        sandbox: What the agent may see and reach; ``None`` for everything that this process may.
    """

    arguments: tuple[str, ...] = ()
    base_dir: Path = field(default_factory=Path.cwd)
    search_path: str | None = None
    prices: Prices | None = None
    sandbox: SandboxOptions | None = None

    @property
    def in_image(self) -> bool:
        """Whether programs are those of an image, so that a name is not looked up here."""
        return self.sandbox is not None and self.sandbox.kind == "docker"


@runtime_checkable
class AgentClass(Protocol):
    """An agent class that looks at the task and the options before anything is touched."""

    def for_task(self, task: Task, options: AgentOptions) -> Agent:
        """Return the agent for a task, having touched nothing.

        Raises:
            InvalidInputError: It cannot take that task's turn (not found, no such control, options
                that it does not take); the message says what would be right.
        """
        ...


def refuse_arguments(name: str, options: AgentOptions) -> None:
    """Refuse words after ``--`` on behalf of an agent that takes none.

    Raises:
        InvalidInputError: There are some.
    """
    if options.arguments:
        raise InvalidInputError(
            f"--agent {name} takes no words after it, but was given {options.arguments[0]!r}"
        )
