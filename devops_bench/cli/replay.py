"""``devops-bench replay``: the options. What is done with them is in ``replaying.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from devops_bench.cli.version import Output

RunArgument = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="The folder of a run, or of one task of it."),
]
SpecOption = Annotated[
    Path | None,
    typer.Option("--spec", metavar="PATH", help="Judge by this spec, not by the recorded one."),
]
VarOption = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="Set a variable of the spec. Repeatable."),
]
OutputOption = Annotated[Output, typer.Option(help="How the result is printed.")]


def replay(
    run: RunArgument,
    spec: SpecOption = None,
    var: VarOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Judge a recorded run again, offline, and say what differs from its result.

    With --spec a mended check judges what an old run recorded; what it needs and was not recorded
    is an error that says so. Nothing is written.

    Exit codes are those of run, for the verdicts of now: 0 all passed, 1 a task failed, 3
    something could not be evaluated, 2 bad input, 130 the recorded run was interrupted.
    """
    from devops_bench.cli.replaying import ReplayRequest, execute  # not for --help
    from devops_bench.cli.words import parse_variables

    request = ReplayRequest(run, spec, parse_variables(var or ()), output is Output.JSON)
    raise typer.Exit(execute(request))
