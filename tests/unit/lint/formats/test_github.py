from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.lint.engine import LintReport
from devops_bench.lint.formats import github


def rendered(*found: Diagnostic, **more: tuple[str, ...]) -> str:
    return github.render(LintReport((), found, **more))  # type: ignore[arg-type]


def test_a_finding_is_an_annotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = Diagnostic(
        "no such field", "did you mean 'b'?", tmp_path / "a.yaml", 3, 7, "x.y", rule="DB101"
    )
    assert rendered(one) == (
        "::error file=a.yaml,line=3,col=7,title=DB101 x.y::no such field%0Adid you mean 'b'?\n"
    )


@pytest.mark.parametrize("level", list(Level))
def test_levels(level: Level) -> None:
    assert rendered(Diagnostic("m", level=level, rule="DB101")).startswith(f"::{level} ")


def test_what_would_end_the_command_is_escaped() -> None:
    one = Diagnostic("100%\r\n::error::x", "", Path("/a:b,c.yaml"), 1, 1, "p[a,b]", rule="DB101")
    text = rendered(one)
    assert text.count("\n") == 1
    assert "file=/a%3Ab%2Cc.yaml" in text
    assert "title=DB101 p[a%2Cb]::100%25%0D%0A::error::x" in text


def test_what_was_not_looked_at_is_said() -> None:
    assert rendered(notes=("n",), unreadable=("u",)) == "::notice::n\n::error::u\n"
