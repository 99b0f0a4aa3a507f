"""``devops-bench cluster``: build, start, look at and end local control planes."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from devops_bench.cli.output import write_quietly, write_report
from devops_bench.clusters import state
from devops_bench.clusters.state import Kind, PlaneState
from devops_bench.core.errors import ClusterError, InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue

DEFAULT_NAME = "default"

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="Build, start and end local control planes.",
)


class Output(StrEnum):
    """How a command prints its result."""

    TEXT = "text"
    JSON = "json"


NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help=f"The cluster, {DEFAULT_NAME!r} by default.")
]
NameOption = Annotated[str | None, typer.Option("--name", help="The same as the argument.")]
OutputOption = Annotated[Output, typer.Option("--output", help="How the result is printed.")]


@app.command()
def build(
    force: Annotated[bool, typer.Option(help="Build again what is in the cache already.")] = False,
) -> None:
    """Build the control plane's binaries into the cache, once; prints their folder."""
    from devops_bench.clusters import build as builder

    write_report(f"{builder.build(_say, force=force).bin_dir}\n")


@app.command()
def up(
    name: NameArgument = None,
    name_option: NameOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Start a control plane that lives until `cluster down`; prints its kubeconfig's path."""
    from devops_bench.clusters import binaries, plane

    chosen = _chosen(name, name_option)
    _sweep()
    known = state.read(chosen)
    if known is None:
        found = binaries.find_or_build(_say)
        _say(f"starting the cluster {chosen} ({found.kubernetes_version} from {found.source})")
        started = plane.start(chosen, Kind.UP, found)
        started.detach()
        known = started.state
    else:
        _require_healthy(known)
        _say(f"the cluster {chosen} is up already")
    if output is Output.JSON:
        write_report(json.dumps(_plane_json(known), indent=2) + "\n")
    else:
        write_report(f"{known.kubeconfig}\n")


@app.command()
def status(output: OutputOption = Output.TEXT) -> None:
    """Say which clusters run, and which binaries the next one uses and why."""
    from devops_bench.clusters import binaries

    _sweep()
    found = binaries.search()
    planes = state.planes()
    if output is Output.JSON:
        write_report(json.dumps(_status_json(found, planes), indent=2) + "\n")
        return
    for line in found.passed_over:
        write_report(f"{line}\n")
    if found.found is None:
        write_report("binaries: none; `devops-bench cluster build` makes them\n")
    else:
        write_report(f"binaries: {found.found.source}\n")
        for program, version in found.found.versions.items():
            write_report(f"  {program} {version}\n")
    if not planes:
        write_report("clusters: none; `devops-bench cluster up` starts one\n")
    for known in planes:
        write_report(f"cluster {known.name}: {_health(known)}, {known.version}, {known.server}\n")
        write_report(
            f"  of {_whose(known)}, since {known.created}; kubeconfig {known.kubeconfig}\n"
        )
        write_report(f"  its kubectl: devops-bench cluster kubectl --name {known.name} get nodes\n")


@app.command()
def down(
    name: NameArgument = None,
    name_option: NameOption = None,
    every: Annotated[bool, typer.Option("--all", help="End every one of `cluster up`.")] = False,
) -> None:
    """End a control plane of `cluster up` and remove what it kept; nothing to end is no error."""
    if every and (name or name_option):
        raise InvalidInputError("--all and a name do not go together")
    _sweep()
    if every:
        chosen = [known.name for known in state.planes() if known.kind is Kind.UP]
    else:
        chosen = [_chosen(name, name_option)]
    for one in chosen:
        known = state.read(one)
        if known is None:
            _say(f"there is no cluster {one}")
            continue
        if known.kind is Kind.RUN:
            raise InvalidInputError(
                f"the cluster {one} belongs to a run (process {known.owner.pid}): it ends with it"
            )
        state.remove(known)
        _say(f"ended the cluster {one}")


@app.command()
def kubeconfig(
    name: NameArgument = None,
    name_option: NameOption = None,
    content: Annotated[bool, typer.Option(help="Print the file instead of its path.")] = False,
) -> None:
    """Print the path of a cluster's kubeconfig."""
    known = _known(_chosen(name, name_option))
    write_report(known.kubeconfig.read_text() if content else f"{known.kubeconfig}\n")


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def kubectl(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENTS...", help="What kubectl gets.")
    ] = None,
    name_option: NameOption = None,
) -> None:
    """Run the cluster's own kubectl with its kubeconfig: `cluster kubectl get nodes`."""
    known = _known(_chosen(None, name_option))
    program = Path(known.binaries) / "kubectl"
    if not os.access(program, os.X_OK):
        raise ClusterError(f"the kubectl of the cluster {known.name!r} is gone: {program}")
    # Instead of this process, so that signals, the terminal and the exit code are kubectl's.
    environment = {**os.environ, "KUBECONFIG": str(known.kubeconfig)}
    os.execve(program, ["kubectl", *(arguments or ())], environment)  # noqa: S606 - no shell


def _known(name: str) -> PlaneState:
    """Return the cluster of that name once leftovers are gone; it has a kubeconfig."""
    _sweep()
    known = state.read(name)
    if known is None:
        raise InvalidInputError(
            f"there is no cluster {name!r}: `devops-bench cluster up {name}` starts it "
            f"(there are: {', '.join(state.names()) or 'none'})"
        )
    if not known.kubeconfig.is_file():
        raise ClusterError(f"the cluster {name!r} is not ready yet")
    return known


def _chosen(argument: str | None, option: str | None) -> str:
    if argument is not None and option is not None and argument != option:
        raise InvalidInputError(f"two names were given: {argument!r} and {option!r}")
    return state.check_name(argument or option or DEFAULT_NAME)


def _say(line: str) -> None:
    write_quietly(f"{line}\n", sys.stderr)


def _sweep() -> None:
    for line in state.sweep():
        _say(line)


def _require_healthy(known: PlaneState) -> None:
    health = _health(known)
    if health != "running":
        raise ClusterError(
            f"the cluster {known.name} is {health}; "
            f"`devops-bench cluster down {known.name}` removes it"
        )


def _health(known: PlaneState) -> str:
    if not known.ready:
        return "starting"
    dead = known.dead_components()
    if dead:
        return f"broken ({', '.join(dead)} died, see {known.folder / 'logs'})"
    return "running" if known.running else "ended"


def _whose(known: PlaneState) -> str:
    if known.kind is Kind.UP:
        return "`cluster up`"
    return f"a run (process {known.owner.pid})"


def _plane_json(known: PlaneState) -> JsonObject:
    return {
        "name": known.name,
        "kind": known.kind.value,
        "health": _health(known).partition(" ")[0],
        "dead_components": list[JsonValue](known.dead_components()),
        "server": known.server,
        "version": known.version,
        "kubeconfig": str(known.kubeconfig),
        "created": known.created,
        "folder": str(known.folder),
        "binaries": known.binaries,
    }


def _status_json(found: object, planes: list[PlaneState]) -> JsonObject:
    from devops_bench.clusters.binaries import Search

    assert isinstance(found, Search)  # noqa: S101 - narrows a late import for mypy
    used: JsonValue = None
    if found.found is not None:
        used = {
            "folder": str(found.found.bin_dir),
            "source": found.found.source,
            "versions": dict[str, JsonValue](found.found.versions),
        }
    passed: list[JsonValue] = [
        {"place": item.place, "reason": item.reason} for item in found.passed_over
    ]
    return {
        "binaries": used,
        "passed_over": passed,
        "clusters": [_plane_json(known) for known in planes],
    }
