"""``devops-bench verify``: the options. What is done with them is in ``verification.py``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from devops_bench.cli.version import Output
from devops_bench.core.errors import InvalidInputError
from devops_bench.verify_protocol.model import Compat

_OWN = "SERVER_HOSTNAME"

TasksArgument = Annotated[
    list[Path],
    typer.Argument(metavar="TASK_DIR", help="Folders of tasks: verify.py and meta.json."),
]
ResultDirOption = Annotated[
    Path,
    typer.Option("--result-dir", metavar="FOLDER", help="Where TASK_ID_verify.json is written."),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--select", metavar="PATTERN", help="Only tasks with such an id, as media_*. Repeatable."
    ),
]
SlotOption = Annotated[
    str,
    typer.Option(
        "--slot", metavar="N,N...", help="The slots that may be used; no other run shares them."
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="Scripts at a time; as many as slots by default."),
]
HostnameOption = Annotated[
    str, typer.Option("--server-hostname", metavar="HOST", help="Where the sites are reached.")
]
PortMapOption = Annotated[
    Path | None,
    typer.Option("--port-map", metavar="FILE", help='The ports, as JSON: {"baserow": 8080}.'),
]
SitesOption = Annotated[
    Path | None,
    typer.Option("--sites", metavar="FILE", help="More sites, as JSON (docs/verify.md)."),
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="Pass this variable on to the script. Repeatable."),
]
PythonOption = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help="The interpreter; by default the one in use."),
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Seconds that each script may take.")
]
CompatOption = Annotated[
    Compat,
    typer.Option("--compat", help="By whose rules: strict, or those of the reference runner."),
]
JunitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Also write a JUnit report.")
]
OutputOption = Annotated[
    Output, typer.Option(help="What goes to stdout; with json, progress goes to stderr.")
]


def verify(
    tasks: TasksArgument,
    result_dir: ResultDirOption,
    select: SelectOption = None,
    slot: SlotOption = "0",
    jobs: JobsOption = None,
    server_hostname: HostnameOption = "localhost",
    port_map: PortMapOption = None,
    sites: SitesOption = None,
    env: EnvOption = None,
    python: PythonOption = None,
    timeout: TimeoutOption = 300.0,
    compat: CompatOption = Compat.STRICT,
    junit: JunitOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Run the verify.py of SaaS-Bench tasks and judge what they print.

    Exit codes: 0 all passed, 1 a task failed, 3 a task could not be evaluated or has no verify.py
    (3 goes before 1), 2 bad input and nothing was run, 130 interrupted.
    """
    from devops_bench.cli.outputfile import OutputFile  # none of them for --help
    from devops_bench.cli.verification import VerifyRequest, execute

    if not (math.isfinite(timeout) and timeout > 0):
        raise InvalidInputError(f"--timeout must be a number of seconds > 0, not {timeout:g}")
    request = VerifyRequest(
        folders=tuple(tasks),
        result_dir=result_dir,
        select=tuple(select or ()),
        slots=slot,
        jobs=jobs,
        server_hostname=server_hostname,
        port_map=port_map,
        sites=sites,
        environment=chosen_environment(env or ()),
        python=python,
        timeout_sec=timeout,
        compat=compat,
        junit=None if junit is None else OutputFile(junit, "--junit"),
        as_json=output is Output.JSON,
    )
    raise typer.Exit(execute(request))


def chosen_environment(names: Iterable[str]) -> dict[str, str]:
    """Return the variables of our environment that ``--env`` names.

    Raises:
        InvalidInputError: One is not set, is not a name, or is the protocol's own.
    """
    chosen: dict[str, str] = {}
    for name in names:
        if "=" in name:
            raise InvalidInputError(
                f"--env takes the name of a variable that is set, not {name.split('=')[0]}=…"
            )
        if name == _OWN:
            raise InvalidInputError(f"--env {name}: that is what --server-hostname sets")
        if name not in os.environ:
            raise InvalidInputError(f"--env {name}: that variable is not set")
        chosen[name] = os.environ[name]
    return chosen
