"""A SaaS-Bench task's ``verify.py`` as a check: the script is run, its verdict is the result."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, JsonValue

from devops_bench.core.errors import DevopsBenchError
from devops_bench.verification.base import VERIFIERS, Probe, ProbeContext
from devops_bench.verification.checks.fields import no_boolean
from devops_bench.verification.result import VerificationResult
from devops_bench.verify_protocol.model import Check, Status, VerifyResult
from devops_bench.verify_protocol.runner import DEFAULT_TIMEOUT_SEC, RunOptions, run_task
from devops_bench.verify_protocol.sites import DEFAULT_PREFIX, PREFIX_VARIABLE, load_sites
from devops_bench.verify_protocol.slots import leased_slot
from devops_bench.verify_protocol.task import load_task

_MOST_CHILDREN: Final = 500
_MOST_NAMES: Final = 5
_LONGEST_TEXT: Final = 1000


@VERIFIERS.register("verify_script")
class VerifyScript(Probe):
    """Passes when the script's verdict is ``PASS``; ``ERROR`` and ``SKIP`` are errors.

    Attributes:
        task_dir: The task's folder; in a spec a path below the spec's folder.
        timeout_sec: Seconds that the script may take, finite, > 0.
        slot: The slot whose containers it looks at, ≥ 0; leased within the timeout.
        server_hostname: Where the sites are reached.
        ports: Ports by site.
    """

    hold_refusal: ClassVar[str] = (
        "runs a script that may take minutes and may change what it looks at: it cannot watch"
    )

    # What it may take to end a script and everything that it started.
    ending_sec: ClassVar[float] = 5.0

    type: Literal["verify_script"] = "verify_script"
    task_dir: str = Field(min_length=1)
    timeout_sec: Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(no_boolean)] = (
        DEFAULT_TIMEOUT_SEC
    )
    slot: Annotated[int, Field(ge=0), BeforeValidator(no_boolean)] = 0
    server_hostname: str = "localhost"
    ports: dict[str, Annotated[int, Field(ge=1, le=65535), BeforeValidator(no_boolean)]] = Field(
        default_factory=dict
    )

    def own_timeout_sec(self) -> float:
        """Return the script's time, and that to end it."""
        return self.timeout_sec + self.ending_sec

    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        """Run the script once; what cannot be evaluated is an error."""
        allowed = min(self.timeout_sec, timeout_sec - self.ending_sec)
        deadline = time.monotonic() + allowed
        prefix = os.environ.get(PREFIX_VARIABLE) or DEFAULT_PREFIX
        try:
            task = load_task(Path(self.task_dir))
            with leased_slot(
                [self.slot], prefix=prefix, give_up=lambda: time.monotonic() >= deadline
            ) as lease:
                left = deadline - time.monotonic()
                if lease is None or left <= 0:
                    return VerificationResult.errored(
                        f"the time ran out before slot {self.slot} was free for {task.id}"
                    )
                options = RunOptions(
                    timeout_sec=left,
                    timeout_named=_named(self.timeout_sec, allowed),
                    server_hostname=self.server_hostname,
                    sites=load_sites(),
                    prefix=prefix,
                    ports=self.ports,
                    kubeconfig=context.kubeconfig,
                )
                return as_verification_result(
                    run_task(task, lease.slot, options, held=(lease.descriptor,))
                )
        except DevopsBenchError as exc:
            return VerificationResult.errored(str(exc))


def _named(declared_sec: float, allowed_sec: float) -> str:
    """Return what a timeout is called: as the spec has it, unless less was left of the budget."""
    if allowed_sec >= declared_sec:
        return f"{declared_sec:g}s"
    return f"{allowed_sec:.1f}s, all that the budget left of its {declared_sec:g}s"


def as_verification_result(result: VerifyResult) -> VerificationResult:
    """Return a task's result with its checks as children, each with its weight.

    Args:
        result: By the strict rules.
    """
    points = f"{result.earned} of {result.total} points"
    if len(result.checks) > _MOST_CHILDREN:
        points += f" ({len(result.checks) - _MOST_CHILDREN} checks are not shown)"
    failed = [check.label for check in result.checks if not check.passed]
    # What failed is what the reader looks for.
    kept = sorted(result.checks, key=lambda check: check.passed)[:_MOST_CHILDREN]
    shown = result.checks if len(result.checks) <= _MOST_CHILDREN else kept
    left_out = len(result.checks) - len(shown)
    findings: list[JsonValue] = [f"line {f.line}: {f.message}" for f in result.findings or ()]
    fields: dict[str, object] = {
        "children": [_child(check) for check in shown],
        "raw": {
            "task_id": result.task_id,
            "status": str(result.status),
            "score": result.score,
            "returncode": result.returncode,
            "findings": findings,
            "checks_left_out": left_out,
        },
    }
    if result.status is Status.PASS:
        return VerificationResult.passed(f"every check passed, {points}", **fields)
    if result.status is Status.FAIL:
        if not failed:
            what = "every check passed, but the script says that it failed"
        else:
            more = f" and {len(failed) - _MOST_NAMES} more" if len(failed) > _MOST_NAMES else ""
            what = f"failed: {', '.join(failed[:_MOST_NAMES])}{more}"
        return VerificationResult.failed(_short(f"{points}, {what}"), **fields)
    return VerificationResult.errored(_short(result.error or str(result.status)), **fields)


def _child(check: Check) -> VerificationResult:
    return VerificationResult(
        success=check.passed,
        name=_short(check.label),
        reason=_short(check.detail),
        raw={"weight": check.weight},
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
