"""What entries are read as, and that none is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from devops_bench.verification.base import ProbeContext
from devops_bench.verification.probes.adapter import VerifierProbe
from devops_bench.verification.spec import (
    EntryProblem,
    VerificationEntry,
    parse_entries,
    parse_entries_located,
)
from tests.unit.verification.entries import EXISTS, PROBE, objective, problems_of, safeguard


@pytest.mark.parametrize(
    ("raw", "mode"),
    [
        (objective(), "converge"),
        (objective(mode="assert"), "assert"),
        (objective(mode="hold", hold_window_sec=30), "hold"),
        (safeguard(), "assert"),
        (safeguard(mode="hold", hold_poll_interval_sec=0.1), "hold"),
    ],
)
def test_the_mode_is_the_explicit_one_or_the_roles(raw: dict[str, Any], mode: str) -> None:
    entries, errors = parse_entries([raw])
    assert errors == []
    assert [entry.resolved_mode for entry in entries] == [mode]


def test_the_defaults() -> None:
    (entry,) = parse_entries([objective(mode="hold", hold_window_sec=30)])[0]
    assert (entry.weight, entry.hold_settle_sec, entry.may_appear) == (1.0, 0.0, False)
    assert (entry.coverage, entry.hold_scope) == (None, "turn")


@pytest.mark.parametrize(
    "raw",
    [
        safeguard(mode="hold", coverage="watch", hold_scope="run"),
        safeguard(mode="hold", coverage="best_effort", check=PROBE),
        objective(mode="hold", hold_window_sec=1, coverage="watch"),
    ],
)
def test_holds_say_how_much_has_to_be_seen(raw: dict[str, Any]) -> None:
    (entry,) = parse_entries([raw])[0]
    assert entry.coverage == raw["coverage"]


def test_the_first_of_two_entries_of_one_name_stays() -> None:
    entries, errors = parse_entries([objective(weight=2), objective(weight=3)])
    assert [entry.weight for entry in entries] == [2]
    assert [error["name"] for error in errors] == ["up"]
    assert "already used by entry 0" in errors[0]["reason"]


def test_a_name_counts_even_if_its_entry_could_not_be_read() -> None:
    entries, errors = parse_entries([objective(role="x"), objective()])
    assert entries == []
    assert len(errors) == 2


@pytest.mark.parametrize("raw", [None, {}, "entries", 4, {"name": "a"}])
def test_a_root_that_is_no_list_is_the_root(raw: object) -> None:
    assert parse_entries(raw) == (
        [],
        [{"name": "<root>", "reason": "should be a list of entries"}],
    )
    assert parse_entries_located(raw)[1][0] == EntryProblem(
        -1, "<root>", (), "should be a list of entries", "", "invalid"
    )


def test_an_unnamed_entry_is_its_index_and_each_entry_has_one_error() -> None:
    _, errors = parse_entries([objective(), {"role": "x", "weight": -1}, 4])
    assert [error["name"] for error in errors] == ["<index 1>", "<index 2>"]
    assert all(part in errors[0]["reason"] for part in ("name: is required", "role: ", "weight: "))


def test_no_entries_are_no_errors() -> None:
    assert parse_entries([]) == ([], [])


def test_a_plug_in_is_read_like_any_check() -> None:
    raw = [
        objective(check={"type": "spec_test_probe", "url": "http://x"}),
        objective(name="b", check={"type": "spec_test_verifier", "target": "y", "name": "z"}),
    ]
    entries, errors = parse_entries(raw)
    assert errors == []
    adapted = entries[1].check
    assert isinstance(adapted, VerifierProbe)
    assert adapted.name == "z"
    assert adapted.probe(ProbeContext(), 1).reason == "y"
    found = problems_of(objective(check={"type": "spec_test_verifier", "tarket": "y"}))
    assert {loc for loc, _ in found} == {(0, "check", "tarket"), (0, "check", "target")}


def test_an_entry_can_be_made_without_the_loader() -> None:
    entry = VerificationEntry.model_validate(objective(check={"type": "all", "checks": [EXISTS]}))
    assert entry.check.type == "all"
    for raw in (
        objective(check={"type": "all", "checks": [{"type": "nope"}]}),
        safeguard(severity=None),
    ):
        with pytest.raises(ValidationError):
            VerificationEntry.model_validate(raw)


@pytest.mark.parametrize(
    "raw",
    [
        objective(),
        safeguard(mode="hold", hold_poll_interval_sec=0.1, may_appear=True),
        objective(
            check={"type": "some", "at_least": 1, "checks": [EXISTS, {**EXISTS, "name": "n"}]}
        ),
        objective(check={"type": "spec_test_verifier", "target": "y"}),
    ],
)
def test_what_is_read_can_be_written_and_read_again(raw: dict[str, Any]) -> None:
    (entry,) = parse_entries([raw])[0]
    written = json.loads(json.dumps(entry.model_dump(mode="json", exclude_unset=True)))
    (again,) = parse_entries([written])[0]
    assert again.model_dump() == entry.model_dump()
    assert written["check"]["type"] == raw["check"]["type"]


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=10,
)


_WORDS = st.sampled_from(
    ["objective", "safeguard", "catastrophic", "hold", "assert", "exists", "eq", "matches", "gt",
     "every", "all", "some", "none", "resource_property", "pod_healthy", "scaling_complete",
     "spec.x", "a[?(@.b=='c')]", "a=b", "4", "{{X}}", "\ud800"]
)  # fmt: skip


_FIELDS = st.sampled_from(
    ["name", "role", "severity", "mode", "weight", "check", "checks", "type", "kind", "path", "op",
     "value", "selector", "at_least", "across_matches", "hold_window_sec", "hold_settle_sec",
     "min_replicas", "deployment", "kubeconfig", "extra", "coverage", "hold_scope"]
)  # fmt: skip


_ALMOST: st.SearchStrategy[Any] = st.recursive(
    _WORDS | _JSON | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=8),
    max_leaves=25,
)


@given(_JSON | st.lists(_JSON) | st.lists(_ALMOST) | _ALMOST)
def test_parsing_never_raises_and_loses_no_entry(raw: Any) -> None:
    entries, errors = parse_entries(raw)
    expected = len(raw) if isinstance(raw, list) else 1
    assert len(entries) + len(errors) == expected
    assert all(set(error) == {"name", "reason"} and error["reason"] for error in errors)


def test_reading_specs_imports_no_client() -> None:
    code = (
        "import sys, devops_bench.verification.spec\n"
        "heavy = {'kubernetes', 'requests', 'structlog', 'rich', 'cryptography', 'yaml'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == "[]"
