"""Running a task's ``verify.py`` and judging what it wrote."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from devops_bench.core.process import EndedBy, ProcessResult, Program, run_program
from devops_bench.verify_protocol.judge import judge, skipped
from devops_bench.verify_protocol.model import Compat, Ending, Parsed, VerifyResult
from devops_bench.verify_protocol.parser import Parser
from devops_bench.verify_protocol.reference import judge_as_reference
from devops_bench.verify_protocol.sites import Site, Sites, site_environment
from devops_bench.verify_protocol.task import VerifyTask

DEFAULT_TIMEOUT_SEC: Final = 300.0
"""The protocol's limit."""
MAX_OUTPUT_BYTES: Final = 64 * 1024 * 1024
"""How much of each stream is kept; what comes after it is read and counted."""
INHERITED_VARIABLES: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR",
        "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
    }
)  # fmt: skip
"""What a script gets of our own environment, besides ``LC_*``: what Python and ``docker exec``
need. Everything else may be a secret."""
HOSTNAME_VARIABLE: Final = "SERVER_HOSTNAME"

_PIECE: Final = 1024 * 1024
_GRACE_SEC: Final = 2.0
_REDACTED: Final = "[redacted]"
# Replacing what is shorter would spoil the text and hide nothing.
_SHORTEST_SECRET: Final = 6


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How scripts are run.

    Attributes:
        python: The interpreter.
        timeout_sec: Seconds after which a script is ended, > 0.
        server_hostname: Where the applications are reached.
        sites: The table of applications.
        prefix: The first part of every container's name.
        ports: Ports by application.
        environment: Variables besides the allow-list, by the user's wish; their values are
            replaced where a script prints them.
        kubeconfig: What ``KUBECONFIG`` names, ``None`` to leave it unset.
        compat: By whose rules an output is judged.
        max_output_bytes: How much of each stream is kept.
    """

    python: str = sys.executable
    timeout_sec: float = DEFAULT_TIMEOUT_SEC
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
    task: VerifyTask, slot: int, options: RunOptions, *, cancel: threading.Event | None = None
) -> VerifyResult:
    """Run a task's script to its end, or end it, and judge it; never raises for what a script does.

    The script runs in a new, empty folder with its standard input closed. When this returns nothing
    that it started runs any more.

    Args:
        task: The task; without a ``verify.py`` it is skipped.
        slot: The slot whose containers it looks at; whoever calls this holds its lease.
        options: How scripts are run.
        cancel: Ends the script when it is set.
    """
    script = task.script
    if script is None:
        if options.compat is Compat.REFERENCE:
            return judge_as_reference(task.id, None, Ending(None))
        return skipped(task.id)
    with tempfile.TemporaryDirectory(
        prefix="devops-bench-verify-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        (folder / "work").mkdir()
        program = Program(
            argv=[options.python, str(script)],
            cwd=folder / "work",
            env=script_environment(task, slot, options),
            stdout=folder / "stdout",
            stderr=folder / "stderr",
            max_output_bytes=options.max_output_bytes,
            grace_sec=_GRACE_SEC,
        )
        try:
            ended = run_program(program, timeout_sec=options.timeout_sec, cancel=cancel)
        except (OSError, ValueError) as exc:
            ending = Ending(None, f"{options.python} could not be started: {exc}")
            return _judged(task.id, None, ending, options)
        return _judged(task.id, program.stderr, _ending(ended, options), options)


def _judged(task_id: str, stderr: Path | None, ending: Ending, options: RunOptions) -> VerifyResult:
    if options.compat is Compat.REFERENCE:
        data = b"" if stderr is None else stderr.read_bytes()
        result = judge_as_reference(task_id, data, ending)
    else:
        result = judge(task_id, Parsed() if stderr is None else _parse_file(stderr), ending)
    return without_secrets(result, options.environment.values())


def _parse_file(file: Path) -> Parsed:
    parser = Parser()
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            parser.feed(piece)
    return parser.finish()


def _ending(ended: ProcessResult, options: RunOptions) -> Ending:
    return Ending(ended.exit_code, _problem(ended, options))


def _problem(ended: ProcessResult, options: RunOptions) -> str:
    """Return why the output is no verdict, whatever it says; empty when it may be one."""
    if ended.ended_by is EndedBy.DEADLINE:
        return f"timeout after {options.timeout_sec:g}s"
    if ended.ended_by is EndedBy.CANCEL:
        return "interrupted"
    if ended.unkillable:
        return f"{ended.unkillable} of its processes could not be ended"
    if ended.stderr_dropped:
        return (
            f"it wrote too much: {options.max_output_bytes} bytes of its standard error were kept, "
            f"{ended.stderr_dropped} were not read for checks"
        )
    return ""


def without_secrets(result: VerifyResult, secrets: Iterable[str]) -> VerifyResult:
    """Return the result with every secret that a script printed replaced by ``[redacted]``.

    Args:
        result: What the script said.
        secrets: The values to look for; those of fewer than six characters stay, since they are
            as likely part of a word.
    """
    # The longest first: one may be part of another.
    values = sorted({s for s in secrets if len(s) >= _SHORTEST_SECRET}, key=len, reverse=True)
    if not values:
        return result
    pattern = re.compile("|".join(map(re.escape, values)))

    def clean(text: str) -> str:
        return pattern.sub(_REDACTED, text)

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
