from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.k8s.view import ResourceQuery, Snapshot
from devops_bench.verification.base import Check, CheckNode, Probe, ProbeContext
from devops_bench.verification.combinators import (
    All,
    AnyOf,
    NoneOf,
    Parallel,
    Sequenced,
    Some,
    Vote,
    at_least,
    evaluate,
    is_pure,
    judge,
    leaves_of,
    queries_of,
    vote_of,
)
from devops_bench.verification.result import VerificationResult

_VOTES: list[Vote] = ["fail", "undecided", "error", "pass"]
_ROUNDS = [votes for n in (1, 2, 3, 4) for votes in itertools.product(_VOTES, repeat=n)]


class Leaf(Check):
    """A leaf whose judgement is given."""

    type: Literal["leaf"] = "leaf"
    vote: Vote = "pass"
    stale: bool = False

    def queries(self) -> tuple[ResourceQuery, ...]:
        return (ResourceQuery(self.vote),)

    def judge(self, view: object) -> VerificationResult:
        status = "fail" if self.vote == "undecided" else self.vote
        return VerificationResult(
            success=status == "pass",
            status=status,
            reason=f"said {self.vote}",
            undecided=self.vote == "undecided",
            stale=self.stale,
        )


class Toucher(Probe):
    type: Literal["toucher"] = "toucher"

    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        return VerificationResult.passed("touched")


def _leaves(votes: Sequence[Vote]) -> tuple[CheckNode, ...]:
    return tuple(Leaf(vote=vote) for vote in votes)


def _verdict(node: CheckNode) -> Vote:
    return vote_of(judge(node, Snapshot()))


def _rank(votes: Sequence[Vote], place: int) -> Vote:
    """The vote at ``place`` from the best, in the order fail < undecided < error < pass."""
    return sorted(votes, key=_VOTES.index, reverse=True)[place]


@pytest.mark.parametrize("votes", _ROUNDS, ids="-".join)
def test_the_folds_are_kleenes(votes: tuple[Vote, ...]) -> None:
    checks = _leaves(votes)
    opposite: dict[Vote, Vote] = {"pass": "fail", "fail": "pass"}
    best, worst = _rank(votes, 0), _rank(votes, len(votes) - 1)
    assert _verdict(All(checks=checks)) == worst
    assert _verdict(Parallel(checks=checks)) == worst
    assert _verdict(AnyOf(checks=checks)) == best
    assert _verdict(NoneOf(checks=checks)) == opposite.get(best, best)
    for count in range(1, len(votes) + 1):
        assert _verdict(Some(checks=checks, at_least=count)) == _rank(votes, count - 1)
    assert _verdict(Sequenced(checks=checks)) == next((v for v in votes if v != "pass"), "pass")


@pytest.mark.parametrize("votes", _ROUNDS, ids="-".join)
def test_a_decided_fold_is_what_every_completion_comes_to(votes: tuple[Vote, ...]) -> None:
    """The oracle: replace each not-known by pass and by fail, and see whether it matters."""
    choices: list[list[bool]] = [
        [vote == "pass"] if vote in ("pass", "fail") else [True, False] for vote in votes
    ]
    rules: list[tuple[CheckNode, Callable[[Sequence[bool]], bool]]] = [
        (All(checks=_leaves(votes)), all),
        (AnyOf(checks=_leaves(votes)), any),
        (NoneOf(checks=_leaves(votes)), lambda truths: not any(truths)),
        (Some(checks=_leaves(votes), at_least=1), lambda truths: sum(truths) >= 1),
    ]
    for node, rule in rules:
        outcomes = {rule(truths) for truths in itertools.product(*choices)}
        verdict = _verdict(node)
        if len(outcomes) == 1:
            assert verdict == ("pass" if outcomes.pop() else "fail")
        else:
            assert verdict in ("error", "undecided")


def _combine(children: st.SearchStrategy[CheckNode]) -> st.SearchStrategy[CheckNode]:
    lists = st.lists(children, min_size=1, max_size=3).map(tuple)
    simple = st.sampled_from([All, AnyOf, NoneOf, Parallel, Sequenced])
    return st.builds(lambda kind, checks: kind(checks=checks), simple, lists) | st.builds(
        lambda checks, n: Some(checks=checks, at_least=min(n, len(checks))),
        lists,
        st.integers(1, 3),
    )


_TREES: st.SearchStrategy[CheckNode] = st.recursive(
    st.sampled_from(_VOTES).map(lambda vote: Leaf(vote=vote)), _combine, max_leaves=8
)


@given(_TREES, st.data())
def test_knowing_more_never_changes_what_was_decided(tree: CheckNode, data: st.DataObject) -> None:
    verdict = _verdict(tree)

    def refined(leaf: CheckNode) -> VerificationResult:
        assert isinstance(leaf, Leaf)
        known = leaf.vote in ("pass", "fail")
        vote: Any = leaf.vote if known else data.draw(st.sampled_from(["pass", "fail"]))
        return Leaf(vote=vote).judge(None)

    if verdict in ("pass", "fail"):
        assert vote_of(evaluate(tree, refined)) == verdict


@given(_TREES)
def test_none_is_not_any_of_any_tree(tree: CheckNode) -> None:
    opposite: dict[Vote, Vote] = {"pass": "fail", "fail": "pass"}
    verdict = _verdict(AnyOf(checks=(tree,)))
    assert _verdict(NoneOf(checks=(tree,))) == opposite.get(verdict, verdict)


@given(st.lists(st.sampled_from(_VOTES), min_size=1), st.integers(1, 5))
def test_asking_for_more_passes_is_never_easier(votes: list[Vote], count: int) -> None:
    harder, easier = at_least(votes, count + 1), at_least(votes, count)
    assert _VOTES.index(harder) <= _VOTES.index(easier)


def test_a_sequence_judges_nothing_after_the_first_that_does_not_pass() -> None:
    seen: list[str] = []

    def judge_leaf(leaf: CheckNode) -> VerificationResult:
        assert isinstance(leaf, Leaf)
        seen.append(leaf.vote)
        return leaf.judge(None)

    result = evaluate(Sequenced(checks=_leaves(["pass", "error", "fail"])), judge_leaf)
    assert seen == ["pass", "error"]
    assert [child.status for child in result.children] == ["pass", "error"]


@pytest.mark.parametrize(
    ("node", "stale"),
    [
        (All(checks=(Leaf(stale=True), Leaf())), True),
        (AnyOf(checks=(Leaf(stale=True), Leaf())), False),
        (AnyOf(checks=(Leaf(stale=True), Leaf(vote="fail"))), True),
        (NoneOf(checks=(Leaf(vote="fail", stale=True),)), True),
        (All(checks=(Leaf(vote="fail", stale=True), Leaf(vote="fail"))), False),
        (All(checks=(AnyOf(checks=(Leaf(stale=True),)), Leaf())), True),
    ],
)
def test_a_fold_is_stale_if_it_rests_on_what_is(node: CheckNode, stale: bool) -> None:
    assert judge(node, Snapshot()).stale is stale


def test_the_reason_names_the_check_that_tells_why() -> None:
    node = All(checks=(Leaf(), Leaf(vote="fail", name="floor"), Leaf(vote="fail")))
    assert judge(node, Snapshot()).reason == "1 of 3 checks passed, all have to: floor: said fail"
    broken = NoneOf(checks=(Leaf(vote="fail"), Leaf()))
    assert judge(broken, Snapshot()).reason == "1 of 2 checks passed, none may: said pass"


def test_results_carry_the_names_of_their_checks() -> None:
    node = All(name="both", checks=(Leaf(name="left"), Leaf()))
    result = judge(node, Snapshot())
    assert result.name == "both"
    assert [child.name for child in result.children] == ["left", None]


def test_what_a_tree_reads_and_whether_it_can_be_watched() -> None:
    pure = All(checks=(Leaf(), AnyOf(checks=(Leaf(vote="fail"), Leaf()))))
    assert [str(query) for query in queries_of(pure)] == ["pass", "fail"]
    assert len(list(leaves_of(pure))) == 3
    assert is_pure(pure)
    mixed = All(checks=(Leaf(), Toucher()))
    assert not is_pure(mixed)
    assert judge(mixed, Snapshot()).status == "error"
