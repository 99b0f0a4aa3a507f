from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.core.errors import InvalidInputError
from devops_bench.lint.settings import FAIL_ON, Settings, fails, find_settings, read_settings

TABLE = """
select = ["DB2"]
ignore = ["DB203"]
fail-on = "error"
kubernetes-version = "1.35"
crds = ["crds/widgets.yaml"]
"""


def test_both_files_say_the_same(tmp_path: Path) -> None:
    own = tmp_path / "devops-bench.toml"
    own.write_text(f"[lint]{TABLE}")
    project = tmp_path / "pyproject.toml"
    project.write_text(f"[tool.devops-bench.lint]{TABLE}")
    for file in (own, project):
        assert read_settings(file) == Settings(
            select=("DB2",),
            ignore=("DB203",),
            fail_on="error",
            kubernetes_version="1.35",
            crds=(tmp_path / "crds/widgets.yaml",),
            file=file,
        )


def test_the_nearest_file_that_says_something_counts(tmp_path: Path) -> None:
    (tmp_path / "devops-bench.toml").write_text('[lint]\nignore = ["DB1"]\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert find_settings(below).ignore == ("DB1",)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.devops-bench.lint]\nignore = ['DB2']\n")
    assert find_settings(below).ignore == ("DB2",)
    (tmp_path / "a" / "devops-bench.toml").write_text("[lint]\nignore = ['DB3']\n")
    assert find_settings(below).ignore == ("DB3",)


def test_two_files_in_one_folder(tmp_path: Path) -> None:
    own, project = tmp_path / "devops-bench.toml", tmp_path / "pyproject.toml"
    own.write_text("[lint]\nignore = ['DB3']\n")
    project.write_text("[tool.devops-bench.lint]\nignore = ['DB2']\n")
    found = find_settings(tmp_path)
    assert (found.ignore, found.file, found.passed_over) == (("DB3",), own, project)
    project.write_text("[project]\nname = 'x'\n")
    assert find_settings(tmp_path).passed_over is None
    # Without its table the first says nothing, and so does not go before the second.
    project.write_text("[tool.devops-bench.lint]\nignore = ['DB2']\n")
    own.write_text("[run]\n")
    found = find_settings(tmp_path)
    assert (found.ignore, found.file, found.passed_over) == (("DB2",), project, None)


def test_a_named_file_has_to_have_the_table(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[project]\nname = 'x'\n")
    with pytest.raises(InvalidInputError, match=r"no table \[tool.devops-bench.lint\]"):
        read_settings(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ignroe = []", "did you mean 'ignore'"),
        ("ignore = 'DB1'", "ignore is a list of texts"),
        ("ignore = ['']", "ignore is a list of texts"),
        ("fail-on = 'warnings'", "error, warning, notice, never"),
        ("fail-on = 1", "fail-on is text"),
        ("kubernetes-version = 1.36", "text in quotes"),
        ("= 1", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "devops-bench.toml"
    file.write_text(f"[lint]\n{text}\n")
    with pytest.raises(InvalidInputError, match=message) as caught:
        find_settings(tmp_path)
    assert str(file) in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
        read_settings(tmp_path / "missing.toml")


def test_fail_on() -> None:
    table = {one: [level for level in Level if fails(level, one)] for one in FAIL_ON}
    assert table == {
        "error": [Level.ERROR],
        "warning": [Level.ERROR, Level.WARNING],
        "notice": [Level.ERROR, Level.WARNING, Level.NOTICE],
        "never": [],
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("y.toml", "[tool.devops-bench.lint]\nignore = ['DB101']\n", r"\[lint\] \(it has \[tool"),
        ("pyproject.toml", "[lint]\nignore = ['DB101']\n", r"bench.lint\] \(it has \[lint\]"),
        ("pyproject.toml", "[tool.devops_bench.lint]\n", r"it has \[tool.devops_bench.lint\]"),
        ("devops-bench.toml", "[lin]\nignore = ['DB101']\n", r"it has \[lin\]: write \[lint\]"),
        ("z.toml", "ignore = ['DB101']\n", r"it has ignore at the top: write \[lint\] above it"),
        ("z.toml", "[other]\n", r"no table \[lint\]$"),
        ("z.toml", "", r"no table \[lint\]$"),
        ("z.toml", "[[lint]]\n", r"\[lint\] is not a table"),
    ],
)
def test_a_named_file_without_the_table_is_an_error_that_says_what_it_has(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_settings(tmp_path / name)


def test_an_empty_table_is_one(tmp_path: Path) -> None:
    (tmp_path / "z.toml").write_text("[lint]\n")
    assert read_settings(tmp_path / "z.toml") == Settings(file=tmp_path / "z.toml")
