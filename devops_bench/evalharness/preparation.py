"""Between the cluster and the turn: ready, on firm ground, holding; else the task is broken."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from devops_bench.core.clock import Clock
from devops_bench.core.errors import SetupError
from devops_bench.evalharness.access import ClusterAccess
from devops_bench.evalharness.book import BaselineFailure
from devops_bench.evalharness.window import Method
from devops_bench.tasks.model import Setup
from devops_bench.verification.spec import VerificationEntry

_POLL_SEC = 0.25


def await_ready(access: ClusterAccess, setup: Setup, timeout_sec: float, clock: Clock) -> None:
    """Wait until the setup is ready: its own checks, or by default every workload rolled out.

    Args:
        access: The cluster.
        setup: The task's setup.
        timeout_sec: Seconds to wait at most, > 0.
        clock: Where time comes from.

    Raises:
        SetupError: It did not become ready; the message names what is not.
    """
    deadline = clock.monotonic() + timeout_sec
    if setup.ready is None:
        _await_rollouts(access, setup, deadline, timeout_sec, clock)
        return
    for entry in setup.ready:
        # One after the other takes no longer than the slowest: each returns when it passes.
        remaining = max(_POLL_SEC, deadline - clock.monotonic())
        result = access.run_entry(entry, remaining)
        if not result.success:
            raise SetupError(
                f"the setup did not become ready within {timeout_sec:g} s: "
                f"{entry.name}: {result.reason}"
            )


def _await_rollouts(
    access: ClusterAccess, setup: Setup, deadline: float, timeout_sec: float, clock: Clock
) -> None:
    never = threading.Event()
    while waiting := access.not_rolled_out(setup.objects):
        remaining = deadline - clock.monotonic()
        if remaining <= 0:
            raise SetupError(
                f"the setup did not become ready within {timeout_sec:g} s: {'; '.join(waiting)}"
            )
        clock.wait(never, min(_POLL_SEC, remaining))


def check_ground(access: ClusterAccess, entries: Iterable[VerificationEntry]) -> None:
    """Make sure that the kinds and namespaces that safeguards read exist after the setup.

    Args:
        access: The cluster.
        entries: All entries of the task; those that say ``may_appear`` are passed over.

    Raises:
        SetupError: Some do not exist, so the task is broken; the message names every entry.
    """
    missing = [
        f"{entry.name}: {reason}"
        for entry in entries
        if entry.role == "safeguard"
        and not entry.may_appear
        and (reason := access.missing_ground(entry)) is not None
    ]
    if missing:
        raise SetupError(
            "what a safeguard reads was not found to exist after the setup: "
            f"{'; '.join(missing)} (may_appear: true says that it need not exist)"
        )


def check_coverage(entries: Iterable[VerificationEntry], methods: Mapping[str, Method]) -> None:
    """Refuse to let an agent work while a safeguard that must be watched is only sampled.

    Args:
        entries: The safeguards in hold mode.
        methods: How each is observed.

    Raises:
        SetupError: Some say ``coverage: watch`` and are sampled; the message names every one.
    """
    sampled = [
        f"{entry.name}: {methods[entry.name].why_sampled}"
        for entry in entries
        if entry.coverage == "watch" and methods[entry.name].mode == "sampled"
    ]
    if sampled:
        raise SetupError(
            "a safeguard asks for coverage: watch and could only be sampled, so the agent was not "
            f"started: {'; '.join(sampled)}"
        )


def check_baseline(failures: Iterable[BaselineFailure]) -> None:
    """Refuse to let an agent work while a safeguard does not hold.

    Raises:
        SetupError: There is a failure; the message names every one.
    """
    broken = [f"{failure.name}: {failure.reason}" for failure in failures]
    if broken:
        raise SetupError(
            "a safeguard does not hold before the agent's turn, so the agent was not started: "
            + "; ".join(broken)
        )
