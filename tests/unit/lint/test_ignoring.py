from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.cli.errors import render_diagnostics
from tests.unit.lint.helpers import ids, lint_text, report

SPEC = """\
id: web
verification_spec:
  - name: ready{comment}
    role: safeguard
    severity: recoverable
    check: {{type: pod_healthy, selector: app=web}}
"""


def test_without_a_comment_it_is_found(tmp_path: Path) -> None:
    assert ids(lint_text(SPEC.format(comment=""), tmp_path)) == ["DB203"]


def test_a_comment_ignores_its_own_line(tmp_path: Path) -> None:
    text = SPEC.format(comment="  # devops-bench: ignore[DB203] read once on purpose")
    file = tmp_path / "task.yaml"
    file.write_text(text)
    found = report(file)
    assert found.diagnostics == ()
    assert [one.rule for one in found.ignored] == ["DB203"]


def test_alone_on_a_line_it_ignores_the_next_one_that_says_something(tmp_path: Path) -> None:
    text = SPEC.format(comment="").replace(
        "  - name", "  # devops-bench: ignore[DB203] read once\n\n  # a word more\n  - name"
    )
    assert lint_text(text, tmp_path) == []


def test_it_does_not_ignore_another_rule_or_another_line(tmp_path: Path) -> None:
    other = SPEC.format(comment="  # devops-bench: ignore[DB205] it settles")
    assert ids(lint_text(other, tmp_path)) == ["DB203", "DB901"]
    elsewhere = "# devops-bench: ignore[DB203] read once\n" + SPEC.format(comment="")
    assert ids(lint_text(elsewhere, tmp_path)) == ["DB901", "DB203"]


def test_of_two_ids_the_one_without_a_finding_is_reported(tmp_path: Path) -> None:
    text = SPEC.format(comment="  # devops-bench: ignore[DB203, DB206] on purpose")
    found = lint_text(text, tmp_path)
    assert ids(found) == ["DB901"]
    assert "DB206" in found[0].message
    assert (found[0].line, found[0].column) == (3, 18)


@pytest.mark.parametrize(
    ("comment", "why", "right"),
    [
        ("ignore[DB203]", "no reason", "and a reason"),
        ("ignore[DB203]   ", "no reason", "and a reason"),
        ("ignore[DB999] because", "there is no rule 'DB999'", "--explain all lists"),
        ("ignore[DB230] because", "there is no rule 'DB230'", "--explain all lists"),
        ("ignore[DB293] because", "there is no rule 'DB293'", "did you mean DB203?"),
        ("ignore[DB10] because", "there is no rule 'DB10'", "names each rule whole: DB101, DB102"),
        ("ignore[db203] because", "there is no rule 'db203'", "did you mean DB203?"),
        ("ignore[all] because", "there is no rule 'all'", "lint --explain all lists the rules"),
        ("ignore[] because", "not known here", "and a reason"),
        ("ignore[DB203,] because", "not known here", "and a reason"),
        ("ignore DB203 because", "not known here", "and a reason"),
        ("ingore[DB203] because", "not known here", "and a reason"),
        ("ignore[DB002] because", "keeps the spec from running", "mend what it finds"),
    ],
)
def test_a_comment_that_is_wrong_ignores_nothing(
    tmp_path: Path, comment: str, why: str, right: str
) -> None:
    found = lint_text(SPEC.format(comment=f"  # devops-bench: {comment}"), tmp_path)
    assert sorted(ids(found)) == ["DB203", "DB902"]
    (wrong,) = (one for one in found if one.rule == "DB902")
    assert why in wrong.message
    assert right in wrong.hint


@pytest.mark.parametrize(
    "value",
    [
        "'a # devops-bench: ignore[DB203] text'",
        '"a # devops-bench: ignore[DB203] text"',
        "|\n  a\n  # devops-bench: ignore[DB203] text\n  b",
        ">-\n  a # devops-bench: ignore[DB203] text",
    ],
)
def test_what_stands_in_a_value_is_no_comment(tmp_path: Path, value: str) -> None:
    text = f"description: {value}\n" + SPEC.format(comment="")
    assert ids(lint_text(text, tmp_path)) == ["DB203"]


def test_without_a_space_before_it_it_is_part_of_a_word(tmp_path: Path) -> None:
    text = "description: a# devops-bench: ignore[DB203] text\n".replace(": ignore", ":ignore")
    assert "DB901" not in ids(lint_text(text + SPEC.format(comment=""), tmp_path))


def test_a_rule_that_was_not_looked_for_leaves_its_comment_alone(tmp_path: Path) -> None:
    text = SPEC.format(comment="  # devops-bench: ignore[DB203] read once")
    assert lint_text(text, tmp_path, ignore=("DB203",)) == []


def test_a_comment_about_comments(tmp_path: Path) -> None:
    text = SPEC.format(comment="  # devops-bench: ignore[DB901] x").replace(
        "safeguard\n    severity: recoverable", "objective"
    )
    assert ids(lint_text(text, tmp_path)) == ["DB901"]


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029"])
def test_lines_are_those_of_editors_for_findings_and_comments_alike(
    tmp_path: Path, odd: str
) -> None:
    text = f'prompt: "do{odd}it {odd} x"\n{SPEC.format(comment="")}'
    (found,) = lint_text(text, tmp_path)
    assert (found.rule, found.line) == ("DB203", 4)
    shown = render_diagnostics([found]).splitlines()
    assert shown[1].endswith("4 |   - name: ready")
    assert shown[2].index("^") == shown[1].index("name") + found.column - 5
    comment = "  # devops-bench: ignore[DB203] read once\n"
    assert lint_text(text.replace("  - name", f"{comment}  - name"), tmp_path) == []
    inside = text.replace(f"do{odd}it", f"do{odd}it # devops-bench: ignore[DB203] is text{odd}")
    assert ids(lint_text(inside, tmp_path)) == ["DB203"]


@pytest.mark.parametrize("words", ["devops-bench ignore[DB203] x", "devops-bench, ignore [DB203]"])
def test_without_its_colon_it_is_reported(tmp_path: Path, words: str) -> None:
    found = lint_text(SPEC.format(comment=f"  # {words}"), tmp_path)
    assert sorted(ids(found)) == ["DB203", "DB902"]
    assert ["a colon belongs" in one.message for one in found if one.rule == "DB902"] == [True]


@pytest.mark.parametrize("words", ["devops-bench ignores this", "devops-bench: see docs", "devops"])
def test_a_comment_of_words_is_none(tmp_path: Path, words: str) -> None:
    expected = ["DB203", "DB902"] if ":" in words else ["DB203"]
    assert sorted(ids(lint_text(SPEC.format(comment=f"  # {words}"), tmp_path))) == expected
