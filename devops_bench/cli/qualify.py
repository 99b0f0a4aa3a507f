"""``devops-bench qualify``: the options. What is done with them is in ``qualification.py``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from devops_bench.cli.run import (
    ContextOption,
    KubeconfigOption,
    Output,
    OutputOption,
    ProviderOption,
    VarOption,
)
from devops_bench.cli.words import parse_variables
from devops_bench.core.errors import InvalidInputError


class MutantPack(StrEnum):
    """Mutants besides those of a task's own."""

    BUILTIN = "builtin"


SpecOption = Annotated[
    list[Path] | None,
    typer.Option("--spec", metavar="PATH", help="A spec, or a folder of specs. Repeatable."),
]
RepeatOption = Annotated[int, typer.Option(min=1, help="How often each control runs.")]
JobsOption = Annotated[int, typer.Option(min=1, help="How many runs are at work at a time.")]
MutantsOption = Annotated[
    MutantPack | None,
    typer.Option(help="Run generic mutants as well, made from the objects of each setup."),
]
ResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--results-dir", metavar="FOLDER", help="Where the folder is made.", show_default="results"
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        "--resume", metavar="FOLDER", help="Continue one that was ended: only what is missing runs."
    ),
]
JunitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the report as JUnit XML, too."),
]


def qualify(
    spec: SpecOption = None,
    repeat: RepeatOption = 1,
    jobs: JobsOption = 1,
    mutants: MutantsOption = None,
    provider: ProviderOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    var: VarOption = None,
    results_dir: ResultsOption = None,
    resume: ResumeOption = None,
    output: OutputOption = Output.TEXT,
    junit: JunitOption = None,
) -> None:
    """Test specs by their controls: the oracle must pass, doing nothing must fail, harm be caught.

    Exit codes: 0 every control did as expected, 1 one did not, 3 one could not be evaluated (3
    goes before 1), 2 bad input and nothing was touched, 130 interrupted.
    """
    from devops_bench.cli.outputfile import OutputFile  # none of them for --help
    from devops_bench.cli.qualification import Order, qualify_specs
    from devops_bench.core.shielding import shield_memory

    shield_memory()
    if provider is not None and (kubeconfig is not None or context is not None):
        raise InvalidInputError(
            "--provider starts clusters, --kubeconfig and --context name an existing one: "
            "give one or the other"
        )
    if jobs > 1 and (kubeconfig is not None or context is not None):
        raise InvalidInputError(
            "--jobs: runs at the same time on one existing cluster would meet each other"
        )
    given = [spec, mutants, provider, kubeconfig, context, var, results_dir]
    if resume is not None and (repeat != 1 or any(value is not None for value in given)):
        raise InvalidInputError(
            "--resume continues what was asked for then; only --jobs, --output and --junit go "
            "with it"
        )
    if resume is None and not spec:
        raise InvalidInputError("say what to qualify: --spec PATH, or --resume FOLDER")
    order = Order(
        specs=tuple(spec or ()),
        repeat=repeat,
        jobs=jobs,
        builtin=mutants is not None,
        provider=None if provider is None else str(provider),
        kubeconfig=kubeconfig,
        context=context,
        variables=parse_variables(var or ()),
        results_dir=results_dir or Path("results"),
        resume=resume,
        as_json=output is Output.JSON,
        junit=None if junit is None else OutputFile(junit, "--junit"),
    )
    raise typer.Exit(qualify_specs(order))
