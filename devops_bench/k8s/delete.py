"""Deleting exactly what a run created, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ApiUnavailableError, ClusterError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.objects import KubeObject

_POLL_SEC: Final = 0.1
_REQUEST_SEC: Final = 30.0
_LAST_LOOK_SEC: Final = 1.0


@dataclass(frozen=True, slots=True)
class CreatedObject:
    """An object that this run created, and so may delete.

    Attributes:
        api_version: Its ``apiVersion``.
        kind: Its kind.
        path: The quoted path of its URL.
        namespace: Its namespace, empty for a cluster-scoped object.
        name: Its name.
        uid: What tells it from a later object of the same name; empty when it is not known
            whether this run created the one that is there.
    """

    api_version: str
    kind: str
    path: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """``Deployment shop/web``."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"


@dataclass(frozen=True, slots=True)
class NotDeleted:
    """An object that is still there, or of which that is not known.

    Attributes:
        object: The object.
        reason: Why.
    """

    object: CreatedObject
    reason: str


def delete_objects(
    client: ApiClient,
    created: Sequence[CreatedObject],
    timeout_sec: float,
    *,
    clock: Clock = SYSTEM_CLOCK,
) -> list[NotDeleted]:
    """Delete exactly what was created: by uid, the newest first, namespaces last.

    An object that is gone, or whose name another object has now, is left as it is; so is one
    without a uid, which may be somebody else's.

    Args:
        client: The connection.
        created: What was recorded, in the order of creation.
        timeout_sec: Seconds until every object must be gone, > 0. Half of it at most goes to
            what is not a namespace.
        clock: Where durations come from.

    Returns:
        What is still there, or of which that is not known. Never raises for what the server says.
    """
    start = clock.monotonic()
    namespaces = [obj for obj in reversed(created) if obj.kind == "Namespace"]
    others = [obj for obj in reversed(created) if obj.kind != "Namespace"]
    deletion = _Deletion(client, clock)
    half = timeout_sec / 2 if namespaces else timeout_sec
    left = deletion.delete(others, start + half)
    left += deletion.delete(namespaces, start + timeout_sec)
    # What was stuck in a namespace may have gone with it.
    return [item for item in left if deletion.is_there(item.object) is not False]


class _Deletion:
    """Deletes and waits, each time until a deadline."""

    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._deadline = clock.monotonic()

    def delete(self, objects: Sequence[CreatedObject], deadline: float) -> list[NotDeleted]:
        """Ask for the deletion of all, then wait until all are gone."""
        self._deadline = deadline
        refused: dict[CreatedObject, str] = {}
        for obj in objects:
            if why := self._ask(obj):
                refused[obj] = why
        waiting = [obj for obj in objects if obj not in refused]
        while True:
            waiting = [obj for obj in waiting if self.is_there(obj) is not False]
            if not waiting or self._clock.monotonic() + _POLL_SEC >= deadline:
                break
            self._clock.wait(threading.Event(), _POLL_SEC)
        late = [NotDeleted(obj, "it was asked to go and is still there") for obj in waiting]
        return [NotDeleted(obj, why) for obj, why in refused.items()] + late

    def is_there(self, obj: CreatedObject) -> bool | None:
        """Return whether this very object exists; ``None`` when the server did not say."""
        try:
            found = self._client.request("GET", obj.path, timeout_sec=self._request_sec())
        except ApiError as exc:
            return False if exc.status == 404 else None
        except ApiUnavailableError:
            return None
        return not obj.uid or KubeObject(found).uid == obj.uid

    def _request_sec(self) -> float:
        # Past the deadline each object still gets one short look.
        remaining = self._deadline - self._clock.monotonic()
        return min(_REQUEST_SEC, max(_LAST_LOOK_SEC, remaining))

    def _ask(self, obj: CreatedObject) -> str:
        """Return why the deletion was refused, empty when it was not."""
        if not obj.uid:
            return "its creation was not answered: it may be of this run, or somebody else's"
        options: JsonObject = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": obj.uid},
        }
        try:
            self._client.request("DELETE", obj.path, body=options, timeout_sec=self._request_sec())
        except ApiError as exc:
            # 409: another uid, or a namespace on its way; looking at it will tell.
            return "" if exc.status in (404, 409) else str(exc)
        except ClusterError as exc:
            return str(exc)
        return ""
