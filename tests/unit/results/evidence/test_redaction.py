"""The data of Secrets is nowhere in the file, and yet recognised."""

from __future__ import annotations

import base64
import itertools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, ResourceQuery, Snapshot
from devops_bench.k8s.watch.tables import Update
from devops_bench.results.evidence.reader import read_evidence
from devops_bench.results.evidence.records import Judged, Sampled, Step
from devops_bench.results.evidence.redaction import LAST_APPLIED, Redactor, needs_result
from devops_bench.results.evidence.specification import entry_as_json, says_the_same
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.verification.base import Check
from devops_bench.verification.combinators import judge
from devops_bench.verification.spec import VerificationEntry, parse_entries

from .helpers import entry, header, text_of

QUERY = ResourceQuery("secrets", "shop", name="token")
EVERYTHING: JsonObject = {
    "type": "resource_property",
    "kind": "secrets",
    "namespace": "shop",
    "resource_name": "token",
    "path": "$..password",
    "op": "exists",
}
SECRETS = st.text("abcdefghijk0123456789!$", min_size=12, max_size=30)
_versions = itertools.count(1)


def secret(value: str) -> KubeObject:
    encoded = base64.b64encode(value.encode()).decode()
    applied = json.dumps({"data": {"password": encoded}, "stringData": {"password": value}})
    return KubeObject(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "token",
                "namespace": "shop",
                "resourceVersion": str(next(_versions)),
                "annotations": {LAST_APPLIED: applied, "team": "shop"},
            },
            "data": {"password": encoded},
            "stringData": {"password": value},
        }
    )


def recorded(folder: Path, values: list[str], checks: list[VerificationEntry]) -> str:
    """Record the states of a Secret, watched and sampled; return the text of the file."""
    sink = open_evidence(folder, checks)
    sink.record(header())
    for rv, value in enumerate(values, 1):
        obj = secret(value)
        sink.record(
            Step("turn", "secrets", rv, 0.1, "event", (Update(QUERY, ("shop", "token"), obj),))
        )
        for one in checks:
            result = judge(one.check, Snapshot({QUERY: Matched((obj,))}))
            sink.record(Judged("turn", one.name, rv, 0.1, "event", result))
            sink.record(Sampled(one.name, 0.1, 0.2, {QUERY: Matched((obj,))}, result))
    sink.close()
    assert sink.problem is None
    return text_of(folder)


@settings(max_examples=30)
@given(st.lists(SECRETS, min_size=1, max_size=4))
def test_no_value_of_a_secret_is_in_the_file(values: list[str]) -> None:
    compared: JsonObject = {**EVERYTHING, "path": "data.password", "op": "eq", "value": values[0]}
    checks = [entry(EVERYTHING, "all"), entry(compared, "compared")]
    with tempfile.TemporaryDirectory() as folder:
        text = recorded(Path(folder), values, checks)
    for value in values:
        assert value not in text
        assert base64.b64encode(value.encode()).decode() not in text


def test_the_same_value_is_recognised_within_a_run_and_not_across(tmp_path: Path) -> None:
    found = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        recorded(
            folder, ["first-password", "other-password", "first-password"], [entry(EVERYTHING)]
        )
        steps = [r for r in read_evidence(folder).records if isinstance(r, Step)]
        found.append(
            [step.updates[0].object.data["data"] for step in steps if step.updates[0].object]
        )
    first, other, again = found[0]
    assert first == again
    assert first != other
    assert found[0][0] != found[1][0]


def test_the_keys_and_the_other_annotations_stay() -> None:
    data = Redactor().object(QUERY, secret("a-password"))
    assert isinstance(data["data"], dict)
    assert list(data["data"]) == ["password"]
    annotations = KubeObject(data).metadata["annotations"]
    assert isinstance(annotations, dict)
    assert annotations["team"] == "shop"
    assert annotations[LAST_APPLIED].startswith("hmac-sha256:")  # type: ignore[union-attr]


def test_other_kinds_are_left_alone() -> None:
    obj = KubeObject({"apiVersion": "v1", "kind": "ConfigMap", "data": {"password": "x"}})
    assert Redactor().object(ResourceQuery("configmaps"), obj) is obj.data


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        ("data.password", True),
        ("data", True),
        ("$..password", True),
        ("stringData", True),
        ("metadata.annotations", True),
        ("metadata.annotations.team", False),
        ("metadata.labels.app", False),
        ("type", False),
        (None, False),
    ],
)
def test_results_are_kept_of_leaves_that_read_what_is_redacted(
    path: str | None, needed: bool
) -> None:
    check: JsonObject = {**EVERYTHING, "path": path} if path else {**EVERYTHING}
    if path is None:
        del check["path"]
    assert needs_result(entry(check).check) is needed
    assert needs_result(entry({**check, "kind": "configmaps"}).check) is False


@pytest.mark.parametrize("op", ["eq", "ne", "contains", "matches", "gte"])
def test_a_sealed_comparison_still_parses_and_is_recognised(op: str) -> None:
    value = "12" if op == "gte" else "a-password"
    check: JsonObject = {**EVERYTHING, "path": "data.password", "op": op, "value": value}
    original = entry(check)
    written = entry_as_json(original)
    assert "a-password" not in json.dumps(written)
    parsed, errors = parse_entries([written])
    assert errors == []
    assert says_the_same(written["check"], original.check)
    assert says_the_same(written["check"], parsed[0].check)
    other = entry({**check, "value": "13"})
    assert not says_the_same(written["check"], other.check)
    assert not says_the_same(written["check"], entry({**check, "path": "data.other"}).check)


SPELLINGS = ["Secret", "secrets", "SECRETS", "v1/Secret", "secrets.", "Secret.v1.", "core/secrets"]
FILTERS = [
    "$.data[?(@ == '{}')]",
    "data[?(@ =~ '{}')]",
    "$..[?(@.a != '{}' && @.b == 1)].c",
    "metadata.annotations[?(@ == '{}' || @ == 'x')]",
    "data[?(@..a[?(@ == '{}')])]",
]


@pytest.mark.parametrize(
    ("kind", "path"),
    [*((kind, FILTERS[0]) for kind in SPELLINGS), *(("Secret", path) for path in FILTERS[1:])],
)
def test_what_a_path_or_a_value_compares_with_is_nowhere(
    kind: str, path: str, tmp_path: Path
) -> None:
    literal = "U1VQRVJTRUNSRVQ"
    check: JsonObject = {
        **EVERYTHING,
        "kind": kind,
        "path": path.replace("{}", literal),
        "op": "contains",
        "value": f"{literal}x",
        "across_matches": "every",
    }
    made = entry(check)
    text = recorded(tmp_path, ["a-password"], [made])
    assert literal not in text
    dumped = entry_as_json(made)
    written = dumped["check"]
    other = entry({**check, "path": path.replace("{}", "other")})
    assert says_the_same(written, made.check)
    assert not says_the_same(written, other.check)
    (again,), errors = parse_entries([dumped])
    assert errors == []
    assert needs_result(again.check)
    assert says_the_same(written, again.check)
    obj = secret("a-password")
    presence = {key: item for key, item in check.items() if key not in ("value", "across_matches")}
    for asked in (check, {**presence, "op": "exists"}, {**presence, "op": "absent"}):
        node = entry(asked).check
        assert isinstance(node, Check)
        (query,) = node.queries()
        result = judge(node, Snapshot({query: Matched((obj, obj))}))
        assert literal not in result.model_dump_json()
        assert "<redacted>" in result.reason


def test_a_path_without_a_literal_is_written_as_it_is() -> None:
    made = entry({**EVERYTHING, "path": "data[?(@.a)]"})
    check = entry_as_json(made)["check"]
    assert isinstance(check, dict)
    assert check["path"] == "data[?(@.a)]"
