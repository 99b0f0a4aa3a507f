"""Proves the agent's access before its turn, with its own token.

A fixed table of SelfSubjectAccessReviews
(https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/),
one request that must be answered and one that must be refused. A token that the server does not
accept proves nothing: 401 is not "denied".
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from devops_bench.core.clock import Clock
from devops_bench.core.errors import ApiError, ClusterError, SetupError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.identity import Identity, username
from devops_bench.k8s.rbac import ANY, Grant, PolicyRule
from devops_bench.k8s.resources import ApiResource
from devops_bench.results.trust import AccessCheck

_POLL_SEC: Final = 0.05
_REQUEST_SEC: Final = 10.0
_RBAC: Final = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Question:
    """May the account do this?

    Attributes:
        verb: The verb.
        group: The group.
        resource: ``name`` or ``name/subresource``.
        namespace: Where; empty for the whole cluster.
        name: Which object; empty for all.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        """``create pods in namespace shop``."""
        group = f".{self.group}" if self.group else ""
        name = f" {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else " in the whole cluster"
        return f"{self.verb} {self.resource}{group}{name}{where}"

    def attributes(self) -> JsonObject:
        """Return ``spec.resourceAttributes`` of a review."""
        resource, _, subresource = self.resource.partition("/")
        return {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": self.namespace,
            "name": self.name,
        }


# From 1.35 on a server takes impersonation by its constrained verbs too; to one before it they are
# words that nobody granted.
_IDENTITIES: Final = "authentication.k8s.io"
_NEVER_IN_ITS_NAMESPACES: Final = (
    ("impersonate:serviceaccount", _IDENTITIES, "serviceaccounts"),
    ("impersonate-on:serviceaccount:list", "", "secrets"),
    ("impersonate-on:user-info:list", "", "secrets"),
    ("impersonate", "", "serviceaccounts"),
    ("create", "", "serviceaccounts/token"),
    ("create", "", "secrets"),
    ("create", _RBAC, "rolebindings"),
    ("update", _RBAC, "roles"),
)
_NEVER_IN_THE_CLUSTER: Final = (
    ("impersonate", "", "users"),
    ("impersonate", "", "groups"),
    ("impersonate", _IDENTITIES, "uids"),
    ("impersonate", _IDENTITIES, "userextras/scopes"),
    ("impersonate:user-info", _IDENTITIES, "users"),
    ("impersonate:user-info", _IDENTITIES, "groups"),
    ("impersonate:serviceaccount", _IDENTITIES, "serviceaccounts"),
    ("impersonate:arbitrary-node", _IDENTITIES, "nodes"),
    ("impersonate:associated-node", _IDENTITIES, "nodes"),
    ("impersonate-on:user-info:list", "", "secrets"),
    ("impersonate-on:serviceaccount:list", "", "secrets"),
    ("create", _RBAC, "clusterrolebindings"),
    ("escalate", _RBAC, "clusterroles"),
    ("bind", _RBAC, "clusterroles"),
    ("list", "", "secrets"),
    ("get", "", "nodes/proxy"),
    ("create", "", "persistentvolumes"),
    ("delete", "", "namespaces"),
    ("get", "", "pods/exec"),
    ("get", "", "pods/attach"),
    ("get", "", "pods/portforward"),
    ("get", "", "pods/proxy"),
    ("get", "", "services/proxy"),
    ("update", "certificates.k8s.io", "certificatesigningrequests/approval"),
    ("create", "certificates.k8s.io", "podcertificaterequests"),
    ("create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("create", "admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("create", "apiregistration.k8s.io", "apiservices"),
    ("create", "", "pods"),
)
_NEVER_AT_THE_HARNESS: Final = (
    ("get", "", "secrets"),
    ("list", "", "configmaps"),
    ("create", "", "pods"),
    ("create", "", "serviceaccounts/token"),
    ("delete", "", "serviceaccounts"),
)
_NEVER_AT_THE_SYSTEM: Final = (
    ("get", "", "secrets"),
    ("create", "", "pods"),
    ("get", "", "pods/exec"),
    ("update", "", "configmaps"),
    ("delete", "coordination.k8s.io", "leases"),
    ("impersonate:serviceaccount", _IDENTITIES, "serviceaccounts"),
    ("impersonate-on:user-info:list", "", "secrets"),
)


def must_be_denied(identity: Identity, namespaces: Iterable[str]) -> Iterator[Question]:
    """Yield what no agent may do.

    Args:
        identity: The agent's account.
        namespaces: Where it may do something.
    """
    yield from (Question(*what) for what in _NEVER_IN_THE_CLUSTER)
    yield from (Question(*what, identity.namespace) for what in _NEVER_AT_THE_HARNESS)
    yield Question("delete", "", "namespaces", identity.namespace, identity.namespace)
    yield from (Question(*what, "kube-system") for what in _NEVER_AT_THE_SYSTEM)
    for namespace in namespaces:
        yield from (Question(*what, namespace) for what in _NEVER_IN_ITS_NAMESPACES)
        for verb in ("update", "patch"):
            # The labels of its namespaces are what enforces Pod Security.
            yield Question(verb, "", "namespaces", namespace, namespace)


def must_be_allowed(grants: Iterable[Grant]) -> Iterator[Question]:
    """Yield one question for each rule, in each of its namespaces, that its grant answers."""
    for grant in grants:
        for rule in grant.rules:
            for namespace in grant.namespaces or ("",):
                yield _of_rule(rule, namespace)


def _of_rule(rule: PolicyRule, namespace: str) -> Question:
    name = rule.resource_names[0] if rule.resource_names else ""
    return Question(rule.verbs[0], rule.api_groups[0], rule.resources[0], namespace, name)


class SelfCheck:
    """Asks everything with the agent's own credentials.

    Args:
        client: A connection with the agent's kubeconfig.
        identity: The agent's account.
        grants: What it was granted.
        clock: Where time comes from.
    """

    def __init__(
        self, client: ApiClient, identity: Identity, grants: Sequence[Grant], clock: Clock
    ) -> None:
        self._client = client
        self._identity = identity
        self._grants = grants
        self._clock = clock

    def run(self, timeout_sec: float) -> list[AccessCheck]:
        """Return the table, every row of it as expected.

        Args:
            timeout_sec: Seconds for all of it, > 0; the server needs a moment to know new roles.

        Raises:
            SetupError: Something is not as it must be; the message names every row.
        """
        deadline = self._clock.monotonic() + timeout_sec
        allowed = [self._await_allowed(q, deadline) for q in must_be_allowed(self._grants)]
        namespaces = dict.fromkeys(name for grant in self._grants for name in grant.namespaces)
        denied = [
            _row(q, "denied", self._review(q)) for q in must_be_denied(self._identity, namespaces)
        ]
        rows = [*self._requests(), *allowed, *denied]
        wrong = [row for row in rows if row.observed != row.expected]
        if wrong:
            listed = "; ".join(f"{r.what} must be {r.expected}: {r.observed}" for r in wrong)
            raise SetupError(
                f"the agent's access is not what the task says, so it was not started: {listed}"
            )
        return rows

    def _requests(self) -> Iterator[AccessCheck]:
        """Try for real: who am I, something that is granted, something that is not."""
        user = self._whoami()
        what = f"the token is that of {self._identity.username}"
        seen = "allowed" if user == self._identity.username else user
        yield AccessCheck(what=what, how="request", expected="allowed", observed=seen)
        readable = self._something_readable()
        if readable is not None:
            yield self._tried(*readable, "allowed")
        path = f"/api/v1/namespaces/{self._identity.namespace}/secrets"
        yield self._tried(f"list secrets of namespace {self._identity.namespace}", path, "denied")

    def _whoami(self) -> str:
        try:
            return username(self._client, _REQUEST_SEC)
        except ClusterError as exc:
            return f"no answer: {exc}"

    def _something_readable(self) -> tuple[str, str] | None:
        """Return what to read, and its path; ``None`` when nothing that the server has is."""
        discovery = Discovery(self._client)
        for grant in self._grants:
            for rule in grant.rules:
                if rule.resource_names or ("list" not in rule.verbs and ANY not in rule.verbs):
                    continue
                for name in rule.resources:
                    group = rule.api_groups[0]
                    found = discovery.resolve(f"{name}.{group}" if group else name, _REQUEST_SEC)
                    if isinstance(found, ApiResource) and found.group == group:
                        where = grant.namespaces[0] if grant.namespaces else None
                        inside = f" of namespace {where}" if where else ""
                        return f"list {name}{inside}", found.path(where)
        return None

    def _tried(self, what: str, path: str, expected: Literal["allowed", "denied"]) -> AccessCheck:
        try:
            self._client.request("GET", path, query={"limit": "1"}, timeout_sec=_REQUEST_SEC)
            observed = "allowed"
        except ApiError as exc:
            # Only 403 is a refusal: 401 says that the token is worth nothing.
            observed = "denied" if exc.status == 403 else f"no answer: {exc}"
        except ClusterError as exc:
            observed = f"no answer: {exc}"
        return AccessCheck(what=what, how="request", expected=expected, observed=observed)

    def _await_allowed(self, question: Question, deadline: float) -> AccessCheck:
        never = threading.Event()
        while (observed := self._review(question)) == "denied":
            if self._clock.monotonic() + _POLL_SEC >= deadline:
                break
            self._clock.wait(never, _POLL_SEC)
        return _row(question, "allowed", observed)

    def _review(self, question: Question) -> str:
        body: JsonObject = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": question.attributes()},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        try:
            answer = self._client.request("POST", path, body=body, timeout_sec=_REQUEST_SEC)
        except ClusterError as exc:
            return f"no answer: {exc}"
        status = answer.get("status")
        allowed = status.get("allowed") if isinstance(status, dict) else None
        if not isinstance(allowed, bool):
            return "no answer: the review says neither"
        return "allowed" if allowed else "denied"


def _row(question: Question, expected: Literal["allowed", "denied"], observed: str) -> AccessCheck:
    return AccessCheck(what=str(question), how="review", expected=expected, observed=observed)
