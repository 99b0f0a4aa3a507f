"""An account for the agent: a namespace that it cannot reach, roles, a token, a kubeconfig."""

from __future__ import annotations

import base64
import datetime as dt
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from devops_bench.core.errors import ApiError, ClusterError, SetupError
from devops_bench.core.files import write_atomic
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.apply import create_objects
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.delete import CreatedObject
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.escalation import HARNESS_PREFIX
from devops_bench.k8s.kubeconfig import minimal_kubeconfig
from devops_bench.k8s.rbac import Grant, role_objects

ACCOUNT: Final = "agent"
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
MIN_TOKEN_SEC: Final = 600
"""The API server gives no shorter tokens."""

_REQUEST_SEC: Final = 30.0
_MANAGED: Final[JsonObject] = {"app.kubernetes.io/managed-by": "devops-bench"}


@dataclass(frozen=True, slots=True)
class Identity:
    """An account that was made.

    Attributes:
        namespace: The namespace of the harness's own objects, the account among them.
        account: The account's name.
        role: The name of its roles and bindings.
        created: What was made, in order; it is deleted by uid.
    """

    namespace: str
    account: str
    role: str
    created: tuple[CreatedObject, ...]

    @property
    def username(self) -> str:
        """As the server calls it, in audit logs too."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    @property
    def account_path(self) -> str:
        """The path of the account."""
        return f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.account}"


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token.

    Attributes:
        value: The token.
        expires_at: When the server stops accepting it (UTC).
    """

    value: str
    expires_at: dt.datetime

    def __repr__(self) -> str:
        """Without the value."""
        return f"Token(expires_at={self.expires_at.isoformat()})"


def new_name() -> str:
    """Return a name for a namespace of the harness that nobody else has."""
    return f"{HARNESS_PREFIX}{secrets.token_hex(4)}"


def create_identity(
    client: ApiClient,
    discovery: Discovery,
    grants: Iterable[Grant],
    *,
    name: str,
    secret: JsonObject | None = None,
    record: Callable[[CreatedObject], None],
    timeout_sec: float,
) -> Identity:
    """Make a namespace, an account in it, and its roles and bindings.

    Args:
        client: An administrator's connection.
        discovery: What the kinds mean.
        grants: What the account may do.
        name: The namespace, from :func:`new_name`; the roles are called the same.
        secret: ``stringData`` of a Secret in the namespace; ``None`` for none.
        record: Told of each object as soon as it exists, so that it is deleted whatever follows.
        timeout_sec: Seconds for all of it, > 0.

    Raises:
        SetupError: Something could not be made, e.g. because these credentials may not.
    """
    objects = [*_own_objects(name, secret), *role_objects(name, grants, name, ACCOUNT)]
    created: list[CreatedObject] = []

    def note(one: CreatedObject) -> None:
        created.append(one)
        record(one)

    try:
        create_objects(
            client,
            discovery,
            objects,
            default_namespace=name,
            adopt=False,
            record=note,
            timeout_sec=timeout_sec,
        )
    except SetupError as exc:
        raise SetupError(
            f"the agent's account could not be made, which the task's access asks for: {exc}"
        ) from exc
    return Identity(name, ACCOUNT, name, tuple(created))


def _own_objects(namespace: str, secret: JsonObject | None) -> Iterator[JsonObject]:
    """Yield the namespace of the harness and what is in it, the agent's account among it."""
    labels: JsonObject = {**_MANAGED, ENFORCE: "restricted"}
    inside: JsonObject = {"namespace": namespace, "labels": dict(_MANAGED)}
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": labels},
    }
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {**inside, "name": ACCOUNT},
        "automountServiceAccountToken": False,
    }
    if secret is not None:
        metadata: JsonObject = {**inside, "name": "answers"}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": secret}


def request_token(client: ApiClient, identity: Identity, lifetime_sec: float) -> Token:
    """Return a new token of the account.

    https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/

    Args:
        client: An administrator's connection.
        identity: The account.
        lifetime_sec: How long it should live, at least :data:`MIN_TOKEN_SEC` seconds; the server
            may give it less or more.

    Raises:
        SetupError: The server gave none.
    """
    seconds = max(MIN_TOKEN_SEC, int(lifetime_sec))
    body: JsonObject = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    try:
        answer = client.request(
            "POST", f"{identity.account_path}/token", body=body, timeout_sec=_REQUEST_SEC
        )
    except ClusterError as exc:
        raise SetupError(f"the agent got no token: {exc}") from exc
    status = answer.get("status")
    value = status.get("token") if isinstance(status, dict) else None
    expires = status.get("expirationTimestamp") if isinstance(status, dict) else None
    if not isinstance(value, str) or not isinstance(expires, str):
        raise SetupError("the agent got no token: the answer to its TokenRequest holds none")
    return Token(value, dt.datetime.fromisoformat(expires))


def username(client: ApiClient, timeout_sec: float) -> str:
    """Return who the server takes the client for.

    https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/self-subject-review-v1/

    Raises:
        ClusterError: It did not say.
    """
    body: JsonObject = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = client.request("POST", path, body=body, timeout_sec=timeout_sec)
    status = answer.get("status")
    info = status.get("userInfo") if isinstance(status, dict) else None
    name = info.get("username") if isinstance(info, dict) else None
    if not isinstance(name, str):
        raise ClusterError("the server's SelfSubjectReview names no user")
    return name


def write_token_kubeconfig(
    path: Path, admin_kubeconfig: Path, token: str, *, token_file: Path | None = None
) -> None:
    """Write a kubeconfig for the same cluster that holds the token and no other credential.

    Args:
        path: The file, replaced at once, mode 0600.
        admin_kubeconfig: Where the cluster is taken from: its current context.
        token: The token.
        token_file: Where the token goes instead, absolute: clients read it again when it is
            replaced, also those that have a copy of the kubeconfig.

    Raises:
        InvalidInputError: The kubeconfig cannot be used.
        SetupError: A file that it refers to cannot be read.
    """
    loaded: JsonValue = yaml.safe_load(minimal_kubeconfig(admin_kubeconfig))
    config: JsonObject = loaded if isinstance(loaded, dict) else {}
    clusters = config.get("clusters")
    item = clusters[0] if isinstance(clusters, list) else None
    body = item.get("cluster") if isinstance(item, dict) else None
    cluster: JsonObject = dict(body) if isinstance(body, dict) else {}
    authority = cluster.pop("certificate-authority", None)
    if isinstance(authority, str) and authority:
        # Inline: where the agent is, the file may not be.
        try:
            data = Path(authority).read_bytes()
        except OSError as exc:
            raise SetupError(f"the certificate authority {authority} cannot be read") from exc
        cluster["certificate-authority-data"] = base64.b64encode(data).decode()
    name = "cluster"
    user: JsonObject = {"token": token}
    if token_file is not None:
        write_atomic(token_file, token, mode=0o600)
        user = {"tokenFile": str(token_file)}
    document: JsonObject = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": ACCOUNT, "user": user}],
        "contexts": [{"name": ACCOUNT, "context": {"cluster": name, "user": ACCOUNT}}],
        "current-context": ACCOUNT,
    }
    write_atomic(path, yaml.safe_dump(document, sort_keys=False), mode=0o600)


_STRICT: Final = ("baseline", "restricted")


@dataclass(frozen=True, slots=True)
class Enforced:
    """A namespace that enforces Pod Security now.

    Attributes:
        namespace: The namespace.
        uid: Its uid.
        level: ``baseline`` or ``restricted``.
        before: Its level before, ``None`` without one; equal to ``level`` when nothing changed.
    """

    namespace: str
    uid: str
    level: str
    before: str | None


def enforce_pod_security(client: ApiClient, namespace: str) -> Enforced:
    """Make a namespace enforce at least ``baseline``.

    https://kubernetes.io/docs/concepts/security/pod-security-admission/

    Raises:
        SetupError: It could not be done.
    """
    path = f"/api/v1/namespaces/{namespace}"
    try:
        metadata = _metadata(client.request("GET", path, timeout_sec=_REQUEST_SEC))
        labels = metadata.get("labels")
        found = labels.get(ENFORCE) if isinstance(labels, dict) else None
        before = found if isinstance(found, str) else None
        uid = metadata.get("uid")
        if before not in _STRICT:
            _set_level(client, path, uid, "baseline")
    except ClusterError as exc:
        raise SetupError(
            f"the namespace {namespace}, where the agent may create workloads, does not enforce "
            f"Pod Security: {exc}"
        ) from exc
    level = before if before in _STRICT and before is not None else "baseline"
    return Enforced(namespace, uid if isinstance(uid, str) else "", level, before)


def release_pod_security(client: ApiClient, enforced: Enforced) -> str | None:
    """Put back what the namespace enforced before; return why not, ``None`` when it is done."""
    if enforced.before == enforced.level:
        return None
    path = f"/api/v1/namespaces/{enforced.namespace}"
    try:
        metadata = _metadata(client.request("GET", path, timeout_sec=_REQUEST_SEC))
        labels = metadata.get("labels")
        now = labels.get(ENFORCE) if isinstance(labels, dict) else None
        if metadata.get("uid") == enforced.uid and now == enforced.level:
            _set_level(client, path, enforced.uid, enforced.before)
    except ApiError as exc:
        return None if exc.status == 404 else f"label {ENFORCE} of {enforced.namespace}: {exc}"
    except ClusterError as exc:
        return f"label {ENFORCE} of {enforced.namespace}: {exc}"
    return None


def _set_level(client: ApiClient, path: str, uid: JsonValue, level: str | None) -> None:
    client.request(
        "PATCH",
        path,
        # The uid makes it a conflict when the namespace is another one by now.
        body={"metadata": {"uid": uid, "labels": {ENFORCE: level}}},
        content_type="application/merge-patch+json",
        timeout_sec=_REQUEST_SEC,
    )


def _metadata(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
