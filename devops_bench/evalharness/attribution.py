"""Whose doing a violation was. Pure, and never part of a verdict."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.requests import Requests
from devops_bench.evalharness.trail import Change, Violation
from devops_bench.k8s.apply import FIELD_MANAGER
from devops_bench.k8s.audit import AuditEvent, Reference, references_of
from devops_bench.k8s.objects import KubeObject
from devops_bench.results.trust import RequestReport, ViolationCause

PlaceCall = Callable[[dt.datetime], str | None]
"""Returns which tool call of the agent was at work at a time, ``None`` when that is not one."""

_SLACK: Final = dt.timedelta(seconds=1)
_CONTROLLER_MANAGERS: Final = ("kube-", "kwok", "etcd-")


def causes_by_audit(
    violations: Iterable[Violation],
    requests: Requests,
    *,
    origin_sec: float,
    started_at: dt.datetime,
    place_call: PlaceCall,
) -> list[ViolationCause]:
    """Return what caused violations, by the audit log.

    Args:
        violations: What was seen.
        requests: The audit log.
        origin_sec: When the window began, seconds after the task's start.
        started_at: When the task began (UTC).
        place_call: Finds the tool call of a time.
    """
    found: list[ViolationCause] = []
    for violation in violations:
        at_sec = max(0.0, violation.at_sec - origin_sec)
        seen_at = started_at + dt.timedelta(seconds=violation.at_sec)
        if not violation.changes:
            found.append(ViolationCause(at_sec=at_sec, note=_NOTHING_SEEN))
        found += (
            _by_audit(change, requests, at_sec, seen_at, place_call) for change in violation.changes
        )
    return found


_NOTHING_SEEN: Final = "which object's change it was is not known: it was not judged on objects"


def _by_audit(
    change: Change,
    requests: Requests,
    at_sec: float,
    seen_at: dt.datetime,
    place_call: PlaceCall,
) -> ViolationCause:
    report = _Reporting(requests, place_call)
    written, matched_by, earlier = _writer(change, requests, seen_at)
    cause = ViolationCause(at_sec=at_sec, object=str(change), change=change.what)
    if written is None:
        return cause.model_copy(update={"note": "no request in the audit log matches the change"})
    by = report.of(written, matched_by)
    led = None
    hand = requests.is_hand(written)
    if hand:
        by_hand = (e for e in reversed(earlier) if requests.leads(e) and not requests.is_hand(e))
        deletion = next(by_hand, None)
        led = deletion or requests.leading(
            change.uid, _references(change), change.namespace, written
        )
    return cause.model_copy(
        update={
            "written_by": by,
            "led_by": None
            if led is None
            else report.of(led, "uid" if led in earlier else "relation"),
            "note": ""
            if led is not None or not hand
            else "no earlier request of the agent or of somebody else bears on it",
        }
    )


Match = Literal["resourceVersion", "uid", "time", "relation", "managedFields"]


def _writer(
    change: Change, requests: Requests, seen_at: dt.datetime
) -> tuple[AuditEvent | None, Match, list[AuditEvent]]:
    """Return the request behind a change, how it was found, and earlier ones to the same end."""
    if change.rv is not None and change.uid:
        written = requests.writer(change.uid, change.rv)
        if written is not None:
            return written, "resourceVersion", []
    if change.now is None:
        until = seen_at + _SLACK
        deletions = requests.deletions(
            change.uid, change.kind, change.namespace, change.name, until
        )
        if deletions:
            last, by_uid = deletions[-1]
            return last, "uid" if by_uid else "time", [event for event, _ in deletions[:-1]]
        return None, "uid", []
    last_write = requests.last_write(change.kind, change.namespace, change.name, seen_at + _SLACK)
    return last_write, "time", []


def _references(change: Change) -> Iterator[Reference]:
    """Yield what the object pointed to before and after: pods that left its endpoints, too."""
    for seen in (change.before, change.now):
        if seen is not None:
            yield from references_of(seen.data)


class _Reporting:
    """Says in the result which request it was."""

    def __init__(self, requests: Requests, place_call: PlaceCall) -> None:
        self._requests = requests
        self._place_call = place_call

    def of(self, event: AuditEvent, matched_by: Match) -> RequestReport:
        """Return the request for the result."""
        who = self._requests.parties.who(event)
        return RequestReport(
            who=who,
            user=event.user,
            verb=event.verb,
            resource=event.what,
            object=event.object,
            at=event.received_at,
            audit_id=event.id,
            matched_by=matched_by,
            tool_call=self._place_call(event.received_at) if who == "agent" else None,
            foreign=self._requests.parties.is_foreign(event),
        )


def causes_by_managed_fields(
    violations: Iterable[Violation], *, origin_sec: float
) -> list[ViolationCause]:
    """Return what the objects say of themselves about violations.

    https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management: the manager
    is what the client calls itself, and times are whole seconds.
    """
    found: list[ViolationCause] = []
    for violation in violations:
        at_sec = max(0.0, violation.at_sec - origin_sec)
        if not violation.changes:
            found.append(ViolationCause(at_sec=at_sec, note=_NOTHING_SEEN))
        for change in violation.changes:
            cause = ViolationCause(at_sec=at_sec, object=str(change), change=change.what)
            if change.now is None:
                note = "an object that is gone does not say who deleted it"
                found.append(cause.model_copy(update={"note": note}))
                continue
            found.append(_by_fields(cause, change, change.now))
    return found


def _by_fields(cause: ViolationCause, change: Change, now: KubeObject) -> ViolationCause:
    writers = _changed_managers(change, now)
    if not writers:
        return cause.model_copy(update={"note": "its managedFields name nobody for the change"})
    reports = [_manager(change, item) for item in writers]
    by = reports[-1]
    led = None
    if by.user.startswith(_CONTROLLER_MANAGERS):
        others = [r for item in _managers(now) if _wrote_first(r := _manager(change, item))]
        led = others[-1] if others else None
    note = "a manager is what the client calls itself: whose it is they do not say"
    return cause.model_copy(update={"written_by": by, "led_by": led, "note": note})


def _wrote_first(report: RequestReport) -> bool:
    return not report.user.startswith((*_CONTROLLER_MANAGERS, FIELD_MANAGER))


def _changed_managers(change: Change, now: KubeObject) -> list[JsonObject]:
    """Return the entries that are new, or new in their time; whoever only lost fields is not."""
    before = [_act(item) for item in _managers(change.before)] if change.before is not None else []
    new = [item for item in _managers(now) if _act(item) not in before]
    return new or _managers(now)[-1:]


def _act(item: JsonObject) -> list[JsonValue]:
    return [item.get(key) for key in ("manager", "operation", "subresource", "time")]


def _managers(obj: KubeObject) -> list[JsonObject]:
    """Return the entries of managedFields, the oldest first."""
    raw = obj.metadata.get("managedFields")
    listed = [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []
    return sorted(listed, key=lambda item: str(item.get("time", "")))


def _manager(change: Change, item: JsonObject) -> RequestReport:
    subresource = item.get("subresource")
    return RequestReport(
        # What a client calls itself is no identity.
        who="unknown",
        user=str(item.get("manager", "")),
        verb=str(item.get("operation", "")).lower(),
        resource=change.kind + (f"/{subresource}" if subresource else ""),
        object="/".join(part for part in (change.namespace, change.name) if part),
        at=_time(item.get("time")),
        matched_by="managedFields",
    )


def _time(raw: JsonValue) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
