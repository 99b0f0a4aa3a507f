"""One line of a watch, parsed once.

The format is https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes:
each line is ``{"type": …, "object": …}``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import orjson

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject

_OBJECT_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED"})


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """One stored write.

    Attributes:
        object: The object after the write; for a deletion, as it was last.
        rv: The revision of the write; for a deletion, that of the deletion.
        deleted: Whether the write was the deletion.
    """

    object: KubeObject
    rv: int
    deleted: bool


@dataclass(frozen=True, slots=True)
class BookmarkEvent:
    """The server has sent everything up to ``rv``."""

    rv: int


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The server ended the watch with a ``Status``.

    Attributes:
        code: The HTTP status code it stands for; 410 says that the version is too old.
        reason: Its machine-readable reason, may be empty.
        message: Its sentence, may be empty.
    """

    code: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that says nothing that can be relied on: whatever it stood for was not seen."""

    reason: str


Event: TypeAlias = ObjectEvent | BookmarkEvent | ErrorEvent | Malformed


def parse_line(line: bytes) -> Event:
    """Parse one line of a watch; never raises.

    Args:
        line: The bytes up to its newline, with or without it.
    """
    try:
        data: JsonValue = orjson.loads(line)
    except orjson.JSONDecodeError as exc:
        return Malformed(f"a line of the watch is not JSON ({exc})")
    if not isinstance(data, dict):
        return Malformed("a line of the watch is not a JSON object")
    kind, body = data.get("type"), data.get("object")
    if not isinstance(body, dict):
        return Malformed("a line of the watch has no object")
    if kind == "ERROR":
        return _error(body)
    obj = KubeObject(body)
    rv = parse_version(obj.resource_version)
    if rv is None:
        return Malformed(f"resourceVersion {obj.resource_version!r} is not a positive integer")
    if kind == "BOOKMARK":
        return BookmarkEvent(rv)
    if kind not in _OBJECT_TYPES:
        return Malformed(f"a line of the watch has the unknown type {kind!r}")
    if not obj.name:
        return Malformed("an object of the watch has no name")
    return ObjectEvent(obj, rv, kind == "DELETED")


def parse_version(text: str) -> int | None:
    """Return a resourceVersion as a number that orders the writes of one kind.

    Returns:
        ``None`` where it is not the plain positive integer that every conformant kind has since
        Kubernetes 1.35 (KEP-5504); such a kind cannot be ordered, so it cannot be watched.
    """
    if not text or text[0] == "0" or not text.isascii() or not text.isdigit():
        return None
    return int(text)


@dataclass(frozen=True, slots=True)
class ObjectList:
    """One answered LIST.

    Attributes:
        rv: The revision that it shows.
        objects: Every object, in the server's order.
    """

    rv: int
    objects: tuple[KubeObject, ...]


def parse_list(body: bytes) -> ObjectList | Malformed:
    """Parse the body of a LIST that was not paginated; never raises.

    Items of a LIST carry no ``kind`` and ``apiVersion``; both are filled in from the list, so that
    an object reads the same whether it was listed or watched.
    """
    try:
        data: JsonValue = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        return Malformed(f"the LIST is not JSON ({exc})")
    if not isinstance(data, dict):
        return Malformed("the LIST is not a JSON object")
    listed = KubeObject(data)
    rv = parse_version(listed.resource_version)
    if rv is None:
        return Malformed(
            f"the LIST's resourceVersion {listed.resource_version!r} is not a positive integer"
        )
    if listed.metadata.get("continue"):
        return Malformed("the LIST is only a part of what there is")
    items = data.get("items")
    if items is None:
        items = []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return Malformed("the LIST has no items")
    kind, api_version = data.get("kind"), data.get("apiVersion")
    objects = [_completed(item, kind, api_version) for item in items if isinstance(item, dict)]
    return ObjectList(rv, tuple(objects))


def list_version(body: bytes) -> int | None:
    """Return the revision of a LIST, paginated or not; ``None`` without one that orders writes."""
    try:
        data: JsonValue = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return parse_version(KubeObject(data).resource_version) if isinstance(data, dict) else None


def _completed(item: JsonObject, kind: JsonValue, api_version: JsonValue) -> KubeObject:
    if isinstance(kind, str) and kind.endswith("List") and "kind" not in item:
        item = {"kind": kind.removesuffix("List"), "apiVersion": api_version, **item}
    return KubeObject(item)


def _error(body: JsonObject) -> ErrorEvent:
    code, reason, message = body.get("code"), body.get("reason"), body.get("message")
    return ErrorEvent(
        code if isinstance(code, int) else 0,
        reason if isinstance(reason, str) else "",
        message if isinstance(message, str) else "",
    )
