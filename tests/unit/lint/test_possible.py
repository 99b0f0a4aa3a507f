from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject
from devops_bench.lint.possible import Outcomes, outcomes
from devops_bench.verification.base import CheckNode
from devops_bench.verification.combinators import Vote, evaluate, leaves_of, vote_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.tree import read_check

LEAF: JsonObject = {"type": "pod_healthy", "selector": "app=web"}
RANGES = [Outcomes("pass", "pass"), Outcomes("fail", "fail"), Outcomes("fail", "pass")]


@st.composite
def trees(draw: st.DrawFn, depth: int = 0) -> JsonObject:
    if depth == 3 or draw(st.booleans()):
        return dict(LEAF)
    kind = draw(st.sampled_from(["all", "any", "none", "some", "sequence", "parallel"]))
    children = draw(st.lists(trees(depth=depth + 1), min_size=1, max_size=2))
    tree: JsonObject = {"type": kind, "checks": list(children)}
    if kind == "some":
        tree["at_least"] = draw(st.integers(1, len(children)))
    return tree


def node_of(tree: JsonObject) -> CheckNode:
    node, problems = read_check(tree)
    assert node is not None, problems
    return node


@settings(max_examples=60)
@given(trees(), st.data())
def test_the_range_is_what_the_leaves_can_make_of_it(tree: JsonObject, data: st.DataObject) -> None:
    node = node_of(tree)
    leaves = list(leaves_of(node))
    ranges = {id(leaf): data.draw(st.sampled_from(RANGES)) for leaf in leaves}
    choices = [sorted({ranges[id(leaf)].worst, ranges[id(leaf)].best}) for leaf in leaves]
    seen: set[Vote] = set()
    for votes in product(*choices):
        by_leaf = {id(leaf): vote for leaf, vote in zip(leaves, votes, strict=True)}

        def judge(leaf: CheckNode, by_leaf: dict[int, Vote] = by_leaf) -> VerificationResult:
            if by_leaf[id(leaf)] == "pass":
                return VerificationResult.passed("")
            return VerificationResult.failed("")

        seen.add(vote_of(evaluate(node, judge)))
    found = outcomes(node, lambda leaf: ranges[id(leaf)])
    assert {found.worst, found.best} == seen
