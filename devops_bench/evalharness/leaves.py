"""The leaves of a tree of checks, each with what it came to. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from devops_bench.verification.base import CheckNode
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.tree import Combinator


def leaf_results(
    node: CheckNode, result: VerificationResult
) -> Iterator[tuple[CheckNode, VerificationResult | None]]:
    """Yield every leaf with its part of the result of the whole tree, from left to right.

    Args:
        node: The root of a tree of checks.
        result: What it came to.

    Yields:
        The leaf and its result; ``None`` for one that was not judged, since a ``sequence`` stopped
        before it or the whole could not be judged at all.
    """
    if not isinstance(node, Combinator):
        yield node, result
        return
    for place, child in enumerate(node.checks):
        if place < len(result.children):
            yield from leaf_results(child, result.children[place])
        else:
            yield from _unjudged(child)


def _unjudged(node: CheckNode) -> Iterator[tuple[CheckNode, None]]:
    if isinstance(node, Combinator):
        for child in node.checks:
            yield from _unjudged(child)
    else:
        yield node, None
