from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.verification.spec import parse_entries
from devops_bench.verification.words import one_line

_PROPERTY = {"type": "resource_property", "kind": "Pod", "op": "exists"}
_PODS = {"type": "pod_healthy", "selector": "app=web"}
_SCALING = {"type": "scaling_complete", "deployment": "web"}
BLANKS = ["", " ", "\t", "\n", "\u00a0", "\u2003 "]


def _reasons(check: dict[str, Any], **fields: Any) -> list[str]:
    entry = {"name": "up", "role": "objective", "check": check, **fields}
    entries, errors = parse_entries([entry])
    assert bool(entries) is not bool(errors)
    return [error["reason"] for error in errors]


@pytest.mark.parametrize("blank", BLANKS, ids=repr)
@pytest.mark.parametrize(
    ("check", "field"),
    [
        (_PROPERTY, "kind"),
        (_PROPERTY, "resource_name"),
        (_PROPERTY, "selector"),
        (_PROPERTY, "namespace"),
        (_PROPERTY, "path"),
        (_PODS, "selector"),
        (_PODS, "namespace"),
        (_SCALING, "deployment"),
        (_SCALING, "namespace"),
    ],
)
def test_what_is_blank_selects_nothing_and_is_refused(
    check: dict[str, Any], field: str, blank: str
) -> None:
    (reason,) = _reasons({**check, field: blank})
    assert f"check.{field}" in reason


@pytest.mark.parametrize("text", ["a\x1b[2J", "a\rb", "a\nb", "a\u202eb", " a", "a ", *BLANKS[1:]])
def test_the_name_of_an_entry_can_be_shown_in_one_line(text: str) -> None:
    (reason,) = _reasons(_PODS, name=text)
    assert "name" in reason
    assert reason.isprintable()


def test_the_label_of_a_check_can_be_shown_too() -> None:
    assert _reasons({**_PODS, "name": "a\x1b[2J"})
    assert _reasons({"type": "all", "name": "a\rb", "checks": [_PODS]})


def test_letters_of_every_script_are_fine() -> None:
    assert _reasons(_PODS, name="Überwachung läuft, 監視 ✓") == []


@given(st.text())
def test_a_line_is_either_refused_or_shown_as_it_is(text: str) -> None:
    try:
        assert one_line(text) == text
    except ValueError:
        assert not text.isprintable() or text != text.strip() or not text
    else:
        assert text.isprintable()
        assert text.strip() == text != ""
