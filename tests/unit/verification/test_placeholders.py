from __future__ import annotations

import pytest

from devops_bench.verification.paths import parse_path
from devops_bench.verification.placeholders import has_placeholder, parse_with_placeholders
from devops_bench.verification.quantity import parse_quantity


def test_text_that_parses_as_it_stands_needs_no_stand_in() -> None:
    path, stood_in = parse_with_placeholders("a['{{NAME}}']", parse_path)
    assert path.find({"a": {"{{NAME}}": 1}}).elements == (1,)
    assert not stood_in


@pytest.mark.parametrize("text", ["spec.{{FIELD}}.name", "items[{{INDEX}}]", "a[?(@.b == {{N}})]"])
def test_a_variable_without_a_value_may_stand_in_a_path(text: str) -> None:
    _, stood_in = parse_with_placeholders(text, parse_path)
    assert stood_in


def test_a_variable_may_stand_for_a_number() -> None:
    quantity, stood_in = parse_with_placeholders("{{MEMORY}}Mi", parse_quantity)
    assert quantity == 1024**2
    assert stood_in


@pytest.mark.parametrize("text", ["{.spec.{{FIELD}}}", "spec..", "a[?(@.b == {{N}}]"])
def test_what_is_wrong_whatever_the_variable_is_stays_wrong(text: str) -> None:
    with pytest.raises(ValueError, match=r"path|kubectl"):
        parse_with_placeholders(text, parse_path)


def test_only_the_form_of_a_variable_counts() -> None:
    assert has_placeholder("app={{APP_NAME}}")
    assert not has_placeholder("{{ .Values.app }}")
    assert not has_placeholder("{APP}")
