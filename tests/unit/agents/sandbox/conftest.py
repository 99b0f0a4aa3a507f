"""A sandbox is needed for real: where it cannot be had the tests say so and fail."""

from __future__ import annotations

import pytest

from devops_bench.agents.sandbox.availability import bwrap_availability


@pytest.fixture(scope="session")
def bwrap() -> None:
    """Fail, and say why, where bubblewrap cannot be used."""
    found = bwrap_availability()
    if not found.available:
        pytest.fail(f"these tests need bubblewrap: {found.detail}")
