"""Running a task's ``verify.py`` and judging what it wrote."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from devops_bench.core.errors import DevopsBenchError, SupervisionError
from devops_bench.core.process import EndedBy, ProcessResult, Program, run_program
from devops_bench.core.runtime import private_folder
from devops_bench.verify_protocol.judge import judge, skipped, without_verdict
from devops_bench.verify_protocol.model import Compat, Ending, Status, VerifyResult
from devops_bench.verify_protocol.receiving import Discarded, Kept, Read
from devops_bench.verify_protocol.redaction import Redactor
from devops_bench.verify_protocol.reference import judge_as_reference
from devops_bench.verify_protocol.sites import Site, Sites, site_environment
from devops_bench.verify_protocol.task import VerifyTask

DEFAULT_TIMEOUT_SEC: Final = 300.0
"""The protocol's limit."""
MAX_OUTPUT_BYTES: Final = 64 * 1024 * 1024
"""How much of standard error is read for checks; what comes after it is counted."""
INHERITED_VARIABLES: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR",
        "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
    }
)  # fmt: skip
"""What a script gets of our own environment, besides ``LC_*``: what Python and ``docker exec``
need. Everything else may be a secret."""
HOSTNAME_VARIABLE: Final = "SERVER_HOSTNAME"

_GRACE_SEC: Final = 2.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How scripts are run.

    Attributes:
        python: The interpreter.
        timeout_sec: Seconds after which a script is ended, > 0.
        timeout_named: What a message calls them; empty for the seconds themselves.
        server_hostname: Where the applications are reached.
        sites: The table of applications.
        prefix: The first part of every container's name.
        ports: Ports by application.
        environment: Variables besides the allow-list, by the user's wish; their values are
            replaced where a script prints them.
        kubeconfig: What ``KUBECONFIG`` names, ``None`` to leave it unset.
        compat: By whose rules an output is judged.
        max_output_bytes: How much of standard error is read for checks.
    """

    python: str = sys.executable
    timeout_sec: float = DEFAULT_TIMEOUT_SEC
    timeout_named: str = ""
    server_hostname: str = "localhost"
    sites: Sites = field(default_factory=lambda: MappingProxyType(dict[str, Site]()))
    prefix: str = "rollout"
    ports: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(dict[str, int]()))
    environment: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType(dict[str, str]())
    )
    kubeconfig: Path | None = None
    compat: Compat = Compat.STRICT
    max_output_bytes: int = MAX_OUTPUT_BYTES


def script_environment(
    task: VerifyTask, slot: int, options: RunOptions, ours: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the whole environment of a task's script; the protocol's variables win.

    Args:
        task: The task.
        slot: The slot whose containers it looks at.
        options: How scripts are run.
        ours: The environment to choose from; that of this process when it is ``None``.
    """
    ours = os.environ if ours is None else ours
    env = {
        name: value
        for name, value in ours.items()
        if name in INHERITED_VARIABLES or name.startswith("LC_")
    }
    env.update(options.environment)
    env[HOSTNAME_VARIABLE] = options.server_hostname
    if options.kubeconfig is not None:
        env["KUBECONFIG"] = str(options.kubeconfig.absolute())
    env.update(
        site_environment(
            task.sites, options.sites, prefix=options.prefix, slot=slot, ports=options.ports
        )
    )
    return env


def run_task(
    task: VerifyTask,
    slot: int,
    options: RunOptions,
    *,
    cancel: threading.Event | None = None,
    held: Sequence[int] = (),
) -> VerifyResult:
    """Run a task's script to its end, or end it, and judge it; never raises for what a script does.

    The script runs in a new, empty folder with its standard input closed. What it writes is judged
    as it comes through the pipe. When this returns nothing that it started runs any more.

    Args:
        task: The task; without a ``verify.py`` it is skipped.
        slot: The slot whose containers it looks at; whoever calls this holds its lease.
        options: How scripts are run.
        cancel: Ends the script when it is set.
        held: Descriptors that stay open until nothing of the script runs any more, should this
            process be killed before: that of the lease.
    """
    script = task.script
    if script is None:
        return skipped(task.id, options.compat)
    if not script.is_file():
        error = f"{script.name} is no file that can be read"
        return without_verdict(task.id, Status.ERROR, error, options.compat)
    redactor = Redactor(options.environment.values())
    room = options.max_output_bytes
    stderr = Kept(room) if options.compat is Compat.REFERENCE else Read(room, redactor)
    ending = _run(task, script, slot, options, stderr, cancel=cancel, held=held)
    if isinstance(stderr, Kept):
        result = judge_as_reference(task.id, stderr.data, ending)
    else:
        result = judge(task.id, stderr.finish(), ending)
    return without_secrets(result, redactor)


def _run(
    task: VerifyTask,
    script: Path,
    slot: int,
    options: RunOptions,
    stderr: Kept | Read,
    *,
    cancel: threading.Event | None,
    held: Sequence[int],
) -> Ending:
    try:
        with private_folder("the working folder of a verify.py") as folder:
            work = folder / "work"
            work.mkdir()
            program = Program(
                argv=[options.python, str(script)],
                cwd=work,
                env=script_environment(task, slot, options),
                stdout=Discarded(),
                stderr=stderr,
                grace_sec=_GRACE_SEC,
                held=held,
            )
            ended = run_program(program, timeout_sec=options.timeout_sec, cancel=cancel)
    except SupervisionError as exc:
        return Ending(None, f"its end was not observed: {exc}")
    except (OSError, ValueError, DevopsBenchError) as exc:
        return Ending(None, f"{options.python} could not be started: {exc}")
    return Ending(ended.exit_code, _problem(ended, options))


def _problem(ended: ProcessResult, options: RunOptions) -> str:
    """Return why the output is no verdict, whatever it says; empty when it may be one."""
    if ended.lost:
        return "the process that watched over it was killed: nobody saw how it ended"
    if ended.ended_by is EndedBy.DEADLINE:
        return f"timeout after {options.timeout_named or f'{options.timeout_sec:g}s'}"
    if ended.ended_by is EndedBy.CANCEL:
        return "interrupted"
    if ended.unkillable:
        return f"{ended.unkillable} of its processes could not be ended"
    if ended.stderr_dropped:
        return (
            f"it wrote too much: {options.max_output_bytes} bytes of its standard error were read, "
            f"{ended.stderr_dropped} were not read for checks"
        )
    return ""


def without_secrets(result: VerifyResult, redactor: Redactor) -> VerifyResult:
    """Return the result with every secret in its texts replaced.

    Args:
        result: What the script said; what is cut or quoted in it was cleaned before.
        redactor: Knows the secrets.
    """
    clean = redactor.clean
    findings = result.findings
    if findings is not None:
        findings = tuple(replace(found, message=clean(found.message)) for found in findings)
    return replace(
        result,
        checks=tuple(
            replace(check, label=clean(check.label), detail=clean(check.detail))
            for check in result.checks
        ),
        error=None if result.error is None else clean(result.error),
        findings=findings,
    )
