"""What is said of a spec that is wrong: where, in which words, and what was meant."""

from __future__ import annotations

from typing import Any

import pytest

from devops_bench.verification.spec import parse_entries, parse_entries_located
from tests.unit.verification.entries import EXISTS, PROBE, objective, problems_of, safeguard


def test_an_unreadable_check_says_nothing_about_its_coverage() -> None:
    raw = safeguard(mode="hold", coverage="watch", check={"type": "no_such_type"})
    assert [loc for loc, _ in problems_of(raw)] == [(0, "check", "type")]


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        (safeguard(severity=None), "severity", "is required for a safeguard"),
        (objective(severity="catastrophic"), "severity", "an objective has no severity"),
        (safeguard(severity="fatal"), "severity", "should be 'catastrophic' or 'recoverable'"),
        (objective(mode="hold"), "hold_window_sec", "is required for an objective in hold mode"),
        (safeguard(mode="hold", hold_window_sec=5), "hold_window_sec", "has no soak"),
        (safeguard(mode="hold", hold_settle_sec=5), "hold_settle_sec", "has no soak"),
        (objective(hold_window_sec=5), "hold_window_sec", "belongs to mode: hold alone"),
        (objective(hold_settle_sec=0), "hold_settle_sec", "belongs to mode: hold alone"),
        (safeguard(hold_poll_interval_sec=1), "hold_poll_interval_sec", "mode: hold alone"),
        (objective(mode="hold", hold_window_sec=-1), "hold_window_sec", "greater than 0"),
        (objective(mode="hold", hold_window_sec=float("inf")), "hold_window_sec", "finite"),
        (objective(mode="hold", hold_window_sec=float("nan")), "hold_window_sec", "finite"),
        (objective(mode="hold", hold_window_sec="inf"), "hold_window_sec", "finite"),
        (
            objective(mode="hold", hold_window_sec=1, hold_settle_sec=-1),
            "hold_settle_sec",
            "at least 0",
        ),
        (safeguard(coverage="watch"), "coverage", "belongs to mode: hold alone"),
        (safeguard(mode="hold", coverage="all"), "coverage", "should be 'watch' or 'best_effort'"),
        (safeguard(mode="hold", coverage="watch", check=PROBE), "coverage", "only be sampled"),
        (safeguard(hold_scope="run"), "hold_scope", "belongs to mode: hold alone"),
        (safeguard(mode="hold", hold_scope="soak"), "hold_scope", "should be 'turn' or 'run'"),
        (
            objective(mode="hold", hold_window_sec=1, hold_scope="run"),
            "hold_scope",
            "belongs to a safeguard",
        ),
        (objective(weight=0), "weight", "greater than 0"),
        (objective(weight=float("inf")), "weight", "finite"),
        (objective(weight=True), "weight", "should be a number, not true"),
        (objective(weight="heavy"), "weight", "should be a number, not 'heavy'"),
        (objective(name=""), "name", "should not be empty"),
        (objective(name=4), "name", "should be a string, not 4"),
        (objective(role="observer"), "role", "should be 'objective' or 'safeguard'"),
        (objective(mode="watch"), "mode", "should be 'assert', 'converge' or 'hold'"),
        (objective(wieght=2), "wieght", "unknown field 'wieght'"),
        (objective(check=None), "check", "a check is a map with a type"),
    ],
)
def test_what_is_wrong_with_a_field_is_said_at_the_field(
    raw: dict[str, Any], field: str, message: str
) -> None:
    entries, _ = parse_entries([raw])
    assert entries == []
    found = problems_of(raw)
    assert [loc for loc, _ in found] == [(0, field)]
    assert message in found[0][1]


@pytest.mark.parametrize("field", ["name", "role", "check"])
def test_a_required_field_is_missed(field: str) -> None:
    raw = objective()
    del raw[field]
    assert ((0, field), "is required") in problems_of(raw)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    raw = {
        "name": "a",
        "role": "safeguard",
        "wieght": 2,
        "mode": "hold",
        "hold_window_sec": 5,
        "check": {
            "type": "all",
            "checks": [
                {**EXISTS, "op": "gt", "path": "{.spec.x}", "value": "many"},
                {"type": "some", "at_least": 3, "checks": [{"type": "pod_healthy"}]},
                {"type": "none", "checks": []},
                {"type": "pod_helthy", "selector": "a=b"},
                "soon",
            ],
        },
    }
    places = {loc for loc, _ in problems_of(raw, objective(weight=-1))}
    assert places == {
        (0, "wieght"),
        (0, "severity"),
        (0, "hold_window_sec"),
        (0, "check", "checks", 0, "path"),
        (0, "check", "checks", 0, "value"),
        (0, "check", "checks", 1, "at_least"),
        (0, "check", "checks", 1, "checks", 0, "selector"),
        (0, "check", "checks", 2, "checks"),
        (0, "check", "checks", 3, "type"),
        (0, "check", "checks", 4),
        (1, "weight"),
    }


def test_messages_are_written_for_people() -> None:
    raw = objective(weight="x", title=4, check={"type": "some", "checks": "none"}, extra=1)
    for _, message in problems_of(raw, {}, 4, [], objective(check=[])):
        assert "pydantic" not in message
        assert "Input should" not in message
        assert "https://" not in message


def test_a_problem_suggests_what_was_meant() -> None:
    raw = objective(wieght=2, check={"type": "resource_propert"})
    _, problems = parse_entries_located([raw])
    assert {problem.hint for problem in problems} == {
        "did you mean 'weight'?",
        "did you mean 'resource_property'?",
    }


def test_a_field_that_was_not_written_to_its_end_is_suggested() -> None:
    _, problems = parse_entries_located([objective(failure="see the logs", hold_window=3)])
    assert {problem.hint for problem in problems} == {
        "did you mean 'failure_hint'?",
        "did you mean 'hold_window_sec'?",
    }


def test_an_unknown_check_type_is_told_from_an_invalid_entry() -> None:
    unknown = {"type": "any", "checks": [EXISTS, {"type": "quantum_state", "x": 1}]}
    entries, problems = parse_entries_located([objective(check=unknown)])
    assert entries == ()
    assert [(p.kind, p.loc) for p in problems] == [
        ("unknown_type", (0, "check", "checks", 1, "type"))
    ]
    assert "'quantum_state' is not known" in problems[0].message


@pytest.mark.parametrize("field", ["kubeconfig", "context"])
def test_a_check_on_another_cluster_loads_and_is_reported(field: str) -> None:
    inner = {"type": "all", "checks": [EXISTS, {**EXISTS, field: "west"}]}
    entries, problems = parse_entries_located([objective(check=inner)])
    assert len(entries) == 1
    assert [(p.kind, p.loc) for p in problems] == [
        ("other_cluster", (0, "check", "checks", 1, field))
    ]
    assert parse_entries([objective(check=inner)])[1] == []


def test_checks_nested_without_end_are_refused() -> None:
    check: dict[str, Any] = EXISTS
    for _ in range(5000):
        check = {"type": "all", "checks": [check]}
    (problem,) = problems_of(objective(check=check))
    assert "more than 32 deep" in problem[1]


def test_a_plug_in_that_raises_while_it_is_read_is_a_problem() -> None:
    (problem,) = problems_of(objective(check={"type": "spec_test_rude"}))
    assert "KeyError" in problem[1]
