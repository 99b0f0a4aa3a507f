"""Bounds from the environment."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from devops_bench.evalharness import limits
from devops_bench.evalharness.limits import (
    setup_timeout_sec,
    verification_timeout_sec,
    verification_total_budget_sec,
)

BOUNDS = [
    ("VERIFICATION_TIMEOUT_SEC", verification_timeout_sec, 120.0),
    ("VERIFICATION_TOTAL_BUDGET_SEC", verification_total_budget_sec, 600.0),
    ("BENCH_SETUP_TIMEOUT_SEC", setup_timeout_sec, 180.0),
]


@pytest.mark.parametrize(("variable", "bound", "default"), BOUNDS)
def test_a_bound_comes_from_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, bound: Callable[[], float], default: float
) -> None:
    monkeypatch.delenv(variable, raising=False)
    assert bound() == default
    monkeypatch.setenv(variable, " 2.5 ")
    assert bound() == 2.5


@pytest.mark.parametrize(("variable", "bound", "default"), BOUNDS)
@pytest.mark.parametrize("raw", ["ten", "0", "-5", "inf", "nan"])
def test_a_bad_value_is_replaced_with_a_warning_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    variable: str,
    bound: Callable[[], float],
    default: float,
    raw: str,
) -> None:
    monkeypatch.setenv(variable, raw)
    with caplog.at_level(logging.WARNING):
        assert bound() == default
    assert variable in caplog.text


def test_an_empty_variable_is_an_unset_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VERIFICATION_TIMEOUT_SEC", "")
    assert verification_timeout_sec() == 120.0
    assert caplog.text == ""


def test_a_program_that_is_one_run_warns_of_a_value_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "_told", limits._Told())
    limits.warn_once()
    for raw in ("ten", "ten", "twelve", "ten"):
        monkeypatch.setenv("BENCH_SETUP_TIMEOUT_SEC", raw)
        assert setup_timeout_sec() == 180.0
    assert [record.args[1] for record in caplog.records] == ["ten", "twelve"]  # type: ignore[index]
