"""The command ``devops-bench``: which commands there are, and what happens to their errors.

A command's module is imported when the command is used, not before: ``--help`` and shell
completion start as fast as typer itself does.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Protocol

import typer
import typer.core
import typer.main

from devops_bench.cli.errors import report_error
from devops_bench.cli.logs import LogFormat, LoggingCommand, LogLevel
from devops_bench.cli.output import replace_closed_streams


@dataclass(frozen=True, slots=True)
class Entry:
    """A command that is imported when it is used.

    Attributes:
        module: The module below ``devops_bench.cli``.
        attribute: A function with typer's annotations, or a ``typer.Typer``.
        help: The line in the list of commands.
        command_class: The name of the module's own command class, empty for the usual one.
        logs: Whether it logs; those that do not never import structlog. A class of its own has to
            derive from :class:`~devops_bench.cli.logs.LoggingCommand` for that.
    """

    module: str
    attribute: str
    help: str
    command_class: str = ""
    logs: bool = False


COMMANDS: dict[str, Entry] = {
    "run": Entry(
        "run", "run", "Run specs: prepare a cluster, let an agent work, judge.", "RunCommand", True
    ),
    "verify": Entry("verify", "verify", "Run and judge the verify.py of SaaS-Bench tasks."),
    "check": Entry("check", "check", "Judge a spec's entries once and say why.", logs=True),
    "replay": Entry("replay", "replay", "Judge a recorded run again, offline.", logs=True),
    "doctor": Entry("doctor", "doctor", "Say whether a cluster can be watched.", logs=True),
    "qualify": Entry("qualify", "qualify", "Test specs by running their controls.", logs=True),
    "lint": Entry("lint", "lint", "Say everything that is wrong with specs."),
    "schema": Entry("schema", "schema", "Print the JSON Schema of a spec, for editors."),
    "cluster": Entry("cluster", "app", "Build, start and end local control planes."),
    "version": Entry("version", "version", "Print the version."),
}


class _HelpFormatter(Protocol):
    """What is used of click's formatter."""

    def section(self, name: str) -> AbstractContextManager[None]: ...

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None: ...


class LazyGroup(typer.core.TyperGroup):
    """A group that knows its commands by name and imports one when it is asked for."""

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, in the order in which they are met."""
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> typer.core.TyperCommand | None:  # noqa: ARG002
        """Import and return the command."""
        entry = COMMANDS.get(cmd_name)
        return None if entry is None else load_command(cmd_name, entry)

    def format_commands(self, ctx: object, formatter: _HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def load_command(name: str, entry: Entry) -> typer.core.TyperCommand:
    """Import a command.

    Args:
        name: What it is called on the command line.
        entry: Where it is.
    """
    module = importlib.import_module(f"devops_bench.cli.{entry.module}")
    target = getattr(module, entry.attribute)
    if isinstance(target, typer.Typer):
        wrapper = target
    else:
        wrapper = typer.Typer(rich_markup_mode=None, add_completion=False)
        usual = LoggingCommand if entry.logs else None
        command_class = getattr(module, entry.command_class) if entry.command_class else usual
        wrapper.command(name, cls=command_class)(target)
    command = typer.main.get_command(wrapper)
    command.name = name
    return command  # type: ignore[return-value]


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,  # rich costs more time than everything else together
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from devops_bench.cli.version import version

        version()
        raise typer.Exit


@app.callback()
def devops_bench(
    log_level: Annotated[
        LogLevel, typer.Option(envvar="DEVOPS_BENCH_LOG_LEVEL", help="What is logged to stderr.")
    ] = LogLevel.WARNING,
    log_format: Annotated[
        LogFormat, typer.Option(envvar="DEVOPS_BENCH_LOG_FORMAT", help="How a log line looks.")
    ] = LogFormat.TEXT,
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Evaluate agents that operate Kubernetes: a verdict is never better than what was observed."""


def main() -> None:
    """Run the command line and exit: 0, or as ``docs/exit-codes.md`` says."""
    replace_closed_streams()
    try:
        app(prog_name="devops-bench")
    except Exception as exc:  # noqa: BLE001 - nobody is above us to show it
        sys.exit(report_error(exc))
