"""What the reference runner makes of the same output, for ``--compat reference``. Pure.

Its behaviour is that of UniPat-AI/SaaS-Bench at commit 48c22deb, Python 3.11 in a UTF-8 locale:

* any line end that ``str.splitlines`` knows ends a line, and a lone carriage return is one;
* a line that begins with ``[PASS]`` or ``[FAIL]`` takes in every line up to the next such line or
  ``SCORE:``; its label may so have several lines;
* if that is no check after all, the line that ended it is passed over unread;
* digits are those of any script; a SCORE line decides, and the last one wins;
* the exit code, a signal and a traceback do not matter.

Where it raises, or writes what is no JSON, the result here is an ``ERROR`` in the usual shape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from devops_bench.verify_protocol.judge import NO_SCRIPT
from devops_bench.verify_protocol.lines import split_detail
from devops_bench.verify_protocol.model import Check, Ending, Status, VerifyResult

_TAGS: Final = ("[PASS]", "[FAIL]")
_CHECK: Final = re.compile(r"\[(PASS|FAIL)\]\s+\((\d+)pt\)\s+(?=\S)")
_SCORE: Final = re.compile(r"SCORE:\s*([\d.]+)\s+PASS:\s*(True|False)\s+\((\d+)/(\d+)\)")
_LINE_END: Final = re.compile("[\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class ReferenceReading:
    """What the reference reads from an output.

    Attributes:
        checks: In their order.
        score: Its score, which may be anything a SCORE line says.
        earned: Of the last SCORE line, else of the checks.
        total: Likewise.
        all_pass: Likewise.
    """

    checks: tuple[Check, ...]
    score: float
    earned: int
    total: int
    all_pass: bool


def read_as_reference(data: bytes) -> ReferenceReading:
    """Return what the reference's parse function returns; linear in ``data``.

    Raises:
        ValueError: The reference raises, too: no UTF-8, a number that is none, too many digits.
    """
    text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    checks: list[Check] = []
    score: tuple[float, int, int, bool] | None = None
    lines = _stripped_lines(text)
    line = next(lines, None)
    while line is not None:
        if line.startswith(_TAGS):
            record = [line]
            line = next(lines, None)
            while line is not None and not line.startswith((*_TAGS, "SCORE:")):
                record.append(line)
                line = next(lines, None)
            check = _read_record("\n".join(record).strip())
            if check is not None:
                checks.append(check)
                continue  # with the line that ended the record
        elif (match := _SCORE.match(line)) is not None:
            score = (float(match[1]), int(match[3]), int(match[4]), match[2] == "True")
        line = next(lines, None)
    if score is None:
        score = _score_of(checks)
    return ReferenceReading(tuple(checks), *score)


def judge_as_reference(task_id: str, data: bytes | None, ending: Ending) -> VerifyResult:
    """Return the result that the reference writes, in the usual shape.

    Args:
        task_id: Safe as a file's name.
        data: The whole standard error; ``None`` when there is no script.
        ending: How the script ended; where it has a ``problem`` the checks are lost, as there.
    """
    if data is None:
        return _empty(task_id, Status.SKIP, NO_SCRIPT, None)
    if ending.problem:
        return _empty(task_id, Status.ERROR, ending.problem, ending.returncode)
    try:
        reading = read_as_reference(data)
        str(reading.earned), str(reading.total)  # the JSON encoder has the same limit of digits
    except ValueError as exc:
        return _empty(task_id, Status.ERROR, str(exc), ending.returncode)
    if not math.isfinite(reading.score):
        error = f"the score {reading.score} cannot be written as JSON"
        return _empty(task_id, Status.ERROR, error, ending.returncode)
    status = Status.FAIL if reading.checks else Status.ERROR
    return VerifyResult(
        task_id=task_id,
        status=Status.PASS if reading.all_pass else status,
        score=reading.score,
        earned=reading.earned,
        total=reading.total,
        all_pass=reading.all_pass,
        checks=reading.checks,
        returncode=ending.returncode,
        findings=None,
    )


def _empty(task_id: str, status: Status, error: str, returncode: int | None) -> VerifyResult:
    return VerifyResult(task_id, status, returncode=returncode, error=error, findings=None)


def _stripped_lines(text: str) -> Iterator[str]:
    """Yield what ``str.splitlines`` returns, stripped, without holding all of it."""
    start = 0
    for match in _LINE_END.finditer(text):
        yield text[start : match.start()].strip()
        start = match.end()
    if start < len(text):
        yield text[start:].strip()


def _read_record(record: str) -> Check | None:
    match = _CHECK.match(record)
    if match is None:
        return None
    label, detail = split_detail(record[match.end() :])
    return Check(label.strip(), int(match[2]), match[1] == "PASS", detail)


def _score_of(checks: list[Check]) -> tuple[float, int, int, bool]:
    if not checks:
        return 0.0, 0, 0, False
    total = sum(check.weight for check in checks)
    earned = sum(check.weight for check in checks if check.passed)
    score = earned / total if total else 0.0
    return score, earned, total, all(check.passed for check in checks)
