"""Who could do what, who did it, and whether the run can be trusted, as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from devops_bench.results.model import TaskResult
from devops_bench.results.trust import RequestReport, ViolationCause, Who

_SHOWN_CAUSES = 4
_LED: Final[Mapping[Who, str]] = {
    "agent": "which the agent made it do",
    "harness": "which the harness made it do",
    "controller": "which another controller made it do",
    "other": "which somebody else made it do",
    "unknown": "before that it was written",
}


def access_lines(task: TaskResult) -> Iterator[str]:
    """Yield what the agent could do, nothing for a task without an agent."""
    if task.access is not None:
        yield f"  agent access: {task.access}"


def attribution_lines(task: TaskResult, entry: str) -> Iterator[str]:
    """Yield whose doing the violations of an entry were, nothing without any."""
    found = next((item for item in task.attribution if item.entry == entry), None)
    if found is None:
        return
    for cause in found.violations[:_SHOWN_CAUSES]:
        yield from (f"          {line}" for line in _cause_lines(cause))
    left = len(found.violations) - _SHOWN_CAUSES
    if left > 0:
        yield f"          and {left} more, see result.json"
    if found.source == "managedFields":
        yield f"          told by managedFields, not by an audit log: {found.why_source}"
    elif found.source == "none":
        yield f"          whose doing it was is not known: {found.why_source}"
    elif found.why_source:
        yield f"          the audit log is not known to be whole: {found.why_source}"


def integrity_lines(task: TaskResult) -> Iterator[str]:
    """Yield whether the run can be trusted, nothing for a task whose agent was not started."""
    integrity = task.integrity
    if integrity is None:
        return
    marked = integrity.status.upper() if integrity.status == "contaminated" else integrity.status
    yield f"  integrity: {marked}"
    for finding in integrity.findings:
        for text in finding.evidence:
            yield f"    {finding.rule}: {text}"
        if finding.status == "no data":
            yield f"    {finding.rule}: no data, {finding.why_no_data}"


def _cause_lines(cause: ViolationCause) -> Iterator[str]:
    if cause.written_by is not None:
        what = f"{cause.object} {cause.change}" if cause.object else "the change"
        yield f"{what} by {_request(cause.written_by)}"
    elif cause.object:
        yield f"{cause.object} {cause.change} by nobody known: {cause.note}"
    elif cause.note:
        yield cause.note
    if cause.led_by is not None:
        yield f"  {_LED[cause.led_by.who]}: {_request(cause.led_by)}"


def _request(request: RequestReport) -> str:
    when = request.at.strftime("%H:%M:%S.%f")[:-3] if request.at is not None else "an unknown time"
    user = f"calls itself {request.user}" if request.who == "unknown" else request.user
    if request.foreign:
        user += ", the harness's credentials, but not the harness"
    text = f"{request.who} ({user}): {request.verb} {request.resource} {request.object}"
    call = f", tool call {request.tool_call}" if request.tool_call is not None else ""
    return f"{text} at {when}{call}"
