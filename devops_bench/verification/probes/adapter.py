"""Plug-ins that were written for the public harness, as probes."""

from __future__ import annotations

from pydantic import JsonValue, SerializeAsAny, model_serializer

from devops_bench.verification.base import BaseVerifier, Probe, ProbeContext
from devops_bench.verification.result import VerificationResult


class VerifierProbe(Probe):
    """A :class:`BaseVerifier` as a probe.

    Attributes:
        verifier: The plug-in's instance; the same one is asked for every sample, so that it may
            keep state.
    """

    verifier: SerializeAsAny[BaseVerifier]

    @classmethod
    def of(cls, verifier: BaseVerifier) -> VerifierProbe:
        """Return a probe that asks ``verifier``."""
        return cls(
            type=verifier.type,
            name=verifier.name,
            kubeconfig=verifier.kubeconfig,
            verifier=verifier,
        )

    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        """Ask the plug-in; ``context`` is not for it, its interface has none.

        What it raises is raised; whoever runs probes turns that into an error.
        """
        del context
        return self.verifier.verify(timeout_sec)

    @model_serializer
    def _as_written(self) -> dict[str, JsonValue]:
        return self.verifier.model_dump(mode="json")
