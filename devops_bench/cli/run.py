"""``devops-bench run``: the options. What is done with them is in ``execution.py``."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from devops_bench.cli.logs import LoggingCommand
from devops_bench.cli.output import write_quietly
from devops_bench.cli.words import misplaced_options, parse_variables, split_agent_words
from devops_bench.core.errors import InvalidInputError

if TYPE_CHECKING:
    from devops_bench.agents.sandbox.options import SandboxKind, SandboxOptions

_WORDS = "devops_bench.cli.run.words"
_OWN_OF_THE_AGENT = frozenset({"HOME", "KUBECONFIG", "TMPDIR"})


class Provider(StrEnum):
    """Where a new cluster comes from."""

    LOCAL = "local"
    KIND = "kind"


class Output(StrEnum):
    """What is written to standard output."""

    TEXT = "text"
    JSON = "json"


class Sandbox(StrEnum):
    """What keeps an agent from seeing and reaching what is not its business."""

    NONE = "none"
    BWRAP = "bwrap"
    DOCKER = "docker"


class RunCommand(LoggingCommand):
    """Keeps the words after ``--`` apart: click would take them for arguments of ours."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Split the words for the agent off, then parse as ever."""
        own, words = split_agent_words(args)
        ctx.meta[_WORDS] = words
        return super().parse_args(ctx, own)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Show the words in the usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- AGENT WORDS...]"]


SpecOption = Annotated[
    list[Path],
    typer.Option("--spec", metavar="PATH", help="A spec, or a folder of specs. Repeatable."),
]
AgentOption = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help="Who gets the turn: oracle (the spec's control), noop (does nothing), none (no turn:"
        " judge what is there), script FILE, command -- PROGRAM ARGUMENTS, llm -- --model MODEL,"
        " human, or a coding CLI: claude-code, codex, gemini-cli, opencode.",
    ),
]
ProviderOption = Annotated[
    Provider | None, typer.Option(help="Start a cluster for the run; local when nothing is said.")
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="Use an existing cluster. $KUBECONFIG selects nothing."
    ),
]
ContextOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Use an existing cluster: this context of the kubeconfig."),
]
AdoptOption = Annotated[
    bool, typer.Option("--adopt", help="Take over objects of the setup that are there already.")
]
VarOption = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="Set a variable of the specs. Repeatable."),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", help="Seconds of each turn, instead of the task's own."
    ),
]
AgentEnvOption = Annotated[
    list[str] | None,
    typer.Option(
        "--agent-env", metavar="NAME", help="Pass this variable on to the agent. Repeatable."
    ),
]
SandboxOption = Annotated[
    Sandbox, typer.Option(help="Run the agent in a sandbox; see doctor for what there is.")
]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST[:PORT]",
        help="Let the agent reach this from its sandbox, besides the API server. Repeatable.",
    ),
]
SandboxReadOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--sandbox-read",
        metavar="PATH",
        help="Let the agent read this file or folder in its sandbox. Repeatable.",
    ),
]
SandboxImageOption = Annotated[
    str | None,
    typer.Option(
        "--sandbox-image",
        metavar="IMAGE",
        help="The image that the agent runs in with --sandbox docker; it is not pulled.",
    ),
]
PricesOption = Annotated[
    str | None,
    typer.Option(
        "--prices",
        metavar="IN,OUT[,CACHED]",
        help="US dollars per million tokens, to say what a turn cost.",
    ),
]
ResultsOption = Annotated[
    Path, typer.Option("--results-dir", metavar="FOLDER", help="Where the run's folder is made.")
]
OutputOption = Annotated[
    Output, typer.Option(help="What goes to stdout; with json, progress goes to stderr.")
]
KeepOption = Annotated[
    bool, typer.Option("--keep", help="Leave the cluster, or what was made on it, in place.")
]
AllowInvalidOption = Annotated[
    bool,
    typer.Option(
        "--allow-invalid-entries",
        help="Run although entries do not parse: they are errors in the report.",
    ),
]


def run(
    ctx: typer.Context,
    spec: SpecOption,
    agent: AgentOption,
    provider: ProviderOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    adopt: AdoptOption = False,
    var: VarOption = None,
    timeout: TimeoutOption = None,
    agent_env: AgentEnvOption = None,
    sandbox: SandboxOption = Sandbox.NONE,
    allow_host: AllowHostOption = None,
    sandbox_read: SandboxReadOption = None,
    sandbox_image: SandboxImageOption = None,
    prices: PricesOption = None,
    results_dir: ResultsOption = Path("results"),
    output: OutputOption = Output.TEXT,
    keep: KeepOption = False,
    allow_invalid_entries: AllowInvalidOption = False,
) -> None:
    """Run specs: prepare a cluster, let an agent work, judge what it did.

    Exit codes: 0 all passed, 1 a task failed, 3 something could not be evaluated (3 goes before
    1), 2 bad input and nothing was touched, 130 interrupted.
    """
    from devops_bench.cli.execution import RunRequest, execute  # not for --help

    if provider is not None and (kubeconfig is not None or context is not None):
        raise InvalidInputError(
            "--provider starts a cluster, --kubeconfig and --context name an existing one: "
            "give one or the other"
        )
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise InvalidInputError(f"--timeout must be a number of seconds > 0, not {timeout:g}")
    request = RunRequest(
        specs=tuple(spec),
        agent=agent,
        agent_words=tuple(ctx.meta[_WORDS]),
        provider=None if provider is None else str(provider),
        kubeconfig=kubeconfig,
        context=context,
        adopt=adopt,
        variables=parse_variables(var or ()),
        timeout_sec=timeout,
        agent_environment=chosen_environment(agent_env or ()),
        sandbox=sandbox_options(sandbox, allow_host or (), sandbox_read or (), sandbox_image),
        prices=prices,
        results_dir=results_dir,
        as_json=output is Output.JSON,
        keep=keep,
        allow_invalid_entries=allow_invalid_entries,
    )
    own_options = {name for option in ctx.command.params for name in option.opts}
    for name in misplaced_options(request.agent_words, own_options):
        write_quietly(
            f"warning: {name} stands after --, so it goes to the agent; write it before -- if it "
            "is meant for devops-bench\n",
            sys.stderr,
        )
    raise typer.Exit(execute(request))


def sandbox_options(
    sandbox: Sandbox, hosts: Iterable[str], paths: Iterable[Path], image: str | None = None
) -> SandboxOptions | None:
    """Return the sandbox that was asked for, ``None`` for none.

    Raises:
        InvalidInputError: A host is none or has no address, a path does not exist, an image is
            missing, or there is no sandbox that the other options could be for.
    """
    from devops_bench.agents.sandbox.options import (  # not for --help
        SandboxOptions,
        parse_endpoint,
        require_resolvable,
    )

    allowed = tuple(parse_endpoint(host) for host in hosts)
    readable = tuple(path.expanduser().absolute() for path in paths)
    if sandbox is Sandbox.DOCKER and not image:
        raise InvalidInputError(
            "--sandbox docker needs an image with the agent's program: give --sandbox-image IMAGE"
        )
    if sandbox is not Sandbox.DOCKER and image is not None:
        raise InvalidInputError("--sandbox-image is for --sandbox docker")
    if sandbox is Sandbox.NONE:
        if allowed or readable:
            raise InvalidInputError(
                "--allow-host and --sandbox-read are for a sandbox: give --sandbox bwrap or docker"
            )
        return None
    for path in readable:
        if not path.exists():
            raise InvalidInputError(f"--sandbox-read {path} does not exist")
    for endpoint in allowed:
        require_resolvable(endpoint)
    kind: SandboxKind = "docker" if sandbox is Sandbox.DOCKER else "bwrap"
    return SandboxOptions(kind, allowed, readable, image=image)


def chosen_environment(names: Iterable[str]) -> dict[str, str]:
    """Return the variables of our environment that ``--agent-env`` names.

    Raises:
        InvalidInputError: One is not set, is not a name, or is what the agent has its own of.
    """
    chosen: dict[str, str] = {}
    for name in names:
        if "=" in name:
            raise InvalidInputError(
                f"--agent-env takes the name of a variable that is set, not {name.split('=')[0]}=…"
            )
        if name in _OWN_OF_THE_AGENT:
            raise InvalidInputError(f"--agent-env {name}: the agent has a {name} of its own")
        if name not in os.environ:
            raise InvalidInputError(f"--agent-env {name}: that variable is not set")
        chosen[name] = os.environ[name]
    return chosen
