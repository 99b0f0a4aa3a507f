"""From what a script said and how it ended to a verdict: the strict rules. Pure."""

from __future__ import annotations

import signal
from typing import Final

from devops_bench.verify_protocol.model import Ending, Parsed, Status, VerifyResult

NO_SCRIPT: Final = "no verify.py"
"""The error of a task that is skipped."""


def judge(task_id: str, parsed: Parsed, ending: Ending) -> VerifyResult:
    """Return the result of a task, by the strict rules.

    Score, earned and total come from the checks. Whatever keeps the output from being the whole
    story is an ``ERROR``, with the checks that were seen; a SCORE line, or a ``[FAIL]`` line that
    could not be read, can only lower the status.

    Args:
        task_id: Safe as a file's name.
        parsed: Its standard error.
        ending: How it ended.
    """
    error = why_no_verdict(parsed, ending)
    if error is not None:
        status = Status.ERROR
    elif parsed.failed or parsed.says_fail or parsed.unread_fail:
        status = Status.FAIL
    else:
        status = Status.PASS
    return VerifyResult(
        task_id=task_id,
        status=status,
        score=parsed.score,
        earned=parsed.earned,
        total=parsed.total,
        all_pass=status is Status.PASS,
        checks=parsed.checks,
        returncode=ending.returncode,
        error=error,
        findings=parsed.findings,
    )


def skipped(task_id: str) -> VerifyResult:
    """Return the result of a task without a ``verify.py``."""
    return VerifyResult(task_id=task_id, status=Status.SKIP, error=NO_SCRIPT)


def why_no_verdict(parsed: Parsed, ending: Ending) -> str | None:
    """Return why a script's output is no verdict, ``None`` when it is one."""
    reason = _broken_off(parsed, ending)
    if reason is None:
        return None
    return f"{reason}; it last wrote: {parsed.last_line}" if parsed.last_line else reason


def _broken_off(parsed: Parsed, ending: Ending) -> str | None:
    if ending.problem:
        return ending.problem
    code = ending.returncode
    if code is None:
        return "nobody knows how it ended"
    if code < 0:
        return f"it was ended by signal {signal_name(-code)}"
    if not parsed.checks:
        return f"it printed no check and exited with code {code}"
    if code != 0 and not parsed.score_after_last_check:
        if parsed.traceback_after_last_check:
            return f"it crashed: exit code {code}, and a traceback after its last check"
        if not parsed.failed:
            return (
                f"it gave up: exit code {code}, no failed check, and no SCORE line after the last"
            )
    if parsed.total == 0:
        return "its checks have no weight"
    if parsed.checks_not_kept:
        return f"{parsed.checks_not_kept} of its checks are more than what is kept"
    return None


def signal_name(number: int) -> str:
    """Return ``SIGSEGV`` for 11; the number for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
