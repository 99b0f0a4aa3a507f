"""What entries need of objects, and which needs exclude each other. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from devops_bench.core.json import JsonValue
from devops_bench.lint.canonical import canonical_path, canonical_selector
from devops_bench.lint.states import states, vote
from devops_bench.lint.subject import Leaf, LocatedEntry, Subject
from devops_bench.verification.base import CheckNode
from devops_bench.verification.checks.pod_healthy import PodHealthy
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.checks.scaling_complete import ScalingComplete
from devops_bench.verification.paths import MISSING, Element, Name, parse_path
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.quantity import is_marked
from devops_bench.verification.values import ComparingOp, Undecided, compare

_TOGETHER: Final = frozenset({"all", "parallel", "sequence"})
_PRESENCE: Final = frozenset({"exists", "absent"})
_OPPOSITES: Final = {"eq": "ne", "ne": "eq", "gt": "lte", "gte": "lt", "lt": "gte", "lte": "gt"}

Place: TypeAlias = tuple[str, str, str | None, str | None]
"""Kind, namespace, name and selector: which objects are read."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What every pass of an entry needs.

    Attributes:
        node: The check, of one element; of ``scaling_complete`` what one of its bounds says.
        negated: Whether the check must not hold.
        place: The objects that it reads.
        path: Where in them, in one form; ``None`` for the objects themselves.
        needs_object: Whether it fails when there is none.
        leaf: The leaf that it comes from.
        entry: The entry.
        field: The leaf's field that says it.
        words: What it asks for, for the reader.
    """

    node: ResourceProperty
    negated: bool
    place: Place
    path: str | None
    needs_object: bool
    leaf: Leaf
    entry: LocatedEntry
    field: str
    words: str


def demands_of(subject: Subject) -> Iterator[Demand]:
    """Yield what the entries need, in order."""
    for leaf in subject.leaves:
        if leaf.entry is None or leaf.is_elsewhere:
            continue
        negated = _negated(leaf.within)
        if negated is None or any(map(has_placeholder, _texts(leaf.node))):
            continue
        for said in _said(leaf.node, negated=negated):
            if not _is_of_some(said.node, negated=negated):
                yield _demand(subject, leaf, leaf.entry, said, negated=negated)


def _negated(within: tuple[str, ...]) -> bool | None:
    """Return whether a leaf must not hold for its entry to pass; ``None`` when that is open."""
    outer = list(within)
    while outer and outer[0] in _TOGETHER:
        outer.pop(0)
    if not outer:
        return False
    # Of none nothing may hold, and so nothing of an any below it.
    return True if outer[0] == "none" and all(one == "any" for one in outer[1:]) else None


def _texts(node: CheckNode) -> Iterator[str]:
    for name in ("kind", "namespace", "resource_name", "selector", "deployment", "path", "value"):
        value = getattr(node, name, None)
        if value is not None:
            yield str(value)


@dataclass(frozen=True, slots=True)
class _Said:
    """A part of a leaf as a check of one property, the leaf's field, and words for it."""

    node: ResourceProperty
    field: str
    words: str


def _said(node: CheckNode, *, negated: bool) -> Iterator[_Said]:
    """Yield a leaf as checks of single properties, all of which it needs."""
    if isinstance(node, ResourceProperty):
        field = "op" if node.value is None else "value"
        yield _Said(node, field, f"{'not ' if negated else ''}{_asked(node)}")
    elif negated:
        return  # its parts need not all fail
    elif isinstance(node, PodHealthy):
        pods = ResourceProperty(
            kind="pods", namespace=node.namespace, selector=node.selector, op="exists"
        )
        yield _Said(pods, "selector", "a pod that is ready")
    elif isinstance(node, ScalingComplete):
        yield from _scaling(node)


def _scaling(node: ScalingComplete) -> Iterator[_Said]:
    def of_it(**asked: str | int) -> ResourceProperty:
        where = {"namespace": node.namespace, "resource_name": node.deployment}
        return ResourceProperty.model_validate({"kind": "deployments.apps", **where, **asked})

    yield _Said(of_it(op="exists"), "deployment", "the Deployment")
    least, most, path = node.min_replicas, node.max_replicas, "status.readyReplicas"
    if least > 0:
        found = of_it(path=path, op="gte", value=least)
        yield _Said(found, "min_replicas", f"at least {least} ready replicas")
    if most is not None:
        # The field is left out when it is 0, which is within.
        found = of_it(path=path, op="gt", value=most, across_matches="none")
        yield _Said(found, "max_replicas", f"at most {most} ready replicas")


def _asked(node: ResourceProperty) -> str:
    what = "the object" if node.path is None else node.path
    value = "" if node.value is None else f" {json.dumps(node.value)}"
    across = "" if node.across_matches is None else f" ({node.across_matches})"
    return f"{what} {node.op}{value}{across}"


def _is_of_some(node: ResourceProperty, *, negated: bool) -> bool:
    """Return whether the check is about one of several elements, nobody knows which."""
    if node.path is None or node.op in _PRESENCE:
        return node.across_matches is not None and negated
    plural = parse_path(node.path).is_plural
    if node.across_matches is None:
        return plural  # it wants exactly one element
    return negated and (plural or node.resource_name is None)


def _demand(
    subject: Subject, leaf: Leaf, entry: LocatedEntry, said: _Said, *, negated: bool
) -> Demand:
    node = said.node
    resource = subject.resource(node.kind)
    namespace = node.namespace if resource is None or resource.namespaced else ""
    kind = node.kind.lower() if resource is None else str(resource)
    path = canonical_path(node.path)
    if path is None:
        needs_object = (node.op == "exists") != negated
    else:
        needs_object = not negated
        # The versions of a kind may differ in where something stands.
        path = path if resource is None else f"{resource.version} {path}"
    return Demand(
        node=node,
        negated=negated,
        place=(kind, namespace, node.resource_name, canonical_selector(node.selector)),
        path=path,
        needs_object=needs_object,
        leaf=leaf,
        entry=entry,
        field=said.field,
        words=said.words,
    )


class Demands:
    """Demands, to find an earlier one that a later one excludes.

    Args:
        subject: The spec.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._by_field: dict[tuple[Place, str], list[Demand]] = {}
        self._needing: dict[tuple[str, str], list[Demand]] = {}
        self._gone: dict[tuple[str, str], list[Demand]] = {}
        self._empty: dict[Place, list[Demand]] = {}
        self._witnesses: dict[tuple[Place, str], list[Element]] = {}

    def add(self, later: Demand) -> Demand | None:
        """Add a demand; return an earlier one that cannot be met together with it."""
        found = next((one for one in self._related(later) if self._excludes(one, later)), None)
        kind = later.place[:2]
        if later.needs_object:
            self._needing.setdefault(kind, []).append(later)
        elif later.path is None:
            self._gone.setdefault(kind, []).append(later)
        if later.path is not None:
            self._by_field.setdefault((later.place, later.path), []).append(later)
            if _op(later) == "absent":
                self._empty.setdefault(later.place, []).append(later)
        return found

    def _related(self, later: Demand) -> Iterator[Demand]:
        kind = later.place[:2]
        if later.path is not None:
            if not self._has_witness(later, (later.place, later.path)):
                yield from self._by_field.get((later.place, later.path), ())
            yield from self._empty.get(later.place, ())
        if later.needs_object:
            yield from self._gone.get(kind, ())
        if _op(later) == "absent":
            yield from self._needing.get(kind, ())

    def _has_witness(self, later: Demand, field: tuple[Place, str]) -> bool:
        """Return whether a state is known that every demand on a field is met by, this one too.

        Then no pair excludes each other, and a thousand entries about one field are looked at once
        each, not in half a million pairs.
        """
        earlier = self._by_field.get(field, [])
        known = [one for one in self._witnesses.get(field, ()) if _satisfied(later, one)]
        if not known:
            own = [one for one in _states(self._subject, later) or () if _satisfied(later, one)]
            known = [one for one in own if all(_satisfied(it, one) for it in earlier)]
        self._witnesses[field] = known
        return bool(known)

    def _excludes(self, one: Demand, later: Demand) -> bool:
        """Return whether the two are about the same, and nothing satisfies both."""
        if one.path is None or later.path is None:
            gone, other = (later, one) if not later.needs_object else (one, later)
            everything = gone.place[2:] == (None, None)
            same = one.place == later.place or everything
            return same and gone.path is None and not gone.needs_object and other.needs_object
        if one.place != later.place:
            return False
        if one.path == later.path:
            return _cannot_both(self._subject, one, later)
        return any(
            _op(outer) == "absent" and _is_below(inner, outer) and not _satisfied(inner, MISSING)
            for outer, inner in ((one, later), (later, one))
        )


def _is_below(inner: Demand, outer: Demand) -> bool:
    if inner.path is None or outer.path is None or not (inner.needs_object or outer.needs_object):
        return False
    return inner.path.startswith((f"{outer.path}.", f"{outer.path}["))


def _cannot_both(subject: Subject, one: Demand, other: Demand) -> bool:
    """Return whether no state of one field satisfies two demands."""
    if not (one.needs_object or other.needs_object):
        return False  # without an object both are met
    if _satisfied(one, MISSING) and _satisfied(other, MISSING):
        return False
    found = _states(subject, one, other)
    if found is not None:
        return not any(_satisfied(one, state) and _satisfied(other, state) for state in found)
    return _no_value_satisfies(one, other)


def _satisfied(demand: Demand, state: Element) -> bool:
    return vote(demand.node, state) == ("fail" if demand.negated else "pass")


def _states(subject: Subject, one: Demand, *others: Demand) -> Iterable[Element] | None:
    found, resource = subject.trace_of(one.leaf), subject.resource(one.node.kind)
    if not isinstance(one.leaf.node, ResourceProperty) or found is None or resource is None:
        return None
    if found.faults:
        return None  # the path leads nowhere, which is said already
    last = parse_path(str(one.node.path)).steps[-1:]
    name = next((step.name for step in last if isinstance(step, Name)), "")
    nodes = [one.node, *(it.node for it in others)]
    return states(nodes, found.end, resource, name, always_there=found.always_there)


def _no_value_satisfies(one: Demand, other: Demand) -> bool:
    """Prove it from the ops alone, where nothing is known about the field."""
    left, right = _op(one), _op(other)
    if left is None or right is None:
        return _are_opposites(one, other)
    if "absent" in (left, right):
        return left != right
    for (op, value), (its_op, its_value) in (
        ((left, one.node.value), (right, other.node.value)),
        ((right, other.node.value), (left, one.node.value)),
    ):
        if op == "eq" and its_op != "exists" and _decided(its_op, value, its_value) is False:
            return True
        if op in ("gt", "gte") and its_op in ("lt", "lte"):
            strict = op == "gt" or its_op == "lt"
            if _decided("gte" if strict else "gt", value, its_value):
                return True
    return _are_opposites(one, other)


def _op(demand: Demand) -> str | None:
    """Return the op that a value has to satisfy; ``None`` where no single one says it."""
    op = demand.node.op
    if (demand.node.across_matches == "none") == demand.negated:
        return op
    if op in _PRESENCE:
        return "absent" if op == "exists" else "exists"
    return _OPPOSITES.get(op)


def _are_opposites(one: Demand, other: Demand) -> bool:
    """Return whether one asks for what the other forbids, in the same words."""
    same = (one.node.op, one.node.value) == (other.node.op, other.node.value)
    forbids = [(it.node.across_matches == "none") != it.negated for it in (one, other)]
    return same and forbids[0] != forbids[1]


def _decided(op: str, value: JsonValue, expected: JsonValue) -> bool | None:
    # What is equal to a quantity may be written in another form, which a pattern tells apart.
    is_number = not isinstance(value, str) or is_marked(value)
    if op in ("matches", "contains") and is_number and not isinstance(value, dict | list):
        return None
    answer = compare(cast(ComparingOp, op), value, expected)
    return None if isinstance(answer, Undecided) else answer
