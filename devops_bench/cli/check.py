"""``devops-bench check``: the options. What is done with them is in ``checking.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from devops_bench.cli.version import Output
from devops_bench.core.errors import InvalidInputError

SpecArgument = Annotated[
    Path, typer.Argument(metavar="SPEC", help="A spec, or a folder of specs.", show_default=False)
]
EntryOption = Annotated[
    list[str] | None,
    typer.Option("--entry", metavar="NAME", help="Only the entry of this name. Repeatable."),
]
KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Judge what a cluster has now.")
]
ContextOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="This context of the kubeconfig.")
]
ObjectsOption = Annotated[
    Path | None, typer.Option("--objects", metavar="FILE", help="Judge the objects of a manifest.")
]
RunOption = Annotated[
    Path | None,
    typer.Option("--run", metavar="RUN", help="Judge the last state that a run recorded."),
]
VarOption = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="Set a variable of the spec. Repeatable."),
]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Go on until Ctrl-C, and say what changes.")
]
OutputOption = Annotated[
    Output, typer.Option(help="How the result is printed; with --watch, json is one line each.")
]


def check(
    spec: SpecArgument,
    entry: EntryOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    objects: ObjectsOption = None,
    run: RunOption = None,
    var: VarOption = None,
    watch: WatchOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Judge the entries of a spec once: what matched, what was found, what it came to.

    Nothing is changed. Exit codes: 0 all pass, 3 one could not be judged (3 goes before 1), 1 one
    fails, 2 bad input.
    """
    from devops_bench.cli.checking import CheckRequest, execute  # not for --help
    from devops_bench.cli.words import parse_variables

    cluster = kubeconfig is not None or context is not None
    if [cluster, objects is not None, run is not None].count(True) != 1:
        raise InvalidInputError(
            "say what to judge by, one of --kubeconfig (with --context), --objects or --run"
        )
    if watch and not cluster:
        raise InvalidInputError("--watch needs a cluster: --kubeconfig")
    request = CheckRequest(
        spec=spec,
        entries=tuple(entry or ()),
        kubeconfig=kubeconfig,
        context=context,
        objects=objects,
        run=run,
        variables=parse_variables(var or ()),
        watch=watch,
        as_json=output is Output.JSON,
    )
    raise typer.Exit(execute(request))
