"""Rules that would let an account become more than it is given. Pure.

The reasons are those of
https://kubernetes.io/docs/concepts/security/rbac-good-practices/#kubernetes-rbac-privilege-escalation-risks
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from devops_bench.k8s.rbac import ANY, READ_VERBS, WRITE_VERBS, PolicyRule, makes_pods

SYSTEM_PREFIX: Final = "kube-"
"""How the names of the cluster's own namespaces begin, where its controllers and accounts live.

https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/ reserves it.
"""

HARNESS_PREFIX: Final = "devops-bench-"
"""How the names of the harness's own namespaces begin."""


@dataclass(frozen=True, slots=True)
class Danger:
    """Verbs on a resource that are more than they look.

    Attributes:
        group: The group.
        resource: The resource or subresource.
        verbs: Any of them.
        why: What comes of it, to be read after "…: ".
        scope: ``anywhere``, or only in a grant for the whole ``cluster``.
        named: Whether it is one although the rule names objects.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    scope: str = "anywhere"
    named: bool = True


IMPERSONATION_MODES: Final = ("user-info", "serviceaccount", "arbitrary-node", "associated-node")
"""How somebody may act as somebody else from Kubernetes 1.35 on, each with a verb of its own.

https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/#constrained-impersonation
(KEP-5284): ``impersonate:MODE`` says as whom, ``impersonate-on:MODE:VERB`` what may be done so.
"""

_IMPERSONATE: Final = "impersonate"
_RBAC: Final = "rbac.authorization.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_BINDS = "it would decide what accounts may do, its own included"
_SEES = "it would see and change the requests of everybody"
_ACTS_AS = "it would act as somebody else"
_SIGNS = "it would make client certificates for any user"
_TRUSTED = "it would decide whose certificates pods trust"
_ENDS = "it would end every namespace, the harness's own too"
_ENTERS = "it would enter pods and services of every namespace"

CONNECTIONS: Final = (
    "pods/exec",
    "pods/attach",
    "pods/portforward",
    "pods/proxy",
    "services/proxy",
)
"""What is entered by a connection, and changed through it whatever the verb says."""

DANGERS: Final[tuple[Danger, ...]] = (
    *(
        Danger(_RBAC, resource, (*WRITE_VERBS, "bind", "escalate"), _BINDS)
        for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
    ),
    *(
        Danger(group, resource, verbs, _ACTS_AS)
        for group, resources, verbs in (
            ("", ("users", "groups", "serviceaccounts"), (_IMPERSONATE,)),
            (
                "authentication.k8s.io",
                ("users", "groups", "serviceaccounts", "nodes", "uids", "userextras"),
                (_IMPERSONATE, *(f"{_IMPERSONATE}:{mode}" for mode in IMPERSONATION_MODES)),
            ),
        )
        for resource in resources
    ),
    Danger("", "serviceaccounts/token", ("create",), "it would mint tokens of other accounts"),
    Danger(
        "",
        "secrets",
        ("create",),
        "a Secret of type kubernetes.io/service-account-token becomes a token of any account",
    ),
    Danger(
        "",
        "secrets",
        READ_VERBS,
        "it would read the credentials of every namespace",
        scope="cluster",
        named=False,
    ),
    Danger("", "nodes/proxy", (*READ_VERBS, *WRITE_VERBS), "it would run commands in every pod"),
    Danger("", "nodes/status", ("update", "patch"), "it would redirect the server's connections"),
    Danger("", "nodes", ("create",), "it would be trusted as a machine of the cluster"),
    Danger("", "namespaces", ("create", "update", "patch"), "it would lift Pod Security"),
    Danger("", "namespaces/finalize", ("update", "patch"), "it would lift Pod Security"),
    *(
        Danger("", resource, verbs, _ENDS, scope="cluster", named=False)
        for resource, verbs in (
            ("namespaces", ("delete", "deletecollection")),
            ("namespaces/status", ("update", "patch")),
        )
    ),
    # A connection by WebSocket is a GET; servers before 1.35 let it in by `get` alone.
    *(
        Danger("", resource, ("get", "create"), _ENTERS, scope="cluster")
        for resource in CONNECTIONS
    ),
    Danger("", "persistentvolumes", ("create", "update", "patch"), "it would mount host folders"),
    *(
        Danger("certificates.k8s.io", resource, verbs, _SIGNS)
        for resource, verbs in (
            ("certificatesigningrequests", ("create",)),
            ("certificatesigningrequests/approval", ("update", "patch")),
            ("certificatesigningrequests/status", ("update", "patch")),
            ("podcertificaterequests", ("create",)),
            ("podcertificaterequests/status", ("update", "patch")),
            ("signers", ("approve", "sign", "attest")),
        )
    ),
    *(
        Danger(_ADMISSION, resource, WRITE_VERBS, _SEES)
        for resource in (
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        )
    ),
    Danger("certificates.k8s.io", "clustertrustbundles", WRITE_VERBS, _TRUSTED),
    Danger("apiregistration.k8s.io", "apiservices", WRITE_VERBS, "it would answer for the server"),
)
"""What no account of an agent gets."""

_BUILT_IN_GROUPS: Final = frozenset(
    {
        "",
        "apps",
        "autoscaling",
        "batch",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "networking.k8s.io",
        "policy",
    }
)
_CLUSTER_SCOPED: Final = frozenset(
    {"nodes", "namespaces", "persistentvolumes", "componentstatuses", "ingressclasses"}
    | {"ipaddresses", "servicecidrs"}
)


def escalations(rule: PolicyRule, namespaces: tuple[str, ...]) -> Iterator[str]:
    """Yield why a rule is more than it looks, nothing for one that is not.

    Args:
        rule: The rule.
        namespaces: Where it holds; empty for the whole cluster.
    """
    for granted in rule.verbs:
        # What it is worth depends on the other half of the pair, which another rule may grant.
        if granted.startswith(_IMPERSONATE):
            yield f"{granted} {','.join(rule.resources)}: {_ACTS_AS}"
    for danger in DANGERS:
        if danger.scope == "cluster" and namespaces:
            continue
        if rule.resource_names and not danger.named:
            continue
        verb = next((v for v in danger.verbs if _allows(rule, danger, v)), None)
        if verb is not None:
            group = f".{danger.group}" if danger.group else ""
            yield f"{verb} {danger.resource}{group}: {danger.why}"
    if not namespaces and (reached := _namespaced_writes(rule)):
        yield (
            f"writing {reached} in the whole cluster: every namespace, the cluster's and the "
            "harness's own too"
        )
    for name in rule.resource_names:
        if not namespaces and is_reserved(name) and "namespaces" in rule.resources:
            yield from _on_namespace(rule, name)
    for namespace in namespaces:
        if is_reserved(namespace):
            yield from _in_reserved_namespace(rule, namespace)


def is_reserved(namespace: str) -> bool:
    """Return whether a namespace is by its name the cluster's own or the harness's."""
    return namespace.startswith((SYSTEM_PREFIX, HARNESS_PREFIX))


def _on_namespace(rule: PolicyRule, namespace: str) -> Iterator[str]:
    verb = next((v for v in WRITE_VERBS if rule.allows("", "namespaces", v)), None)
    if verb is not None:
        yield f"{verb} namespaces {namespace}: it is the cluster's or the harness's own"


def _in_reserved_namespace(rule: PolicyRule, namespace: str) -> Iterator[str]:
    if namespace.startswith(HARNESS_PREFIX):
        yield f"{namespace} has a name of the harness's own namespaces"
        return
    if any(rule.allows("", "secrets", verb) for verb in READ_VERBS):
        yield f"reading secrets in {namespace}: it would read the credentials of the cluster"
    enters = any(rule.allows("", name, verb) for name in CONNECTIONS for verb in ("get", "create"))
    if enters or makes_pods([rule]):
        yield f"pods in {namespace}: it would act as the cluster's own accounts"
        return
    verb = next((v for v in rule.verbs if v not in READ_VERBS), None)
    if verb is not None and rule.resources:
        yield (
            f"{verb} {rule.resources[0]} in {namespace}: the cluster itself works by what is there"
        )


def _allows(rule: PolicyRule, danger: Danger, verb: str) -> bool:
    # Creation counts even in a rule that names objects: a server-side apply is a request by name,
    # and creates the object when `create` and `patch` are granted on that name.
    if rule.allows(danger.group, danger.resource, verb):
        return True
    # Extra fields are impersonated by name: userextras/scopes.
    return danger.resource == "userextras" and any(
        rule.allows(danger.group, name, verb)
        for name in rule.resources
        if name.startswith("userextras/")
    )


def _namespaced_writes(rule: PolicyRule) -> str:
    """Return which known namespaced resource the rule writes, empty for none."""
    if not any(verb == ANY or verb in WRITE_VERBS for verb in rule.verbs):
        return ""
    groups = [g for g in rule.api_groups if g == ANY or g in _BUILT_IN_GROUPS]
    names = [name for name in rule.resources if name.partition("/")[0] not in _CLUSTER_SCOPED]
    return names[0] if groups and names else ""
