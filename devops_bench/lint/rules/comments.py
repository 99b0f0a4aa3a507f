"""Rules about ``# devops-bench: ignore[…]`` comments; the findings come from the engine."""

from __future__ import annotations

from collections.abc import Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.subject import Subject

UNUSED_IGNORE = "DB901"
MALFORMED_IGNORE = "DB902"


@rule(
    UNUSED_IGNORE,
    "a comment that ignores nothing",
    level=Level.WARNING,
    why="""
        The comment names a rule that finds nothing there, any more or ever: it would hide the next
        finding that is a fault. A comment counts for its own line; alone on a line, for the next
        line with something on it.
    """,
    fires=spec("""
        verification_spec:
          - name: ready  # devops-bench: ignore[DB203] the controller never scales it
            role: objective
            check: {type: pod_healthy, selector: app=web}
    """),
    near_miss=spec("""
        verification_spec:
          - name: ready  # devops-bench: ignore[DB203] the controller never scales it
            role: safeguard
            severity: recoverable
            check: {type: pod_healthy, selector: app=web}
    """),
)
def unused_ignore(subject: Subject) -> Iterator[Finding]:
    """Find nothing here: which comments were used is known when all rules have looked."""
    del subject
    yield from ()


@rule(
    MALFORMED_IGNORE,
    "a comment that ignores, and does not say what or why",
    level=Level.WARNING,
    why="""
        Write # devops-bench: ignore[DB203] and a reason for the reader, several ids with commas
        between them. Without ids, without a reason, with an id that there is not, or with one of
        an error that keeps the spec from running, it ignores nothing.
    """,
    fires=spec("""
        verification_spec:
          - name: ready  # devops-bench: ignore[DB203]
            role: safeguard
            severity: recoverable
            check: {type: pod_healthy, selector: app=web}
    """),
    near_miss=spec("""
        verification_spec:
          - name: ready  # devops-bench: ignore[DB203] read once on purpose
            role: safeguard
            severity: recoverable
            check: {type: pod_healthy, selector: app=web}
    """),
)
def malformed_ignore(subject: Subject) -> Iterator[Finding]:
    """Find nothing here: the engine reads the comments."""
    del subject
    yield from ()
