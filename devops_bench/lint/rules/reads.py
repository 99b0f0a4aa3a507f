"""Rules about what a check reads: kinds and names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.k8s.names import has_plain_names, is_dns_subdomain, plain_name_hint
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.selectors import parse_selector
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.subject import Leaf, Subject
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.checks.scaling_complete import ScalingComplete
from devops_bench.verification.placeholders import has_placeholder

_SELECTOR_SIGNS = re.compile(r"[=!,()\s]")
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?")
_NAMES_MAY_HOLD_MORE = frozenset({"rbac.authorization.k8s.io"})


@rule(
    "DB103",
    "a kind that looks like a slip of the pen",
    level=Level.WARNING,
    exception="error with a /",
    why="""
        The server resolves a kind as kubectl does: by kind, plural, singular or short name. One
        that it does not know fails every check, and a safeguard on it ends the task as an error
        before the agent starts. This one is not known, and is close to one that is. A kind of a
        CustomResourceDefinition is known when the definition is in the setup or given with --crd.
        No kind has a / in it: a group and a version follow it with dots, deployments.v1.apps.
    """,
    fires=spec("""
        verification_spec:
          - name: four replicas
            role: objective
            check:
              type: resource_property
              kind: Deploymnet
              resource_name: web
              path: spec.replicas
              op: eq
              value: 4
    """),
    near_miss=spec("""
        verification_spec:
          - name: four replicas
            role: objective
            check:
              type: resource_property
              kind: deploy
              resource_name: web
              path: spec.replicas
              op: eq
              value: 4
    """),
)
def misspelt_kind(subject: Subject) -> Iterator[Finding]:
    """Find unknown kinds that are close to known ones."""
    names = _known_names(subject)
    for leaf, kind in _unknown_kinds(subject):
        if "/" in kind:
            message = f"the kind {kind!r} holds a /, which no kind does"
            hint = _with_dots(subject, kind)
            yield Finding((*leaf.path, "kind"), message, hint, level=Level.ERROR)
            continue
        right = _meant(kind, names)
        own = _in_its_own_group(subject, kind)
        if own is not None:
            message = f"Kubernetes has no {own.kind} by the name {kind!r}"
            where = f"it is in {own.api_version}: write {own.resource}"
            yield Finding((*leaf.path, "kind"), message, where)
        elif right is not None:
            hint = f"did you mean {right!r}? (a kind of your own: --crd FILE)"
            yield Finding((*leaf.path, "kind"), f"the kind {kind!r} is not known", hint)


def _known_names(subject: Subject) -> dict[str, str]:
    return {
        name.lower(): name
        for one in subject.kinds.catalogue.resources
        for name in (one.kind, one.resource)
    }


def _meant(kind: str, names: dict[str, str]) -> str | None:
    """Return the known kind that an unknown one is a slip of the pen for."""
    close = difflib.get_close_matches(kind.lower(), names, n=1, cutoff=0.85)
    return names[close[0]] if close else None


def _in_its_own_group(subject: Subject, kind: str) -> ApiResource | None:
    """Return the kind that ``deployments.v1beta1.apps`` or ``ingresses.extensions`` would name.

    A definition cannot bring it: not to a group of Kubernetes' own, and to none without a dot.
    """
    name, dot, rest = kind.partition(".")
    found = subject.resource(name) if dot else None
    group = _VERSION.sub("", rest, count=1).removeprefix(".") if _VERSION.match(rest) else rest
    if found is None or not (group == found.group or "." not in group):
        return None
    return found


def _with_dots(subject: Subject, kind: str) -> str:
    """Return how a kind is written that stands with slashes, as in ``apps/v1/Deployment``."""
    *before, name = kind.split("/")
    found = subject.resource(name)
    if found is not None:
        version = [one for one in before if _VERSION.fullmatch(one)]
        group = [one for one in before if one and not _VERSION.fullmatch(one)]
        return f"write {'.'.join([found.resource, *(version if group else ()), *group])}"
    if subject.resource(before[0]) is not None:
        return f"write kind: {before[0]} and resource_name: {name}"
    return "write the kind alone, or with its version and group: deployments.v1.apps"


@rule(
    "DB104",
    "a kind without a schema",
    level=Level.NOTICE,
    why="""
        Paths are looked up in the schema of their kind. Kubernetes' own kinds bring theirs; that of
        a CustomResourceDefinition is found when the definition is among the setup's objects or
        manifests, or in a file given with --crd. Without it nothing is known about the paths of
        these checks, and a slip in one shows only in a run.
    """,
    fires=spec("""
        verification_spec:
          - name: enforced
            role: objective
            check:
              type: resource_property
              kind: ClusterPolicy
              resource_name: limits
              path: spec.validationFailureAction
              op: eq
              value: Enforce
    """),
    near_miss=spec("""
        setup:
          objects:
            - apiVersion: apiextensions.k8s.io/v1
              kind: CustomResourceDefinition
              metadata: {name: clusterpolicies.kyverno.io}
              spec:
                group: kyverno.io
                scope: Cluster
                names: {kind: ClusterPolicy, plural: clusterpolicies, singular: clusterpolicy}
                versions:
                  - name: v1
                    served: true
                    storage: true
                    schema:
                      openAPIV3Schema:
                        type: object
                        properties:
                          spec:
                            type: object
                            properties:
                              validationFailureAction: {type: string}
        verification_spec:
          - name: enforced
            role: objective
            check:
              type: resource_property
              kind: ClusterPolicy
              resource_name: limits
              path: spec.validationFailureAction
              op: eq
              value: Enforce
    """),
)
def kind_without_schema(subject: Subject) -> Iterator[Finding]:
    """Find kinds that nothing is known about, each once."""
    if subject.kinds.version is None:
        return
    names = _known_names(subject)
    said: set[str] = set()
    for leaf, kind in _unknown_kinds(subject):
        if kind.lower() in said or "/" in kind:
            continue
        said.add(kind.lower())
        is_slip = _meant(kind, names) is not None or _in_its_own_group(subject, kind) is not None
        if not is_slip:  # DB103 says so
            yield Finding(
                (*leaf.path, "kind"),
                f"nothing is known about the kind {kind!r}: its paths are not looked up",
                "give its CustomResourceDefinition in the setup, or with --crd FILE",
            )


def _unknown_kinds(subject: Subject) -> Iterator[tuple[Leaf, str]]:
    for leaf in subject.leaves:
        node = leaf.node
        if not isinstance(node, ResourceProperty) or has_placeholder(node.kind):
            continue
        if subject.resource(node.kind) is None:
            yield leaf, node.kind


@rule(
    "DB106",
    "a selector where a name belongs",
    level=Level.ERROR,
    why="""
        resource_name (and the deployment of scaling_complete) is the name of one object. No name
        holds '=', ',' or white space, so that a selector written there matches nothing: the check
        fails whatever the agent does. So does one with a name that the server refuses for the kind
        (deployment/web, Web, web*).
    """,
    fires=spec("""
        verification_spec:
          - name: four replicas
            role: objective
            check:
              type: resource_property
              kind: Deployment
              resource_name: app=web
              path: spec.replicas
              op: eq
              value: 4
    """),
    near_miss=spec("""
        verification_spec:
          - name: four replicas
            role: objective
            check:
              type: resource_property
              kind: Deployment
              selector: app=web
              path: spec.replicas
              op: eq
              value: 4
    """),
)
def selector_as_name(subject: Subject) -> Iterator[Finding]:
    """Find names that are selectors."""
    for leaf in subject.leaves:
        node = leaf.node
        if isinstance(node, ResourceProperty):
            name, field, right = node.resource_name, "resource_name", "selector: {}"
        elif isinstance(node, ScalingComplete):
            name, field, right = node.deployment, "deployment", "the Deployment's own name"
        else:
            continue
        if name is None or has_placeholder(name) or is_dns_subdomain(name):
            continue
        if _takes_any_name(subject, leaf):
            continue
        if _SELECTOR_SIGNS.search(name) and _is_selector(name):
            message = f"{name!r} is a selector, no object has such a name"
            yield Finding((*leaf.path, field), message, f"write {right.format(name)}")
        elif _has_plain_names(subject, leaf):
            message = f"{name[:80]!r} is no name that an object of this kind can have"
            yield Finding((*leaf.path, field), message, plain_name_hint(name))


def _takes_any_name(subject: Subject, leaf: Leaf) -> bool:
    """Names of roles and bindings may hold almost anything."""
    return any(
        (resource := subject.resource(query.kind)) is not None
        and resource.group in _NAMES_MAY_HOLD_MORE
        for query in leaf.queries
    )


def _has_plain_names(subject: Subject, leaf: Leaf) -> bool:
    """Return whether the server certainly takes no other names than subdomains for the kind."""
    found = [subject.resource(query.kind) for query in leaf.queries]
    return not leaf.is_elsewhere and all(
        one is not None and has_plain_names(one.group, one.kind) for one in found
    )


def _is_selector(text: str) -> bool:
    try:
        parse_selector(text)
    except ValueError:
        return False
    return True
