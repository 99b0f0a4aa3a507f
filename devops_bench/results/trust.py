"""Who could do what, who did it, and whether the run can be trusted; none of it decides a verdict.

Parts of :class:`devops_bench.results.model.TaskResult`.
"""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AccessCheck(_Record):
    """One question of the self-check, asked with the agent's own token before its turn.

    Attributes:
        what: What was asked, e.g. ``create pods in namespace devops-bench-1a2b3c4d``.
        how: ``review`` (a SelfSubjectAccessReview) or ``request`` (it was really tried).
        expected: ``allowed`` or ``denied``.
        observed: ``allowed``, ``denied``, or why there was no answer.
    """

    what: str
    how: Literal["review", "request"]
    expected: Literal["allowed", "denied"]
    observed: str


class AccessReport(_Record):
    """What the agent could do.

    Attributes:
        kind: ``own``: an account of its own with the rights of the task's ``access:``; ``harness``:
            the harness's own credentials, because the task says nothing.
        preset: The preset, null without one.
        account: The account as the server calls it, empty for the harness's own.
        rules: What it was granted, a line for each rule.
        pod_security: What the namespaces enforce in which it may create workloads.
        token_expires_at: When its token ends (UTC); null for the harness's own.
        checks: The self-check.
    """

    kind: Literal["own", "harness"]
    preset: str | None = None
    account: str = ""
    rules: list[str] = Field(default_factory=list)
    pod_security: dict[str, str] = Field(default_factory=dict)
    token_expires_at: dt.datetime | None = None
    checks: list[AccessCheck] = Field(default_factory=list)

    def __str__(self) -> str:
        """One line for the reader."""
        if self.kind == "harness":
            return "admin (no access: in the spec)"
        what = f"preset {self.preset}" if self.preset else f"{len(self.rules)} rules"
        return f"{what}, as {self.account}; {len(self.checks)} checks passed"


Who = Literal["agent", "harness", "controller", "other", "unknown"]


class RequestReport(_Record):
    """One request to the API server.

    Attributes:
        who: ``agent``, ``harness``, ``controller`` (of the cluster itself), ``other``, or
            ``unknown``: without an audit log nobody says who it was.
        user: As the server calls them; where no audit log says more, what the client called
            itself.
        verb: The verb.
        resource: ``deployments.apps/scale``.
        object: ``namespace/name``, or the name alone.
        at: When the server received it (UTC).
        audit_id: Its id in the audit log, empty where there is none.
        matched_by: What ties it to the change: ``resourceVersion``, ``uid``, ``time``,
            ``relation`` (it changed an object that the changed one belongs to), or
            ``managedFields``.
        tool_call: The agent's tool call that it came from, null where none can be told.
        foreign: Whether it came with the harness's own credentials, but not from the harness.
    """

    who: Who
    user: str
    verb: str
    resource: str
    object: str
    at: dt.datetime | None = None
    audit_id: str = ""
    matched_by: Literal["resourceVersion", "uid", "time", "relation", "managedFields"]
    tool_call: str | None = None
    foreign: bool = False


class ViolationCause(_Record):
    """What caused one violation.

    Attributes:
        at_sec: When it was seen, seconds after the start of the window.
        object: The object whose change violated it, empty when it is not known.
        change: ``created``, ``changed`` or ``deleted``.
        written_by: The request that wrote that change; null when it was not found.
        led_by: The earlier request, the agent's or somebody else's, that made a controller write
            it; null when no controller wrote it, or none was found.
        note: What else the reader should know, e.g. why nothing was found.
    """

    at_sec: float | None
    object: str = ""
    change: str = ""
    written_by: RequestReport | None = None
    led_by: RequestReport | None = None
    note: str = ""


class Attribution(_Record):
    """Whose doing the violations of one entry were.

    Attributes:
        entry: The entry.
        source: ``audit`` (the API server's audit log), ``managedFields`` (what the objects say of
            themselves), or ``none``.
        why_source: Why it is not the audit log, empty when it is.
        violations: The first violations, in order.
    """

    entry: str
    source: Literal["audit", "managedFields", "none"]
    why_source: str = ""
    violations: list[ViolationCause] = Field(default_factory=list)


IntegrityStatus = Literal["clean", "contaminated", "incomplete", "no data"]


class IntegrityFinding(_Record):
    """What one rule came to.

    Attributes:
        rule: Its name.
        status: ``clean``, ``contaminated``, or ``no data`` when it could not look.
        evidence: What was seen, a sentence each.
        why_no_data: Why it could not look.
    """

    rule: str
    status: Literal["clean", "contaminated", "no data"]
    evidence: list[str] = Field(default_factory=list)
    why_no_data: str = ""


class IntegrityReport(_Record):
    """Whether the agent read or changed what it must not.

    Attributes:
        status: ``contaminated`` when a rule says so; ``clean`` when every rule could look and found
            nothing; ``incomplete`` when some could not look; ``no data`` when none could.
        findings: What each rule came to.
    """

    status: IntegrityStatus
    findings: list[IntegrityFinding] = Field(default_factory=list)
