"""Raw entries of a verification spec, and plug-ins whose checks they may hold."""

from __future__ import annotations

from typing import Any, Literal

from devops_bench.verification.base import VERIFIERS, BaseVerifier, Probe, ProbeContext
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import parse_entries_located

EXISTS: dict[str, Any] = {"type": "resource_property", "kind": "Deployment", "op": "exists"}


def objective(**fields: Any) -> dict[str, Any]:
    return {"name": "up", "role": "objective", "check": EXISTS, **fields}


def safeguard(**fields: Any) -> dict[str, Any]:
    return {
        "name": "floor",
        "role": "safeguard",
        "severity": "catastrophic",
        "check": EXISTS,
        **fields,
    }


def problems_of(*raw: Any) -> list[tuple[Any, str]]:
    _, problems = parse_entries_located(list(raw))
    return [(problem.loc, problem.message) for problem in problems]


@VERIFIERS.register("spec_test_probe")
class LateProbe(Probe):
    """A plug-in's probe."""

    type: Literal["spec_test_probe"] = "spec_test_probe"
    url: str

    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        return VerificationResult.passed(self.url)


@VERIFIERS.register("spec_test_verifier")
class LateVerifier(BaseVerifier):
    """A plug-in for the public harness."""

    type: str = "spec_test_verifier"
    target: str

    def verify(self, timeout_sec: float) -> VerificationResult:
        return VerificationResult.passed(self.target)


@VERIFIERS.register("spec_test_rude")
class RudeVerifier(BaseVerifier):
    """A plug-in whose validation raises what nobody expects."""

    def __init__(self, **fields: Any) -> None:
        raise KeyError("rude")

    def verify(self, timeout_sec: float) -> VerificationResult:
        raise AssertionError("never reached")


PROBE = {"type": "spec_test_verifier", "target": "x"}
