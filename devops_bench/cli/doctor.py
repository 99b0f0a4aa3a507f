"""``devops-bench doctor``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devops_bench.cli.errors import print_error, printable
from devops_bench.cli.output import write_report
from devops_bench.cli.version import Output
from devops_bench.core.errors import ClusterError
from devops_bench.core.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from devops_bench.k8s.examination import Finding

EXIT_OK = 0
EXIT_LIMITED = 1
EXIT_NOT_EXAMINED = 3

_TITLES = {
    "version": "server version",
    "kinds": "kinds",
    "rights": "rights",
    "identity": "identity",
    "versions_ordered": "ordered resourceVersions",
    "one_history": "one history for all kinds",
    "exact_lists": "exact LISTs",
    "bookmarks": "bookmarks",
    "end_fence": "end fence",
    "audit": "audit log",
    "sandbox_bwrap": "sandbox bwrap",
    "sandbox_docker": "sandbox docker",
    "file_watch": "watch on files",
}
_NOT_EXAMINED = "No cluster was examined: --kubeconfig FILE or --context NAME says which."
_OF_THE_MACHINE = ("audit", "sandbox_bwrap", "sandbox_docker", "file_watch")


def doctor(
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", metavar="FILE", help="The cluster's kubeconfig.")
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="This context of the kubeconfig.")
    ] = None,
    output: Annotated[Output, typer.Option(help="How the findings are printed.")] = Output.TEXT,
) -> None:
    """Say whether a cluster can be watched, and how agents can be held here, by trying.

    Without a cluster only this machine is looked at. Nothing is written to the cluster. Takes about
    ten seconds. Exit codes: 0 everything works, 1 some entries would only be sampled or gaps could
    stay, 3 the cluster could not be examined, 2 bad input. What this machine has not changes no
    exit code.
    """
    found = [*_sandboxes(), _file_watch()]
    for one in found:
        _show(one, output)
    examined = kubeconfig is not None or context is not None
    problem = _examine(kubeconfig, context, found, output) if examined else ""
    code = _exit_code(found, problem)
    if output is Output.JSON:
        listed: list[JsonValue] = [
            {"name": one.name, "grade": one.grade, "detail": one.detail} for one in found
        ]
        body: JsonObject = {"exit_code": code, "problem": problem or None, "findings": listed}
        write_report(json.dumps(body, indent=2) + "\n")
    elif not problem:
        write_report(f"{_summary(found, code) if examined else _NOT_EXAMINED}\n")
    if problem:
        print_error(f"the cluster could not be examined to the end: {problem}")
    raise typer.Exit(code)


def _examine(
    kubeconfig: Path | None, context: str | None, found: list[Finding], output: Output
) -> str:
    """Add what is found on a cluster; return what kept it from being examined to the end.

    Raises:
        InvalidInputError: The file or the context is wrong.
        ClusterError: The server does not answer at all, or not to these credentials.
    """
    from devops_bench.k8s.client import connect  # not for --help
    from devops_bench.k8s.examination import Examination

    client = connect(kubeconfig, context)
    try:
        for finding in Examination(client).findings():
            found.append(finding)
            _show(finding, output)
        found.append(_audit(client.config.server))
        _show(found[-1], output)
    except ClusterError as exc:
        return str(exc)
    finally:
        client.close()
    return ""


def _show(finding: Finding, output: Output) -> None:
    if output is Output.TEXT:
        title = _TITLES.get(finding.name, finding.name)
        write_report(f"{finding.grade:8} {title}: {printable(finding.detail)}\n")


def _summary(found: list[Finding], code: int) -> str:
    about = [one for one in found if one.name not in _OF_THE_MACHINE]
    rights = next((one for one in about if one.name == "rights"), None)
    unknown = ", ".join(_TITLES.get(one.name, one.name) for one in about if one.grade == "unknown")
    but = f" Not known: {unknown}." if unknown else ""
    if rights is not None and rights.grade == "limited":
        detail = printable(rights.detail)
        return f"{detail[:1].upper()}{detail[1:]}.{but}"
    if code == EXIT_OK:
        return f"This cluster can be watched.{but}"
    return f"This cluster can be watched with the limits above.{but}"


def _exit_code(found: list[Finding], problem: str) -> int:
    if problem:
        return EXIT_NOT_EXAMINED
    limited = any(one.grade == "limited" for one in found if one.name not in _OF_THE_MACHINE)
    return EXIT_LIMITED if limited else EXIT_OK


def _sandboxes() -> list[Finding]:
    """Try each sandbox that an agent could run in."""
    from devops_bench.agents.sandbox.availability import availability
    from devops_bench.k8s.examination import Finding

    return [
        Finding(f"sandbox_{one.kind}", "ok" if one.available else "limited", one.detail)
        for one in availability()
    ]


def _file_watch() -> Finding:
    """Try whether it would be seen that an agent opens files of ours."""
    from devops_bench.evalharness.filewatch import FileWatch
    from devops_bench.k8s.examination import Finding

    watch = FileWatch([], [Path(__file__)])
    watch.start()
    watch.stop()
    if watch.why_not is not None:
        return Finding("file_watch", "limited", watch.why_not)
    return Finding("file_watch", "ok", "an agent that opens files of the harness is seen")


def _audit(server: str) -> Finding:
    """Look for the audit log, which only planes of our own write to where we can read it."""
    from devops_bench.clusters import components, state
    from devops_bench.k8s.examination import Finding

    plane = state.plane_at(server)
    if plane is not None:
        log = components.audit_log(plane.folder)
        if log.is_file():
            return Finding("audit", "ok", f"every write is in {log}")
        return Finding("audit", "unknown", f"{log} is not there")
    detail = "only the local planes of devops-bench write one that can be read here"
    return Finding("audit", "unknown", detail)
