from __future__ import annotations

from typing import Any

import pytest

from devops_bench.verification.base import BaseVerifier, ProbeContext
from devops_bench.verification.combinators import NoneOf
from devops_bench.verification.probes.adapter import VerifierProbe
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent


class Counting(BaseVerifier):
    """Passes from the third look on: it keeps state, as plug-ins may."""

    type: str = "counting"
    target: str = "x"
    looks: int = 0

    def verify(self, timeout_sec: float) -> VerificationResult:
        self.looks += 1
        return VerificationResult(success=self.looks >= 3, reason=f"look {self.looks}")


class Odd(BaseVerifier):
    type: str = "odd"
    answer: Any = None

    def verify(self, timeout_sec: float) -> VerificationResult:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def test_the_same_instance_is_asked_for_every_sample() -> None:
    probe, agent = VerifierProbe.of(Counting()), VerifierAgent()
    assert [agent.sample(probe, 30).success for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize(
    ("answer", "words"),
    [(RuntimeError("no route"), "RuntimeError: no route"), (True, "bool"), (None, "NoneType")],
)
def test_what_is_no_answer_is_an_error_and_no_negation_passes(answer: Any, words: str) -> None:
    probe, agent = VerifierProbe.of(Odd(answer=answer)), VerifierAgent()
    result = agent.sample(probe, 30)
    assert result.status == "error"
    assert words in result.reason
    assert agent.sample(NoneOf(checks=(probe,)), 30).status == "error"


def test_it_is_written_as_the_spec_had_it() -> None:
    probe = VerifierProbe.of(Counting(name="n", target="y"))
    assert probe.name == "n"
    assert probe.model_dump()["target"] == "y"
    assert "verifier" not in probe.model_dump()
    assert probe.probe(ProbeContext(), 1).reason == "look 1"
