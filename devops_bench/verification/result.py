"""What one judgement of a check came to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

VerificationStatus: TypeAlias = Literal["pass", "fail", "error"]
"""``error`` is the absence of an observation, never a third outcome of the condition."""


class VerificationResult(BaseModel):
    """One sample: a check judged once.

    Attributes:
        success: Whether the check passed; always equal to ``status == "pass"``.
        status: Derived from ``success`` when it is not given.
        elapsed_time: Seconds that the judgement (of a probe: its I/O) took, ≥ 0.
        reason: One sentence for the reader.
        name: The check's own ``name``.
        children: The results of a combinator's children, in their order; those that were not
            judged are not there.
        raw: What the reason rests on, as JSON.
        undecided: A failure of a check that could not answer (several values where one was meant,
            types that do not compare, an unknown kind). No negation turns it into a pass.
        stale: Read from a ``status`` whose ``observedGeneration`` is behind its object's
            ``generation``.
    """

    model_config = ConfigDict(extra="forbid")

    success: bool
    status: VerificationStatus = "fail"
    elapsed_time: float = 0.0
    reason: str = ""
    name: str | None = None
    children: list[VerificationResult] = Field(default_factory=list)
    raw: dict[str, JsonValue] | None = None
    undecided: bool = False
    stale: bool = False

    @model_validator(mode="before")
    @classmethod
    def _derive_status(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("status") is None and "success" in data:
            return {**data, "status": "pass" if data["success"] else "fail"}
        return data

    @model_validator(mode="after")
    def _success_is_pass(self) -> VerificationResult:
        if self.success != (self.status == "pass"):
            raise ValueError(
                f"success must be True exactly when status is 'pass', "
                f"not success={self.success} with status={self.status!r}"
            )
        return self

    @classmethod
    def passed(cls, reason: str, **fields: object) -> VerificationResult:
        """Return a pass."""
        return cls.model_validate({"success": True, "reason": reason, **fields})

    @classmethod
    def failed(cls, reason: str, **fields: object) -> VerificationResult:
        """Return a failure."""
        return cls.model_validate({"success": False, "reason": reason, **fields})

    @classmethod
    def errored(cls, reason: str, **fields: object) -> VerificationResult:
        """Return an error: there was no observation."""
        return cls.model_validate({"success": False, "status": "error", "reason": reason, **fields})
