"""Rules that would let an account become more than it is given. Pure.

The reasons are those of
https://kubernetes.io/docs/concepts/security/rbac-good-practices/#kubernetes-rbac-privilege-escalation-risks
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from devops_bench.k8s.rbac import ANY, READ_VERBS, WRITE_VERBS, PolicyRule, makes_pods

SYSTEM_NAMESPACES: Final = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Where the cluster's own controllers and their accounts live."""

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


_RBAC: Final = "rbac.authorization.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_BINDS = "it would decide what accounts may do, its own included"
_SEES = "it would see and change the requests of everybody"
_ACTS_AS = "it would act as somebody else"
_SIGNS = "it would make client certificates for any user"

DANGERS: Final[tuple[Danger, ...]] = (
    *(
        Danger(_RBAC, resource, (*WRITE_VERBS, "bind", "escalate"), _BINDS)
        for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
    ),
    *(
        Danger(group, resource, ("impersonate",), _ACTS_AS)
        for group, resource in (
            ("", "users"),
            ("", "groups"),
            ("", "serviceaccounts"),
            ("authentication.k8s.io", "uids"),
            ("authentication.k8s.io", "userextras"),
        )
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
    Danger("", "persistentvolumes", ("create", "update", "patch"), "it would mount host folders"),
    *(
        Danger("certificates.k8s.io", resource, verbs, _SIGNS)
        for resource, verbs in (
            ("certificatesigningrequests", ("create",)),
            ("certificatesigningrequests/approval", ("update", "patch")),
            ("certificatesigningrequests/status", ("update", "patch")),
            ("signers", ("approve", "sign")),
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
    for namespace in namespaces:
        if namespace in SYSTEM_NAMESPACES or namespace.startswith(HARNESS_PREFIX):
            yield from _in_system_namespace(rule, namespace)


def _in_system_namespace(rule: PolicyRule, namespace: str) -> Iterator[str]:
    if namespace.startswith(HARNESS_PREFIX):
        yield f"{namespace} has a name of the harness's own namespaces"
    elif any(rule.allows("", "secrets", verb) for verb in READ_VERBS):
        yield f"reading secrets in {namespace}: it would read the credentials of the cluster"
    elif makes_pods([rule]) or any(
        rule.allows("", name, verb)
        for name in ("pods/exec", "pods/attach")
        for verb in ("create", "get")
    ):
        yield f"pods in {namespace}: it would act as the cluster's own accounts"


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
