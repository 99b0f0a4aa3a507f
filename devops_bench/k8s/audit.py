"""The API server's audit log: requests, as far as attribution needs them.

https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/. The file has one JSON object a
line. It is read from where it ended before, while the server goes on writing; a line without an end
waits for the next reading.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson

from devops_bench.core.json import JsonObject, JsonValue

_COMPLETE: Final = "ResponseComplete"
_BLOCK_BYTES: Final = 1 << 22
WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Reference:
    """Another object that an object points to.

    Attributes:
        relation: ``owner``, ``target`` (an endpoint's pod) or ``scales`` (what an autoscaler does).
        uid: Its uid, empty where only the name is known.
        kind: Its kind.
        name: Its name.
    """

    relation: str
    uid: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Answered:
    """An object in the answer to a write.

    Attributes:
        uid: Its uid.
        name: Its name.
        namespace: Its namespace.
        resource_version: The revision that was written; empty where the answer has none.
        generation: Its generation, ``None`` for kinds without.
        references: What it points to.
    """

    uid: str
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int | None = None
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One answered request.

    Attributes:
        id: The audit id.
        user: Who.
        impersonated: As whom, empty for oneself.
        user_agent: What the client calls itself; anybody may claim anything.
        verb: ``get``, ``patch``, ….
        group: The API group.
        resource: The plural name; empty for what is no resource.
        subresource: The subresource, empty for none.
        namespace: The namespace, empty for none.
        name: The object's name, empty for a collection or a generated name.
        code: The HTTP status of the answer; 0 when it is not known.
        received_at: When it was received (UTC).
        answered_at: When it was answered.
        objects: What was written or deleted, as far as the policy keeps the answer.
    """

    id: str
    user: str
    verb: str
    resource: str
    received_at: dt.datetime
    answered_at: dt.datetime
    impersonated: str = ""
    user_agent: str = ""
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    code: int = 0
    objects: tuple[Answered, ...] = field(default=())

    @property
    def succeeded(self) -> bool:
        """Whether it was answered with success."""
        return 200 <= self.code < 300

    @property
    def is_write(self) -> bool:
        """Whether it asked for a change."""
        return self.verb in WRITES

    @property
    def what(self) -> str:
        """``deployments.apps/scale``."""
        group = f".{self.group}" if self.group else ""
        return f"{self.resource}{group}" + (f"/{self.subresource}" if self.subresource else "")

    @property
    def object(self) -> str:
        """``shop/web``; of a collection the namespace alone."""
        name = self.name or (self.objects[0].name if len(self.objects) == 1 else "")
        return "/".join(part for part in (self.namespace, name) if part)


def parse_event(line: bytes) -> AuditEvent | None:
    """Return the request of a line; ``None`` for a stage that is no answer.

    Raises:
        ValueError: The line is no audit event.
    """
    raw = orjson.loads(line)
    if not isinstance(raw, dict) or "auditID" not in raw:
        raise ValueError("not an audit event")
    if raw.get("stage") != _COMPLETE:
        return None
    ref, status = _object(raw.get("objectRef")), _object(raw.get("responseStatus"))
    code = status.get("code")
    return AuditEvent(
        id=_text(raw.get("auditID")),
        user=_text(_object(raw.get("user")).get("username")),
        impersonated=_text(_object(raw.get("impersonatedUser")).get("username")),
        user_agent=_text(raw.get("userAgent")),
        verb=_text(raw.get("verb")),
        group=_text(ref.get("apiGroup")),
        resource=_text(ref.get("resource")),
        subresource=_text(ref.get("subresource")),
        namespace=_text(ref.get("namespace")),
        name=_text(ref.get("name")),
        code=code if isinstance(code, int) else 0,
        received_at=_time(raw.get("requestReceivedTimestamp")),
        answered_at=_time(raw.get("stageTimestamp")),
        objects=_answered(_object(raw.get("responseObject"))),
    )


class AuditLog:
    """Reads an audit log bit by bit.

    Args:
        path: The file; it may not be there yet.
        from_end: Whether what is in it already is passed over.

    Attributes:
        events: Every answered request so far, in the order of the file.
        malformed: Lines that were no audit event.
        problem: Why something of it is missing, ``None`` while nothing is.
    """

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self.events: list[AuditEvent] = []
        self.malformed = 0
        self.problem: str | None = None
        self._path = path
        self._offset = 0
        self._rest = b""
        # Held, so that its inode is given to no other file.
        self._held = -1
        self._begin = 0
        self._hash = hashlib.sha256()
        if from_end:
            self._skip()

    def read(self) -> list[AuditEvent]:
        """Read what was written since, and return it; never raises."""
        before = len(self.events)
        try:
            with self._path.open("rb") as file:
                self._follow(os.fstat(file.fileno()))
                file.seek(self._offset)
                while block := file.read(_BLOCK_BYTES):
                    self._offset += len(block)
                    self._hash.update(block)
                    self._take(block)
        except OSError as exc:
            self.problem = f"the audit log {self._path} cannot be read: {exc.strerror or exc}"
        return self.events[before:]

    def look_again(self) -> None:
        """Look whether what was read is still there as it was; never raises.

        If it is not, :attr:`problem` says so.
        """
        if self.problem is not None:
            return
        found, left = hashlib.sha256(), self._offset - self._begin
        try:
            with self._path.open("rb") as file:
                self._follow(os.fstat(file.fileno()))
                file.seek(self._begin)
                while left and (block := file.read(min(left, _BLOCK_BYTES))):
                    found.update(block)
                    left -= len(block)
        except OSError as exc:
            self.problem = f"the audit log {self._path} cannot be read: {exc.strerror or exc}"
            return
        if self.problem is None and found.digest() != self._hash.digest():
            self.problem = f"the audit log {self._path} was changed after it was read"

    def close(self) -> None:
        """Let go of the file; what was read stays. Safe to call twice."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def _skip(self) -> None:
        try:
            self._hold()
        except FileNotFoundError:
            return
        except OSError as exc:
            self.problem = f"the audit log {self._path} cannot be read: {exc.strerror or exc}"
            return
        self._begin = self._offset = os.fstat(self._held).st_size

    def _hold(self) -> None:
        self.close()
        self._held = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def _follow(self, found: os.stat_result) -> None:
        if self._held < 0:
            self._hold()
        elif not os.path.samestat(found, os.fstat(self._held)):
            self.problem = f"the audit log {self._path} was replaced while it was read"
            self._offset, self._rest = 0, b""
            self._hold()
        elif found.st_size < self._offset:
            self.problem = f"the audit log {self._path} was cut while it was read"
            self._offset, self._rest = found.st_size, b""

    def _take(self, block: bytes) -> None:
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            if not line.strip():
                continue
            try:
                event = parse_event(line)
            except ValueError:
                self.malformed += 1
                continue
            if event is not None:
                self.events.append(event)


def _answered(body: JsonObject) -> tuple[Answered, ...]:
    """Return the objects of an answer: one, those of a list, or the one that a Status names."""
    items = body.get("items")
    if isinstance(items, list):
        return tuple(one for item in items for one in _answered(_object(item)))
    if body.get("kind") == "Status":
        details = _object(body.get("details"))
        uid, name = _text(details.get("uid")), _text(details.get("name"))
        return (Answered(uid, name),) if uid or name else ()
    metadata = _object(body.get("metadata"))
    generation = metadata.get("generation")
    if not metadata:
        return ()
    return (
        Answered(
            uid=_text(metadata.get("uid")),
            name=_text(metadata.get("name")),
            namespace=_text(metadata.get("namespace")),
            resource_version=_text(metadata.get("resourceVersion")),
            generation=generation if isinstance(generation, int) else None,
            references=references_of(body),
        ),
    )


def references_of(body: JsonObject) -> tuple[Reference, ...]:
    """Return what an object points to: owners, the pods of endpoints, what an autoscaler scales."""
    found: list[Reference] = []
    owners = _object(body.get("metadata")).get("ownerReferences")
    found += (_reference("owner", item) for item in _list(owners))
    for endpoint in _list(body.get("endpoints")):
        found.append(_reference("target", _object(endpoint).get("targetRef")))
    for subset in _list(body.get("subsets")):
        for key in ("addresses", "notReadyAddresses"):
            for address in _list(_object(subset).get(key)):
                found.append(_reference("target", _object(address).get("targetRef")))
    found.append(_reference("scales", _object(body.get("spec")).get("scaleTargetRef")))
    return tuple(item for item in found if item.uid or item.name)


def _reference(relation: str, raw: JsonValue) -> Reference:
    body = _object(raw)
    return Reference(
        relation, _text(body.get("uid")), _text(body.get("kind")), _text(body.get("name"))
    )


def _time(raw: JsonValue) -> dt.datetime:
    try:
        found = dt.datetime.fromisoformat(_text(raw))
    except ValueError as exc:
        raise ValueError("an audit event without a time") from exc
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
