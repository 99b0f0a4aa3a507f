"""What an account may do, as RBAC says it. Pure.

https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue

ANY: Final = "*"
READ_VERBS: Final = ("get", "list", "watch")
WRITE_VERBS: Final = ("create", "update", "patch", "delete", "deletecollection")

POD_MAKERS: Final[tuple[tuple[str, str], ...]] = (
    ("", "pods"),
    ("", "pods/ephemeralcontainers"),
    ("", "podtemplates"),
    ("", "replicationcontrollers"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("apps", "daemonsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
)
"""Group and resource of what pods come from: whoever writes one decides what a pod may do."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule of a Role.

    Attributes:
        api_groups: Groups, the core group is empty; ``*`` for all.
        resources: Plural names, ``name/subresource`` for a subresource; ``*`` for all of both, and
            ``*/subresource`` for that one of all.
        verbs: Verbs; ``*`` for all.
        resource_names: Names of objects; empty for all. By one, ``create`` is allowed only as a
            server-side apply, ``list`` and ``watch`` only for a single name by field selector.
    """

    api_groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    resource_names: tuple[str, ...] = ()

    def allows(self, group: str, resource: str, verb: str) -> bool:
        """Return whether the rule allows the verb on some object of the resource."""
        if ANY not in self.api_groups and group not in self.api_groups:
            return False
        if ANY not in self.verbs and verb not in self.verbs:
            return False
        _, slash, subresource = resource.partition("/")
        wanted = {ANY, resource} | ({f"{ANY}/{subresource}"} if slash else set())
        return not wanted.isdisjoint(self.resources)

    def as_json(self) -> JsonObject:
        """Return the rule as it stands in a Role."""
        rule: JsonObject = {
            "apiGroups": list[JsonValue](self.api_groups),
            "resources": list[JsonValue](self.resources),
            "verbs": list[JsonValue](self.verbs),
        }
        if self.resource_names:
            rule["resourceNames"] = list[JsonValue](self.resource_names)
        return rule

    def __str__(self) -> str:
        """``get,list deployments.apps``."""
        groups = ["" if group == "" else f".{group}" for group in self.api_groups]
        names = f" {','.join(self.resource_names)}" if self.resource_names else ""
        resources = ",".join(f"{name}{group}" for name in self.resources for group in groups)
        return f"{','.join(self.verbs)} {resources}{names}"


@dataclass(frozen=True, slots=True)
class Grant:
    """Rules, and where they hold.

    Attributes:
        rules: What is allowed.
        namespaces: Where; empty for the whole cluster, cluster-scoped objects included.
    """

    rules: tuple[PolicyRule, ...]
    namespaces: tuple[str, ...] = ()

    def allows(self, group: str, resource: str, verb: str) -> bool:
        """Return whether one of the rules allows it."""
        return any(rule.allows(group, resource, verb) for rule in self.rules)


def makes_pods(rules: Iterable[PolicyRule]) -> bool:
    """Return whether the rules let an account decide what some pod may do."""
    return any(
        rule.allows(group, resource, verb)
        for rule in rules
        for group, resource in POD_MAKERS
        for verb in ("create", "update", "patch")
    )


def role_objects(
    name: str, grants: Iterable[Grant], account_namespace: str, account: str
) -> list[JsonObject]:
    """Return the roles that say ``grants`` and the bindings to a ServiceAccount.

    Args:
        name: The name of all of them.
        grants: What is granted. One role is made for each namespace, one for the cluster.
        account_namespace: The namespace of the account.
        account: The account.
    """
    rules: dict[str, list[JsonValue]] = {}
    for grant in grants:
        for namespace in grant.namespaces or ("",):
            rules.setdefault(namespace, []).extend(rule.as_json() for rule in grant.rules)
    objects: list[JsonObject] = []
    for namespace, listed in rules.items():
        prefix = "" if namespace else "Cluster"
        metadata: JsonObject = {"name": name}
        if namespace:
            metadata["namespace"] = namespace
        head: JsonObject = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {**metadata, "labels": {"app.kubernetes.io/managed-by": "devops-bench"}},
        }
        subject: JsonObject = {
            "kind": "ServiceAccount",
            "name": account,
            "namespace": account_namespace,
        }
        reference: JsonObject = {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": f"{prefix}Role",
            "name": name,
        }
        objects.append({**head, "kind": f"{prefix}Role", "rules": listed})
        objects.append(
            {
                **head,
                "kind": f"{prefix}RoleBinding",
                "roleRef": reference,
                "subjects": [subject],
            }
        )
    return objects
