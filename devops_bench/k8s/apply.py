"""Creating a setup's objects, so that exactly what was created can be deleted again."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from devops_bench.core.clock import SYSTEM_CLOCK, Clock
from devops_bench.core.errors import ApiError, ApiUnavailableError, ClusterError, SetupError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.delete import CreatedObject, NotDeleted, delete_objects
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.rollout import rolled_out
from devops_bench.k8s.view import UnknownKind

__all__ = ["FIELD_MANAGER", "CreatedObject", "NotDeleted", "create_objects", "delete_objects"]

FIELD_MANAGER: Final = "devops-bench"
"""Who the server records as the owner of the fields that are written here."""

_POLL_SEC: Final = 0.1
_REQUEST_SEC: Final = 30.0
_SERVICE_ACCOUNT_SEC: Final = 15.0
_LAST_LOOK_SEC: Final = 5.0
_BUSY: Final = frozenset({429, 503})

# What others need comes first, what gets in their way last; the rest in its own order.
_FIRST: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "PersistentVolume",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ResourceQuota",
    "LimitRange",
)
_LAST: Final = ("APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_NAMESPACES: Final = ApiResource("", "v1", "namespaces", "Namespace", namespaced=False)
_SERVICE_ACCOUNTS: Final = ApiResource(
    "", "v1", "serviceaccounts", "ServiceAccount", namespaced=True
)
_POD_MAKERS: Final = frozenset(
    {
        "Pod",
        "Deployment",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
    }
)


def create_objects(
    client: ApiClient,
    discovery: Discovery,
    objects: Iterable[JsonObject],
    *,
    default_namespace: str,
    adopt: bool,
    record: Callable[[CreatedObject], None],
    announce: Callable[[CreatedObject], None] | None = None,
    timeout_sec: float = 120.0,
    clock: Clock = SYSTEM_CLOCK,
) -> None:
    """Create ``objects``: namespaces and CRDs first, webhooks last, the rest in their order.

    A field that the server does not know is refused, as kubectl does it, not dropped: the setup
    would be another one than was written. CRDs are waited for until they are served; before a
    workload is created in a namespace its ``default`` ServiceAccount is waited for, without which
    the server refuses pods.

    Args:
        client: The connection.
        discovery: What the kinds mean.
        objects: What to create; not changed.
        default_namespace: For objects of namespaced kinds that name none.
        adopt: Whether an object that is there already is taken over: it is patched to what is
            given (server-side apply, as ``devops-bench``), and not recorded.
        record: Called with each object as soon as the server has created it. When its answer is
            lost (a timeout, an interrupt) the object is looked for: it is recorded if this call
            made it, and with an empty uid if that is not known.
        announce: Called with each object, without a uid, before the server is asked for it.
        timeout_sec: Seconds for all of it, > 0.
        clock: Where durations come from.

    Raises:
        SetupError: An object is there already (and ``adopt`` is not given), the server refuses one,
            does not know its kind, or the time ran out. What was created until then is recorded.
    """
    deadline = clock.monotonic() + timeout_sec
    creation = _Creation(client, discovery, default_namespace, adopt, record, deadline, clock)
    creation.announce = announce
    for body in sorted(objects, key=_rank):
        creation.create(body)
    creation.await_definitions()


class _Creation:
    """The state of one call of :func:`create_objects`."""

    def __init__(
        self,
        client: ApiClient,
        discovery: Discovery,
        default_namespace: str,
        adopt: bool,
        record: Callable[[CreatedObject], None],
        deadline: float,
        clock: Clock,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._default_namespace = default_namespace
        self._adopt = adopt
        self._record = record
        self._deadline = deadline
        self._clock = clock
        # Whole seconds, as the server counts them.
        self._began = clock.now().replace(microsecond=0)
        self.announce: Callable[[CreatedObject], None] | None = None
        self._definitions: list[tuple[str, JsonObject]] = []
        self._ready_namespaces: set[str] = set()

    def create(self, body: JsonObject) -> None:
        """Create one object, or adopt it."""
        obj = KubeObject(body)
        kind = _kind(obj)
        if kind != "CustomResourceDefinition":
            self.await_definitions()
        resource = self._resource(obj)
        namespace = (obj.namespace or self._default_namespace) if resource.namespaced else ""
        name = obj.name or f"{obj.metadata.get('generateName')}…"
        shown = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
        if kind in _POD_MAKERS and namespace not in self._ready_namespaces:
            self._await_service_account(namespace)
            self._ready_namespaces.add(namespace)
        try:
            self._create(resource, kind, namespace, body)
        except ApiError as exc:
            if exc.status == 409 and exc.reason == "AlreadyExists":
                path = resource.path(namespace or None, obj.name)
                self._already_there(path, body, shown)
                if kind == "CustomResourceDefinition":
                    self._definitions.append((path, body))
                return
            raise SetupError(f"{shown} was not created: {exc}") from exc
        except ApiUnavailableError as exc:
            raise SetupError(f"whether {shown} was created is not known: {exc}") from exc
        except ValueError as exc:
            raise SetupError(f"{shown} was not created: {exc}") from exc
        if kind == "CustomResourceDefinition":
            self._definitions.append((resource.path(None, obj.name), body))

    def _create(self, resource: ApiResource, kind: str, namespace: str, body: JsonObject) -> None:
        """Create the object and record it, also when the answer is lost."""

        def identified(obj: KubeObject) -> CreatedObject:
            path = resource.path(namespace or None, obj.name)
            return CreatedObject(resource.api_version, kind, path, namespace, obj.name, obj.uid)

        collection = resource.path(namespace or None)
        named = KubeObject(body)
        planned = replace(identified(named), uid="") if named.name else None
        if planned is not None and self.announce is not None:
            self.announce(planned)
        recorded = False
        try:
            created = self._post(collection, body)
            self._record(identified(KubeObject(created)))
            recorded = True
        except SetupError:  # the server asked for patience until the time ran out
            raise
        except ApiError as exc:
            # Below 500 it made nothing; 504 and its like say that it does not know.
            if planned is not None and exc.status >= 500:
                self._settle(planned)
            raise
        except BaseException:
            if planned is not None and not recorded:
                self._settle(planned)
            raise

    def _settle(self, planned: CreatedObject) -> None:
        """Find out whether an object whose creation was not answered is there and ours."""
        try:
            found = KubeObject(
                self._client.request("GET", planned.path, timeout_sec=_LAST_LOOK_SEC)
            )
        except ApiError as exc:
            if exc.status != 404:
                self._record(planned)
            return
        except ApiUnavailableError:
            self._record(planned)
            return
        ours = _is_made_by(FIELD_MANAGER, found) and _created_since(self._began, found)
        self._record(replace(planned, uid=found.uid) if ours else planned)

    def await_definitions(self) -> None:
        """Wait until every CRD that was created since the last call is served."""
        while self._definitions:
            path, body = self._definitions[0]
            name = KubeObject(body).name
            while True:
                done, why = rolled_out(self._get(path, f"CustomResourceDefinition {name}"))
                if done and (done := self._served(body)):
                    break
                why = why if not done else "its kind is not served yet"
                self._pause(f"CustomResourceDefinition {name}: {why}")
            self._definitions.pop(0)

    def _served(self, body: JsonObject) -> bool:
        spec = body.get("spec")
        names = spec.get("names") if isinstance(spec, dict) else None
        versions = spec.get("versions") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(names, dict):
            return True
        for version in versions if isinstance(versions, list) else ():
            if isinstance(version, dict) and version.get("served") is True:
                api_version = f"{spec.get('group')}/{version.get('name')}"
                found = self._discovery.resource_for(
                    api_version, str(names.get("kind")), self._request_sec()
                )
                if not isinstance(found, ApiResource):
                    return False
        return True

    def _resource(self, obj: KubeObject) -> ApiResource:
        api_version = str(obj.data.get("apiVersion"))
        found = self._discovery.resource_for(api_version, _kind(obj), self._request_sec())
        if isinstance(found, ApiResource):
            return found
        hint = (
            "; is its CustomResourceDefinition missing?" if isinstance(found, UnknownKind) else ""
        )
        raise SetupError(f"{_kind(obj)} {obj.name} was not created: {found.reason}{hint}")

    def _post(self, path: str, body: JsonObject) -> JsonObject:
        while True:
            try:
                return self._client.request(
                    "POST",
                    path,
                    query={"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"},
                    body=body,
                    timeout_sec=self._request_sec(),
                )
            except ApiError as exc:
                # The server asks for patience and has done nothing.
                if exc.status not in _BUSY or exc.retry_after_sec is None:
                    raise
                self._pause(str(exc), exc.retry_after_sec)

    def _already_there(self, path: str, body: JsonObject, shown: str) -> None:
        if not self._adopt:
            raise SetupError(
                f"{shown} is there already; delete it, or take over what is there with --adopt"
            )
        try:
            self._client.request(
                "PATCH",
                path,
                query={
                    "fieldManager": FIELD_MANAGER,
                    "fieldValidation": "Strict",
                    "force": "true",
                },
                body=body,
                content_type="application/apply-patch+yaml",
                timeout_sec=self._request_sec(),
            )
        except ClusterError as exc:
            raise SetupError(f"{shown} is there already and was not adopted: {exc}") from exc

    def _await_service_account(self, namespace: str) -> None:
        """Wait for the account that pods run as; without it the server itself says what lacks."""
        until = min(self._deadline, self._clock.monotonic() + _SERVICE_ACCOUNT_SEC)
        try:
            account = _SERVICE_ACCOUNTS.path(namespace, "default")
            while not self._exists(account) and self._exists(_NAMESPACES.path(None, namespace)):
                if self._clock.monotonic() + _POLL_SEC >= until:
                    return
                self._clock.wait(threading.Event(), _POLL_SEC)
        except (ApiUnavailableError, ValueError) as exc:
            raise SetupError(f"nothing was created in namespace {namespace}: {exc}") from exc

    def _exists(self, path: str) -> bool:
        try:
            self._client.request("GET", path, timeout_sec=self._request_sec())
        except ApiError as exc:
            # What may not be read is taken to be there: creating will tell.
            return exc.status != 404
        return True

    def _get(self, path: str, shown: str) -> KubeObject:
        try:
            return KubeObject(self._client.request("GET", path, timeout_sec=self._request_sec()))
        except ClusterError as exc:
            raise SetupError(f"{shown} could not be read: {exc}") from exc

    def _pause(self, waiting_for: str, seconds: float = _POLL_SEC) -> None:
        if self._clock.monotonic() + seconds >= self._deadline:
            raise SetupError(f"the time for the setup ran out: {waiting_for}")
        self._clock.wait(threading.Event(), seconds)

    def _request_sec(self) -> float:
        return min(_REQUEST_SEC, self._deadline - self._clock.monotonic())


def _is_made_by(manager: str, obj: KubeObject) -> bool:
    fields = obj.metadata.get("managedFields")
    managers = [one.get("manager") for one in _maps(fields)]
    return manager in managers


def _created_since(moment: dt.datetime, obj: KubeObject) -> bool:
    try:
        return dt.datetime.fromisoformat(str(obj.metadata.get("creationTimestamp"))) >= moment
    except (ValueError, TypeError):
        return False


def _maps(value: JsonValue) -> list[JsonObject]:
    return [item for item in (value if isinstance(value, list) else []) if isinstance(item, dict)]


def _kind(obj: KubeObject) -> str:
    return str(obj.data.get("kind"))


def _rank(body: JsonObject) -> int:
    kind = str(body.get("kind"))
    if kind in _FIRST:
        return _FIRST.index(kind)
    return len(_FIRST) + (1 if kind in _LAST else 0)
