"""What ``verify`` does: everything that can be wrong is found first, then the scripts run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devops_bench.cli.errors import print_error, printable
from devops_bench.cli.interrupts import Interrupts
from devops_bench.cli.output import write_quietly, write_report
from devops_bench.cli.outputfile import OutputFile
from devops_bench.cli.verify_progress import VerifyProgress
from devops_bench.core.errors import InvalidInputError, RunInterruptedError
from devops_bench.core.json import JsonValue
from devops_bench.verify_protocol.batch import Batch, run_batch
from devops_bench.verify_protocol.model import Compat, Status, VerifyResult
from devops_bench.verify_protocol.results import (
    EXIT_NOT_EVALUATED,
    as_json_bytes,
    as_junit,
    exit_code,
)
from devops_bench.verify_protocol.runner import DEFAULT_TIMEOUT_SEC, RunOptions, script_environment
from devops_bench.verify_protocol.sites import (
    DEFAULT_PREFIX,
    PREFIX_VARIABLE,
    load_sites,
    read_port_map,
)
from devops_bench.verify_protocol.slots import read_slots
from devops_bench.verify_protocol.task import load_tasks


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What the user asked for; see the options of ``verify``.

    Attributes:
        folders: The tasks.
        result_dir: Where the results go; made when it is missing.
        select: Patterns of ids; empty for all.
        slots: As on the command line: ``0,1``.
        jobs: How many scripts at a time, ``None`` for as many as slots.
        server_hostname: Where the sites are reached.
        port_map: A JSON file.
        sites: A JSON file.
        environment: What the scripts get besides the allow-list.
        python: The interpreter, ``None`` for ours.
        timeout_sec: Seconds for each script, > 0.
        compat: By whose rules.
        junit: Where a JUnit report goes.
        as_json: Write the results as JSON to standard output, and everything else to stderr.
    """

    folders: tuple[Path, ...]
    result_dir: Path
    select: tuple[str, ...] = ()
    slots: str = "0"
    jobs: int | None = None
    server_hostname: str = "localhost"
    port_map: Path | None = None
    sites: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    timeout_sec: float = DEFAULT_TIMEOUT_SEC
    compat: Compat = Compat.STRICT
    junit: OutputFile | None = None
    as_json: bool = False


def execute(request: VerifyRequest) -> int:
    """Run what was asked for, and return the exit code.

    Raises:
        InvalidInputError: Something is wrong with the request, and nothing was run.
        OutputError: A report could not be written.
    """
    batch = _prepare(request)
    stream = sys.stderr if request.as_json else sys.stdout
    progress = VerifyProgress(stream, tasks=len(batch.tasks))
    with Interrupts(_say_unbuffered) as interrupts, progress:
        outcome = run_batch(batch, progress, interrupts.cancel)
    results = outcome.results
    for result in results:
        if result.status is Status.ERROR:
            print_error(f"task {result.task_id}: {result.error}")
    try:
        if request.as_json:
            write_report(as_json_bytes(_as_json(results)).decode())
        else:
            where = printable(str(request.result_dir))
            write_report(f"\n{summary(results)}results: {where}\n")
    finally:  # one report that cannot be written does not cost the other one
        for fault in outcome.faults:
            print_error(fault)
        if request.junit is not None:
            request.junit.write(as_junit(results))
    if interrupts.cancel.is_set():
        return RunInterruptedError.exit_code
    return EXIT_NOT_EVALUATED if outcome.faults else exit_code(results)


def _prepare(request: VerifyRequest) -> Batch:
    tasks, passed_over = load_tasks(request.folders, request.select)
    slots = read_slots(request.slots)
    jobs = len(slots) if request.jobs is None else request.jobs
    if not 1 <= jobs <= len(slots):
        raise InvalidInputError(
            f"--jobs must be from 1 to the number of slots, {len(slots)}, not {jobs}: "
            "two scripts never share a slot"
        )
    sites = load_sites(request.sites)
    known = {*sites, *(site for task in tasks for site in task.sites)}
    options = RunOptions(
        python=_interpreter(request.python),
        timeout_sec=request.timeout_sec,
        server_hostname=request.server_hostname,
        sites=sites,
        prefix=os.environ.get(PREFIX_VARIABLE) or DEFAULT_PREFIX,
        ports={} if request.port_map is None else read_port_map(request.port_map, known),
        environment=request.environment,
        compat=request.compat,
    )
    for task in tasks:
        script_environment(task, slots[0], options)  # raises what is wrong with its sites
        for site in task.sites:
            if site not in sites:
                passed_over.append(
                    f"{task.id}: the site {site!r} is not known; its container has no suffix and "
                    "it has no database (--sites adds it)"
                )
    if request.junit is not None:
        request.junit.require_writable()
    _make_writable(request.result_dir)
    from devops_bench.clusters import leftovers  # late: only what the runs before left behind

    for line in (*passed_over, *leftovers.sweep()):
        write_quietly(f"warning: {printable(line)}\n", sys.stderr)
    return Batch(tasks, request.result_dir, slots, min(jobs, len(tasks)), options)


def _make_writable(folder: Path) -> None:
    """Find out that nothing can be written before anything runs, and not when it is over."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise InvalidInputError(
            f"--result-dir: nothing can be written to {folder}: {reason}"
        ) from exc


def _interpreter(given: str | None) -> str:
    if given is None:
        return sys.executable
    found = shutil.which(given)
    if found is None:
        raise InvalidInputError(f"--python {given}: there is no such program")
    return str(Path(found).absolute())


def _say_unbuffered(text: str) -> None:
    os.write(2, f"\n{text}\n".encode())


def _as_json(results: Sequence[VerifyResult]) -> JsonValue:
    counts = Counter(result.status for result in results)
    return {
        "summary": {str(status): counts[status] for status in Status},
        "results": [result.as_json() for result in results],
    }


def summary(results: Sequence[VerifyResult]) -> str:
    """Return a table of the results, plain text; a score is there only where it counts."""
    rows = [("task", "status", "score", "points", "failed checks")]
    for result in results:
        counts = result.status in {Status.PASS, Status.FAIL}
        failed = sum(not check.passed for check in result.checks)
        rows.append(
            (
                printable(result.task_id),
                str(result.status),
                f"{result.score:.3f}" if counts else "-",
                f"{_short(result.earned)}/{_short(result.total)}",
                f"{failed} of {len(result.checks)}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    tally = Counter(result.status for result in results)
    lines.append(", ".join(f"{tally[s]} {s}" for s in Status if tally[s]) or "No task has ended.")
    return "\n".join(lines) + "\n"


def _short(number: int) -> str:
    return str(number) if number < 10**9 else f"{number:.1e}" if number < 10**300 else "huge"
