"""What a check can come to at best and at worst, whatever its leaves see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from devops_bench.verification.base import CheckNode
from devops_bench.verification.combinators import NoneOf, Some, Vote, at_least
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
