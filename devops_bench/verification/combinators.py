"""Combinators: how the results of several checks become one.

Results are folded by Kleene's three-valued logic, with two kinds of not knowing: an ``error``
(there was no observation) and a failure that is ``undecided`` (there was one, and it does not
answer the question). Neither ever becomes a pass, whatever negation stands around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from pydantic import Field

from devops_bench.k8s.view import ResourceQuery, View
from devops_bench.verification.base import VERIFIERS, Check, CheckNode, Probe
from devops_bench.verification.problems import Problem
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.tree import Combinator

Vote: TypeAlias = Literal["pass", "fail", "undecided", "error"]
"""What one result says to a fold."""

JudgeLeaf: TypeAlias = Callable[[CheckNode], VerificationResult]
Gather: TypeAlias = Callable[[Sequence[Callable[[], VerificationResult]]], list[VerificationResult]]

_MAX_REASON = 600


def vote_of(result: VerificationResult) -> Vote:
    """Return what ``result`` says to a fold."""
    if result.status == "fail" and result.undecided:
        return "undecided"
    return result.status


def at_least(votes: Sequence[Vote], count: int) -> Vote:
    """Return whether at least ``count`` of ``votes`` are passes.

    An error outweighs an undecided failure: what was not observed may still be observed. ``any`` is
    ``at_least(votes, 1)`` and ``all`` is ``at_least(votes, len(votes))``.
    """
    tally = Counter(votes)
    reach = tally["pass"]
    if reach >= count:
        return "pass"
    reach += tally["error"]
    if reach >= count:
        return "error"
    reach += tally["undecided"]
    return "undecided" if reach >= count else "fail"


def negated(vote: Vote) -> Vote:
    """Return the opposite of a decided vote; not knowing stays what it is."""
    opposites: dict[Vote, Vote] = {"pass": "fail", "fail": "pass"}
    return opposites.get(vote, vote)


class _Fold(Combinator):
    """A combinator with a rule for its children's votes."""

    def fold_votes(self, votes: Sequence[Vote]) -> Vote:
        """Return the one vote that ``votes`` come to; at least one, in the children's order."""
        return at_least(votes, len(self.checks))

    def rule(self) -> str:
        """Return the rule for the reader, a clause."""
        return "all have to"

    def fold(self, results: Sequence[VerificationResult]) -> VerificationResult:
        """Return the one result that the children's ``results`` come to.

        It is stale if it would be another one without its stale children.
        """
        votes = [vote_of(result) for result in results]
        vote = self.fold_votes(votes)
        fresh: list[Vote] = [
            "error" if result.stale else own for result, own in zip(results, votes, strict=True)
        ]
        status = "fail" if vote == "undecided" else vote
        return VerificationResult(
            success=status == "pass",
            status=status,
            reason=self._reason(results, votes, vote),
            children=list(results),
            undecided=vote == "undecided",
            stale=fresh != votes and self.fold_votes(fresh) != vote,
        )

    def telling_votes(self, vote: Vote) -> tuple[Vote, ...]:
        """Return which children explain the outcome ``vote``, the most telling first."""
        explained_by: dict[Vote, tuple[Vote, ...]] = {
            "pass": (),
            "fail": ("fail", "undecided"),
            "undecided": ("undecided", "fail"),
            "error": ("error",),
        }
        return explained_by[vote]

    def _reason(
        self, results: Sequence[VerificationResult], votes: Sequence[Vote], vote: Vote
    ) -> str:
        passes = votes.count("pass")
        text = f"{passes} of {len(self.checks)} checks passed, {self.rule()}"
        for wanted in self.telling_votes(vote):
            if wanted in votes:
                telling = results[votes.index(wanted)]
                label = f"{telling.name}: " if telling.name else ""
                text += f": {label}{telling.reason}"
                break
        return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}…"


@VERIFIERS.register("all")
class All(_Fold):
    """Passes when every child passes; fail > error > pass."""

    type: Literal["all"] = "all"


@VERIFIERS.register("parallel")
class Parallel(_Fold):
    """``all``, with the children that do I/O run at the same time."""

    type: Literal["parallel"] = "parallel"


@VERIFIERS.register("any")
class AnyOf(_Fold):
    """Passes when a child passes; pass > error > fail."""

    type: Literal["any"] = "any"

    def fold_votes(self, votes: Sequence[Vote]) -> Vote:
        """Return pass if one is, else error if one is, else fail."""
        return at_least(votes, 1)

    def rule(self) -> str:
        """Return the rule for the reader."""
        return "one has to"


@VERIFIERS.register("none")
class NoneOf(_Fold):
    """Passes when every child fails, decidedly: the negation of ``any``."""

    type: Literal["none"] = "none"

    def fold_votes(self, votes: Sequence[Vote]) -> Vote:
        """Return the opposite of ``any``."""
        return negated(at_least(votes, 1))

    def rule(self) -> str:
        """Return the rule for the reader."""
        return "none may"

    def telling_votes(self, vote: Vote) -> tuple[Vote, ...]:
        """Return which children explain the outcome: what failed here is what passed there."""
        return ("pass",) if vote == "fail" else super().telling_votes(vote)


@VERIFIERS.register("some")
class Some(_Fold):
    """Passes when at least ``at_least`` children pass.

    Attributes:
        at_least: How many, from 1 to the number of children.
    """

    type: Literal["some"] = "some"
    at_least: int = Field(ge=1)

    @classmethod
    def problems_between_fields(cls, fields: Mapping[str, object]) -> Sequence[Problem]:
        """Refuse to ask for more passes than there are children."""
        wanted, checks = fields.get("at_least"), fields.get("checks")
        if isinstance(wanted, int) and isinstance(checks, list | tuple) and wanted > len(checks):
            return [Problem(("at_least",), f"is {wanted}, and there are only {len(checks)} checks")]
        return []

    def fold_votes(self, votes: Sequence[Vote]) -> Vote:
        """Return whether enough pass."""
        return at_least(votes, self.at_least)

    def rule(self) -> str:
        """Return the rule for the reader."""
        return f"at least {self.at_least} have to"


@VERIFIERS.register("sequence")
class Sequenced(_Fold):
    """Judges its children in order and stops at the first that does not pass."""

    type: Literal["sequence"] = "sequence"

    def fold_votes(self, votes: Sequence[Vote]) -> Vote:
        """Return the first vote that is not a pass."""
        return next((vote for vote in votes if vote != "pass"), "pass")

    def rule(self) -> str:
        """Return the rule for the reader."""
        return "all have to, in order"


def evaluate(
    node: CheckNode, judge_leaf: JudgeLeaf, gather: Gather | None = None
) -> VerificationResult:
    """Return what ``node`` comes to.

    Args:
        node: The root of a tree of checks.
        judge_leaf: Judges one leaf. The children of ``sequence`` are judged one after the other,
            and none after the first that does not pass.
        gather: Runs the judgements below a ``parallel`` and returns their results in order;
            without it they run one after the other.
    """
    if not isinstance(node, _Fold):
        return _named(judge_leaf(node), node)
    results: list[VerificationResult] = []
    if isinstance(node, Parallel) and gather is not None:
        results = gather([_judgement(child, judge_leaf, gather) for child in node.checks])
    else:
        for child in node.checks:
            results.append(evaluate(child, judge_leaf, gather))
            if isinstance(node, Sequenced) and not results[-1].success:
                break
    return _named(node.fold(results), node)


def judge(node: CheckNode, view: View) -> VerificationResult:
    """Judge a tree of pure checks on ``view``; a probe in it is an error."""

    def judge_leaf(leaf: CheckNode) -> VerificationResult:
        if isinstance(leaf, Check):
            return leaf.judge(view)
        return VerificationResult.errored(f"a check of type {leaf.type} cannot be judged on a view")

    return evaluate(node, judge_leaf)


def leaves_of(node: CheckNode) -> Iterator[CheckNode]:
    """Yield every leaf, from left to right."""
    if isinstance(node, Combinator):
        for child in node.checks:
            yield from leaves_of(child)
    else:
        yield node


def is_pure(node: CheckNode) -> bool:
    """Return whether every leaf is a pure check, so that the tree can be watched and replayed."""
    return all(isinstance(leaf, Check) for leaf in leaves_of(node))


def own_timeout_sec_of(node: CheckNode) -> float:
    """Return how many seconds the probes of a tree ask for, one after the other; 0 for none."""
    return sum(leaf.own_timeout_sec() for leaf in leaves_of(node) if isinstance(leaf, Probe))


def ending_sec_of(node: CheckNode) -> float:
    """Return how many seconds of a sample the probes of a tree keep for ending; 0 for none."""
    return sum(leaf.ending_sec for leaf in leaves_of(node) if isinstance(leaf, Probe))


def queries_of(node: CheckNode) -> tuple[ResourceQuery, ...]:
    """Return what the pure leaves read, each query once, in the order of the leaves."""
    queries = (q for leaf in leaves_of(node) if isinstance(leaf, Check) for q in leaf.queries())
    return tuple(dict.fromkeys(queries))


def _judgement(
    node: CheckNode, judge_leaf: JudgeLeaf, gather: Gather
) -> Callable[[], VerificationResult]:
    return lambda: evaluate(node, judge_leaf, gather)


def _named(result: VerificationResult, node: CheckNode) -> VerificationResult:
    if node.name is None or result.name == node.name:
        return result
    return result.model_copy(update={"name": node.name})
