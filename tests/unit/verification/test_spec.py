from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from devops_bench.verification.base import VERIFIERS, BaseVerifier, Probe, ProbeContext
from devops_bench.verification.probes.adapter import VerifierProbe
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import (
    EntryProblem,
    VerificationEntry,
    json_schema,
    parse_entries,
    parse_entries_located,
)

_EXISTS: dict[str, Any] = {"type": "resource_property", "kind": "Deployment", "op": "exists"}


def _objective(**fields: Any) -> dict[str, Any]:
    return {"name": "up", "role": "objective", "check": _EXISTS, **fields}


def _safeguard(**fields: Any) -> dict[str, Any]:
    return {
        "name": "floor",
        "role": "safeguard",
        "severity": "catastrophic",
        "check": _EXISTS,
        **fields,
    }


def _problems(*raw: Any) -> list[tuple[Any, str]]:
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


_PROBE = {"type": "spec_test_verifier", "target": "x"}


@pytest.mark.parametrize(
    ("raw", "mode"),
    [
        (_objective(), "converge"),
        (_objective(mode="assert"), "assert"),
        (_objective(mode="hold", hold_window_sec=30), "hold"),
        (_safeguard(), "assert"),
        (_safeguard(mode="hold", hold_poll_interval_sec=0.1), "hold"),
    ],
)
def test_the_mode_is_the_explicit_one_or_the_roles(raw: dict[str, Any], mode: str) -> None:
    entries, errors = parse_entries([raw])
    assert errors == []
    assert [entry.resolved_mode for entry in entries] == [mode]


def test_the_defaults() -> None:
    (entry,) = parse_entries([_objective(mode="hold", hold_window_sec=30)])[0]
    assert (entry.weight, entry.hold_settle_sec, entry.may_appear) == (1.0, 0.0, False)
    assert (entry.coverage, entry.hold_scope) == (None, "turn")


@pytest.mark.parametrize(
    "raw",
    [
        _safeguard(mode="hold", coverage="watch", hold_scope="run"),
        _safeguard(mode="hold", coverage="best_effort", check=_PROBE),
        _objective(mode="hold", hold_window_sec=1, coverage="watch"),
    ],
)
def test_holds_say_how_much_has_to_be_seen(raw: dict[str, Any]) -> None:
    (entry,) = parse_entries([raw])[0]
    assert entry.coverage == raw["coverage"]


def test_an_unreadable_check_says_nothing_about_its_coverage() -> None:
    raw = _safeguard(mode="hold", coverage="watch", check={"type": "no_such_type"})
    assert [loc for loc, _ in _problems(raw)] == [(0, "check", "type")]


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        (_safeguard(severity=None), "severity", "is required for a safeguard"),
        (_objective(severity="catastrophic"), "severity", "an objective has no severity"),
        (_safeguard(severity="fatal"), "severity", "should be 'catastrophic' or 'recoverable'"),
        (_objective(mode="hold"), "hold_window_sec", "is required for an objective in hold mode"),
        (_safeguard(mode="hold", hold_window_sec=5), "hold_window_sec", "has no soak"),
        (_safeguard(mode="hold", hold_settle_sec=5), "hold_settle_sec", "has no soak"),
        (_objective(hold_window_sec=5), "hold_window_sec", "belongs to mode: hold alone"),
        (_objective(hold_settle_sec=0), "hold_settle_sec", "belongs to mode: hold alone"),
        (_safeguard(hold_poll_interval_sec=1), "hold_poll_interval_sec", "mode: hold alone"),
        (_objective(mode="hold", hold_window_sec=-1), "hold_window_sec", "greater than 0"),
        (_objective(mode="hold", hold_window_sec=float("inf")), "hold_window_sec", "finite"),
        (_objective(mode="hold", hold_window_sec=float("nan")), "hold_window_sec", "finite"),
        (_objective(mode="hold", hold_window_sec="inf"), "hold_window_sec", "finite"),
        (
            _objective(mode="hold", hold_window_sec=1, hold_settle_sec=-1),
            "hold_settle_sec",
            "at least 0",
        ),
        (_safeguard(coverage="watch"), "coverage", "belongs to mode: hold alone"),
        (_safeguard(mode="hold", coverage="all"), "coverage", "should be 'watch' or 'best_effort'"),
        (_safeguard(mode="hold", coverage="watch", check=_PROBE), "coverage", "only be sampled"),
        (_safeguard(hold_scope="run"), "hold_scope", "belongs to mode: hold alone"),
        (_safeguard(mode="hold", hold_scope="soak"), "hold_scope", "should be 'turn' or 'run'"),
        (
            _objective(mode="hold", hold_window_sec=1, hold_scope="run"),
            "hold_scope",
            "belongs to a safeguard",
        ),
        (_objective(weight=0), "weight", "greater than 0"),
        (_objective(weight=float("inf")), "weight", "finite"),
        (_objective(weight=True), "weight", "should be a number, not true"),
        (_objective(weight="heavy"), "weight", "should be a number, not 'heavy'"),
        (_objective(name=""), "name", "should not be empty"),
        (_objective(name=4), "name", "should be a string, not 4"),
        (_objective(role="observer"), "role", "should be 'objective' or 'safeguard'"),
        (_objective(mode="watch"), "mode", "should be 'assert', 'converge' or 'hold'"),
        (_objective(wieght=2), "wieght", "unknown field 'wieght'"),
        (_objective(check=None), "check", "a check is a map with a type"),
    ],
)
def test_what_is_wrong_with_a_field_is_said_at_the_field(
    raw: dict[str, Any], field: str, message: str
) -> None:
    entries, _ = parse_entries([raw])
    assert entries == []
    found = _problems(raw)
    assert [loc for loc, _ in found] == [(0, field)]
    assert message in found[0][1]


@pytest.mark.parametrize("field", ["name", "role", "check"])
def test_a_required_field_is_missed(field: str) -> None:
    raw = _objective()
    del raw[field]
    assert ((0, field), "is required") in _problems(raw)


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
                {**_EXISTS, "op": "gt", "path": "{.spec.x}", "value": "many"},
                {"type": "some", "at_least": 3, "checks": [{"type": "pod_healthy"}]},
                {"type": "none", "checks": []},
                {"type": "pod_helthy", "selector": "a=b"},
                "soon",
            ],
        },
    }
    places = {loc for loc, _ in _problems(raw, _objective(weight=-1))}
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
    raw = _objective(weight="x", title=4, check={"type": "some", "checks": "none"}, extra=1)
    for _, message in _problems(raw, {}, 4, [], _objective(check=[])):
        assert "pydantic" not in message
        assert "Input should" not in message
        assert "https://" not in message


def test_a_problem_suggests_what_was_meant() -> None:
    raw = _objective(wieght=2, check={"type": "resource_propert"})
    _, problems = parse_entries_located([raw])
    assert {problem.hint for problem in problems} == {
        "did you mean 'weight'?",
        "did you mean 'resource_property'?",
    }


def test_a_field_that_was_not_written_to_its_end_is_suggested() -> None:
    _, problems = parse_entries_located([_objective(failure="see the logs", hold_window=3)])
    assert {problem.hint for problem in problems} == {
        "did you mean 'failure_hint'?",
        "did you mean 'hold_window_sec'?",
    }


def test_an_unknown_check_type_is_told_from_an_invalid_entry() -> None:
    unknown = {"type": "any", "checks": [_EXISTS, {"type": "quantum_state", "x": 1}]}
    entries, problems = parse_entries_located([_objective(check=unknown)])
    assert entries == ()
    assert [(p.kind, p.loc) for p in problems] == [
        ("unknown_type", (0, "check", "checks", 1, "type"))
    ]
    assert "'quantum_state' is not known" in problems[0].message


@pytest.mark.parametrize("field", ["kubeconfig", "context"])
def test_a_check_on_another_cluster_loads_and_is_reported(field: str) -> None:
    inner = {"type": "all", "checks": [_EXISTS, {**_EXISTS, field: "west"}]}
    entries, problems = parse_entries_located([_objective(check=inner)])
    assert len(entries) == 1
    assert [(p.kind, p.loc) for p in problems] == [
        ("other_cluster", (0, "check", "checks", 1, field))
    ]
    assert parse_entries([_objective(check=inner)])[1] == []


def test_the_first_of_two_entries_of_one_name_stays() -> None:
    entries, errors = parse_entries([_objective(weight=2), _objective(weight=3)])
    assert [entry.weight for entry in entries] == [2]
    assert [error["name"] for error in errors] == ["up"]
    assert "already used by entry 0" in errors[0]["reason"]


def test_a_name_counts_even_if_its_entry_could_not_be_read() -> None:
    entries, errors = parse_entries([_objective(role="x"), _objective()])
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
    _, errors = parse_entries([_objective(), {"role": "x", "weight": -1}, 4])
    assert [error["name"] for error in errors] == ["<index 1>", "<index 2>"]
    assert all(part in errors[0]["reason"] for part in ("name: is required", "role: ", "weight: "))


def test_no_entries_are_no_errors() -> None:
    assert parse_entries([]) == ([], [])


def test_checks_nested_without_end_are_refused() -> None:
    check: dict[str, Any] = _EXISTS
    for _ in range(5000):
        check = {"type": "all", "checks": [check]}
    (problem,) = _problems(_objective(check=check))
    assert "more than 32 deep" in problem[1]


def test_a_plug_in_is_read_like_any_check() -> None:
    raw = [
        _objective(check={"type": "spec_test_probe", "url": "http://x"}),
        _objective(name="b", check={"type": "spec_test_verifier", "target": "y", "name": "z"}),
    ]
    entries, errors = parse_entries(raw)
    assert errors == []
    adapted = entries[1].check
    assert isinstance(adapted, VerifierProbe)
    assert adapted.name == "z"
    assert adapted.probe(ProbeContext(), 1).reason == "y"
    found = _problems(_objective(check={"type": "spec_test_verifier", "tarket": "y"}))
    assert {loc for loc, _ in found} == {(0, "check", "tarket"), (0, "check", "target")}


def test_a_plug_in_that_raises_while_it_is_read_is_a_problem() -> None:
    (problem,) = _problems(_objective(check={"type": "spec_test_rude"}))
    assert "KeyError" in problem[1]


def test_an_entry_can_be_made_without_the_loader() -> None:
    entry = VerificationEntry.model_validate(_objective(check={"type": "all", "checks": [_EXISTS]}))
    assert entry.check.type == "all"
    for raw in (
        _objective(check={"type": "all", "checks": [{"type": "nope"}]}),
        _safeguard(severity=None),
    ):
        with pytest.raises(ValidationError):
            VerificationEntry.model_validate(raw)


@pytest.mark.parametrize(
    "raw",
    [
        _objective(),
        _safeguard(mode="hold", hold_poll_interval_sec=0.1, may_appear=True),
        _objective(
            check={"type": "some", "at_least": 1, "checks": [_EXISTS, {**_EXISTS, "name": "n"}]}
        ),
        _objective(check={"type": "spec_test_verifier", "target": "y"}),
    ],
)
def test_what_is_read_can_be_written_and_read_again(raw: dict[str, Any]) -> None:
    (entry,) = parse_entries([raw])[0]
    written = json.loads(json.dumps(entry.model_dump(mode="json", exclude_unset=True)))
    (again,) = parse_entries([written])[0]
    assert again.model_dump() == entry.model_dump()
    assert written["check"]["type"] == raw["check"]["type"]


def test_the_json_schema_is_one_and_tells_checks_apart_by_type() -> None:
    schema: Any = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    nested = {"type": "none", "checks": [{"type": "sequence", "checks": [_EXISTS]}]}
    assert validator.is_valid([_objective(check=nested), _safeguard(name="b")])
    for check in (
        {"type": "nope"},
        {"kind": "Deployment", "op": "exists"},
        {**_EXISTS, "unknown": 1},
        {"type": "all", "checks": []},
        {"type": "all", "checks": [{"type": "pod_healthy"}]},
    ):
        assert not validator.is_valid([_objective(check=check)]), check
    discriminator = schema["$defs"]["Check"]["discriminator"]
    assert discriminator["propertyName"] == "type"
    assert {"resource_property", "all", "some", "spec_test_verifier"} <= set(
        discriminator["mapping"]
    )


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
