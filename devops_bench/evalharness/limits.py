"""Bounds in seconds, and the environment variables that change them."""

from __future__ import annotations

import logging
import math
import os

# Plain logging: these warnings must reach the reader of a program that configured no structlog.
log = logging.getLogger(__name__)


def seconds_from_environment(variable: str, default: float) -> float:
    """Return the bound that an environment variable gives.

    Args:
        variable: The variable's name.
        default: What counts when the variable is unset, empty, no number, not finite or not
            positive; but for the first two, a warning names the variable.
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
