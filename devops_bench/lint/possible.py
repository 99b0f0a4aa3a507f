"""What a check can come to at best and at worst, whatever its leaves see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

from devops_bench.k8s.resources import ApiResource
from devops_bench.lint.states import states, vote
from devops_bench.lint.subject import Leaf, LocatedEntry, Subject
from devops_bench.lint.trace import Trace
from devops_bench.verification.base import CheckNode
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.combinators import NoneOf, Some, Vote, at_least
from devops_bench.verification.paths import Element, Name, parse_path
from devops_bench.verification.placeholders import has_placeholder
from devops_bench.verification.tree import Combinator


@dataclass(frozen=True, slots=True)
class Outcomes:
    """A range of outcomes; ``fail`` is below ``pass``.

    Attributes:
        worst: The worst that can come.
        best: The best that can come.
    """

    worst: Vote
    best: Vote


def outcomes(node: CheckNode, leaf: Callable[[CheckNode], Outcomes]) -> Outcomes:
    """Return the range of ``node``, from the ranges of its leaves.

    The folds are monotone in each child, ``none`` the other way round, so that the two ends of the
    range come from the ends of the children's ranges.
    """
    if not isinstance(node, Combinator):
        return leaf(node)
    below = [outcomes(child, leaf) for child in node.checks]
    if node.type in ("any", "none"):
        needed = 1
    else:
        needed = node.at_least if isinstance(node, Some) else len(below)
    worst = at_least([one.worst for one in below], needed)
    best = at_least([one.best for one in below], needed)
    if isinstance(node, NoneOf):
        return Outcomes("fail" if best == "pass" else "pass", "pass" if worst == "fail" else "fail")
    return Outcomes(worst, best)


def can_fail(subject: Subject, located: LocatedEntry) -> bool:
    """Return whether some object could fail the entry, by all that is known of its fields.

    Every field that is read in one object is taken through each of its states
    (:mod:`devops_bench.lint.states`), together for all the checks that read it: of ``gte 2`` and
    ``lt 2`` one always holds. What is not known could be anything.
    """
    fixed: dict[int, Outcomes] = {}
    fields: dict[tuple[object, ...], list[_Reader]] = {}
    for number, leaf in enumerate(subject.leaves_of(located)):
        reader = _reader(subject, leaf)
        if reader is None:
            fixed[id(leaf.node)] = _known(subject, leaf)
        else:
            # Of several objects each check may be about another one.
            fields.setdefault(reader.field or (number,), []).append(reader)
    ranges = [(readers, _states_of(readers)) for readers in fields.values()]
    for readers, found in ranges:
        if found is None:
            fixed.update({id(one.node): _ANYTHING for one in readers})
    open_fields = [(readers, found) for readers, found in ranges if found is not None]
    if prod(len(found) for _, found in open_fields) > _MOST_STATES:
        return True
    check = located.entry.check
    for chosen in product(*(found for _, found in open_fields)):
        votes = dict(fixed)
        for (readers, _), state in zip(open_fields, chosen, strict=True):
            votes.update({id(one.node): _voted(one, state) for one in readers})
        if outcomes(check, lambda node, votes=votes: votes[id(node)]).worst != "pass":  # type: ignore[misc]
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Reader:
    """A check of one value: its field, where it is one object's, and what is known about it."""

    node: ResourceProperty
    trace: Trace
    resource: ApiResource
    name: str
    field: tuple[object, ...] | None


def _reader(subject: Subject, leaf: Leaf) -> _Reader | None:
    node, path, found = leaf.node, leaf.parsed_path, subject.trace_of(leaf)
    if not isinstance(node, ResourceProperty) or path is None or found is None:
        return None
    resource = subject.resource(node.kind)
    if resource is None or found.faults or leaf.is_elsewhere:
        return None
    is_one = node.resource_name is not None
    if path.is_plural or not (is_one or node.across_matches or node.op in ("exists", "absent")):
        return None  # several elements are compared with: undecided
    last = path.steps[-1]
    field = (str(resource), node.namespace, node.resource_name, path.steps) if is_one else None
    return _Reader(node, found, resource, last.name if isinstance(last, Name) else "", field)


def _states_of(readers: list[_Reader]) -> tuple[Element, ...] | None:
    first = readers[0]
    own = _own_words(first)
    if own is not None:
        return (own,)
    return states(
        [one.node for one in readers],
        first.trace.end,
        first.resource,
        first.name,
        always_there=first.trace.always_there,
    )


def _own_words(reader: _Reader) -> str | None:
    """Return the one text that stands there, where the check itself says which object it reads."""
    node = reader.node
    texts = (node.path, node.namespace, node.resource_name, node.value)
    if node.path is None or reader.field is None or any(has_placeholder(str(one)) for one in texts):
        return None
    names = parse_path(node.path).leading_names
    if names == ("metadata", "name"):
        return node.resource_name
    if names == ("metadata", "namespace") and reader.resource.namespaced:
        return node.namespace
    return None


def _voted(reader: _Reader, state: Element) -> Outcomes:
    found = vote(reader.node, state)
    return _ANYTHING if found == "undecided" else Outcomes(found, found)


def _known(subject: Subject, leaf: Leaf) -> Outcomes:
    """Return what is known of a leaf without the states of its field."""
    node, found = leaf.node, subject.trace_of(leaf)
    if not isinstance(node, ResourceProperty) or found is None or not found.faults:
        return _ANYTHING
    is_absent = node.op == "absent"
    return Outcomes("pass", "pass") if is_absent else Outcomes("fail", "fail")


_ANYTHING: Final = Outcomes("fail", "pass")
_MOST_STATES: Final = 2000
