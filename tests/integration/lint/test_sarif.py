from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.engine import NO_SCHEMAS, LintReport
from devops_bench.lint.formats import sarif
from tests.go_tools import go
from tests.unit.lint.helpers import register_example_probe, report, written


@cache
def sarif_schema() -> Any:
    """The schema as OASIS publishes it (errata 01), which a Go module carries as a constant."""
    assert go("mod", "download", "github.com/owenrumney/go-sarif/v3").returncode == 0
    folder = go("list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").stdout.strip()
    source = Path(folder, "pkg", "report", "v210", "sarif", "schema.go").read_text()
    match = re.search(r"const schema = `(.*?)`", source, re.DOTALL)
    assert match is not None
    schema = json.loads(match[1])
    assert schema["id"].endswith("/sarif-schema-2.1.0.json")
    return schema


def validated(text: str) -> Any:
    document = json.loads(text)
    jsonschema.Draft4Validator(sarif_schema()).validate(document)
    return document


def test_the_schema_is_not_content_with_anything() -> None:
    with pytest.raises(jsonschema.ValidationError):
        validated('{"version": "2.1.0", "runs": [{"results": [{}]}]}')


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_the_findings_of_every_rule_are_valid(rule: Any, tmp_path: Path) -> None:
    if rule.id == "DB204":
        register_example_probe()
    document = validated(sarif.render(report(written(rule.fires, tmp_path))))
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    mine = [one for one in run["results"] if one["ruleId"] == rule.id]
    assert mine
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])


def test_nothing_found_is_valid_too() -> None:
    document = validated(sarif.render(LintReport((), ())))
    assert document["runs"][0]["results"] == []


def test_what_was_not_looked_at_is_said() -> None:
    found = LintReport((), (), unreadable=("a cannot be read: b",), notes=(NO_SCHEMAS,))
    invocation = validated(sarif.render(found))["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    texts = [one["message"]["text"] for one in invocation["toolExecutionNotifications"]]
    assert texts == [NO_SCHEMAS, "a cannot be read: b"]


def test_what_a_comment_ignores_is_suppressed(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(
        "id: web\n"
        "verification_spec:\n"
        "  - name: ready  # devops-bench: ignore[DB203] read once\n"
        "    role: safeguard\n"
        "    severity: recoverable\n"
        "    check: {type: pod_healthy, selector: app=web}\n"
    )
    results = validated(sarif.render(report(tmp_path)))["runs"][0]["results"]
    assert [one["ruleId"] for one in results] == ["DB203"]
    assert results[0]["suppressions"] == [{"kind": "inSource"}]


def test_a_file_below_the_current_folder_is_named_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my specs"
    folder.mkdir()
    (folder / "task.yaml").write_text("id: web\nx: 1\n")
    run = validated(sarif.render(report(folder)))["runs"][0]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20specs/task.yaml", "uriBaseId": "%SRCROOT%"}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{tmp_path.as_uri()}/"
