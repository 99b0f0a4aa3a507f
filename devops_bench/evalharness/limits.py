"""Bounds in seconds, and the environment variables that change them."""

from __future__ import annotations

import logging
import math
import os

# Plain logging: these warnings must reach the reader of a program that configured no structlog.
log = logging.getLogger(__name__)


class _Told:
    """Which warnings need no repetition; none unless somebody asks for that."""

    def __init__(self) -> None:
        self.once = False
        self._told: set[tuple[str, str]] = set()

    def again(self, variable: str, raw: str) -> bool:
        """Return whether this was told before and need not be told again."""
        known = self.once and (variable, raw) in self._told
        self._told.add((variable, raw))
        return known


_told = _Told()


def warn_once() -> None:
    """Warn of each bad value once in the life of this process: for a program that is one run."""
    _told.once = True


def seconds_from_environment(variable: str, default: float) -> float:
    """Return the bound that an environment variable gives.

    Args:
        variable: The variable's name.
        default: What counts when the variable is unset, empty, no number, not finite or not
            positive; but for the first two, a warning names the variable (see :func:`warn_once`).
    """
    raw = os.environ.get(variable, "")
    if not raw.strip():
        return default
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and value > 0:
        return value
    if _told.again(variable, raw):
        return default
    log.warning(
        "setting.invalid variable=%s value=%r used=%s: must be a finite number of seconds > 0",
        variable,
        raw,
        default,
    )
    return default


def verification_timeout_sec() -> float:
    """Return the bound of one converge or assert entry (``VERIFICATION_TIMEOUT_SEC``, 120)."""
    return seconds_from_environment("VERIFICATION_TIMEOUT_SEC", 120.0)


def verification_total_budget_sec() -> float:
    """Return the bound of the whole post-run phase (``VERIFICATION_TOTAL_BUDGET_SEC``, 600)."""
    return seconds_from_environment("VERIFICATION_TOTAL_BUDGET_SEC", 600.0)


def setup_timeout_sec() -> float:
    """Return the bound of creating, of readiness and of the baseline, each.

    ``BENCH_SETUP_TIMEOUT_SEC``, 180.
    """
    return seconds_from_environment("BENCH_SETUP_TIMEOUT_SEC", 180.0)
