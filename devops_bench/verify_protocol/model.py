"""What is read from a script's output, and what a task comes to. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from devops_bench.core.json import JsonObject, JsonValue


class Status(StrEnum):
    """What a task came to."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    ERROR = "ERROR"
    """It could not be evaluated: the script crashed, was ended, or said nothing that counts."""
    SKIP = "SKIP"
    """The task has no ``verify.py``."""


class Compat(StrEnum):
    """By whose rules an output is judged."""

    STRICT = "strict"
    """Ours."""
    REFERENCE = "reference"
    """Those of the reference runner, for comparison."""


class FindingKind(StrEnum):
    """What a finding is about."""

    MALFORMED = "malformed"
    """A line that begins like one of the protocol's and is none; it counts for nothing."""
    DISAGREEMENT = "disagreement"
    """A SCORE line that says something else than the checks."""
    CUT = "cut"
    """Text that was too long to be kept."""


@dataclass(frozen=True, slots=True)
class Check:
    """One ``[PASS]`` or ``[FAIL]`` line.

    Attributes:
        label: What was checked; not empty.
        weight: Its points, ≥ 0.
        passed: Whether it passed.
        detail: What stands in the parentheses at the end of the line, or empty.
    """

    label: str
    weight: int
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """What a well-formed ``SCORE:`` line says.

    Attributes:
        score: The number as it is printed.
        all_pass: What stands after ``PASS:``.
        earned: The first number of the fraction.
        total: The second.
    """

    score: str
    all_pass: bool
    earned: int
    total: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the output that the author of the script should know.

    Attributes:
        line: 1-based line of standard error.
        kind: What it is about.
        message: One sentence without a final period.
    """

    line: int
    kind: FindingKind
    message: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """Everything that counts in a script's standard error.

    Attributes:
        checks: In their order; at most ``parser.MAX_CHECKS``.
        earned: The weight of the checks that passed, those not kept included.
        total: The weight of all checks, those not kept included.
        failed: How many checks failed, those not kept included.
        checks_not_kept: How many checks came after the limit.
        says_fail: A SCORE line says ``PASS: False``.
        unread_fail: A line begins with ``[FAIL]`` and could not be read.
        score_after_last_check: A well-formed SCORE line stands after the last check.
        traceback_after_last_check: So does the head of a Python traceback.
        findings: In the order of their lines; at most ``parser.MAX_FINDINGS``.
        findings_not_kept: How many came after the limit.
        last_line: The last line that is neither blank nor of the protocol, cut to a few hundred
            characters; where a script gave up, this is usually why.
    """

    checks: tuple[Check, ...] = ()
    earned: int = 0
    total: int = 0
    failed: int = 0
    checks_not_kept: int = 0
    says_fail: bool = False
    unread_fail: bool = False
    score_after_last_check: bool = False
    traceback_after_last_check: bool = False
    findings: tuple[Finding, ...] = ()
    findings_not_kept: int = 0
    last_line: str = ""

    @property
    def score(self) -> float:
        """The passed weight by the whole weight, 0.0 without weight."""
        return self.earned / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How the script ended.

    Attributes:
        returncode: Its exit code, negative for the signal that ended it, ``None`` when there is
            none: it was never started, or nobody knows.
        problem: Why there is no verdict whatever the output says (its time was over, say), a
            clause; empty when it ended by itself.
    """

    returncode: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of one task, as ``TASK_ID_verify.json`` holds it.

    Attributes:
        task_id: Safe as a file's name.
        status: The verdict.
        score: 0.0 to 1.0. It counts only for ``PASS`` and ``FAIL``; for ``ERROR`` it is what the
            checks that were seen come to.
        earned: Passed weight, ≥ 0.
        total: All weight, ≥ 0.
        all_pass: Whether every check passed and counts; in strict mode exactly for ``PASS``.
        checks: What was checked.
        returncode: The script's exit code, negative for a signal, ``None`` without one.
        error: Why there is no verdict; ``None`` when there is one.
        findings: What is wrong with the output; ``None`` when nobody looked (the reference).
    """

    task_id: str
    status: Status
    score: float = 0.0
    earned: int = 0
    total: int = 0
    all_pass: bool = False
    checks: tuple[Check, ...] = ()
    returncode: int | None = None
    error: str | None = None
    findings: tuple[Finding, ...] | None = field(default=())

    def as_json(self) -> JsonObject:
        """Return the nine keys of the protocol, and ``findings`` where they were looked for."""
        checks: list[JsonValue] = [
            {"label": c.label, "weight": c.weight, "passed": c.passed, "detail": c.detail}
            for c in self.checks
        ]
        data: JsonObject = {
            "task_id": self.task_id,
            "status": str(self.status),
            "score": self.score,
            "earned": self.earned,
            "total": self.total,
            "all_pass": self.all_pass,
            "checks": checks,
            "returncode": self.returncode,
            "error": self.error,
        }
        if self.findings is not None:
            data["findings"] = [
                {"line": f.line, "kind": str(f.kind), "message": f.message} for f in self.findings
            ]
        return data
