"""How faults are shown."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.cli.errors import (
    printable,
    printable_lines,
    render_diagnostics,
    report_error,
    use_color,
)
from devops_bench.core.diagnostics import Diagnostic, Level
from devops_bench.core.errors import ClusterError, InvalidInputError, RunInterruptedError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEVOPS_BENCH_DEBUG", raising=False)


class TestDiagnostics:
    def test_the_line_is_shown_with_a_caret_below_the_column(self, tmp_path: Path) -> None:
        file = tmp_path / "task.yaml"
        file.write_text("id: a\ncheck:\n  op: eqq\n")
        found = Diagnostic(
            "there is no op 'eqq'", "did you mean 'eq'?", file, 3, 7, "check.op", rule="DB101"
        )
        assert render_diagnostics([found]) == (
            "task.yaml:3:7: error: check.op: there is no op 'eqq' [DB101]\n"
            "    3 |   op: eqq\n"
            "      |       ^\n"
            "    hint: did you mean 'eq'?\n"
        )

    def test_what_is_unknown_is_left_out(self, tmp_path: Path) -> None:
        assert render_diagnostics([Diagnostic("odd", level=Level.WARNING)]) == "warning: odd\n"
        gone = Diagnostic("gone", file=tmp_path / "gone.yaml", line=3, column=1)
        assert render_diagnostics([gone]) == "gone.yaml:3:1: error: gone\n"

    def test_a_file_elsewhere_has_its_whole_path(self) -> None:
        found = Diagnostic("odd", file=Path("/elsewhere/x.yaml"))
        assert render_diagnostics([found]) == "/elsewhere/x.yaml: error: odd\n"

    def test_a_line_after_the_end_is_not_shown(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("one\n")
        found = Diagnostic("cut off", file=tmp_path / "x", line=9, column=1)
        assert render_diagnostics([found]) == "x:9:1: error: cut off\n"

    def test_wide_characters_and_tabs_do_not_move_the_caret(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("\t漢字: bad\n")
        text = render_diagnostics([Diagnostic("m", file=tmp_path / "x", line=1, column=6)])
        shown, caret = text.splitlines()[1:]
        assert shown == "    1 |  漢字: bad"
        # Each of the two ideographs takes two columns of a terminal.
        assert caret.index("^") == shown.index("bad") + 2

    def test_a_long_line_is_shown_around_its_column(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("a" * 5000 + "HERE" + "b" * 5000)
        text = render_diagnostics([Diagnostic("m", file=tmp_path / "x", line=1, column=5001)])
        shown, caret = text.splitlines()[1:]
        assert len(shown) < 120
        assert shown[caret.index("^") :].startswith("HERE")

    def test_nothing_of_a_file_controls_the_terminal(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("a: \x1b[31mred\x07\n")
        found = Diagnostic("bad \x1b]0;t\x07", "h\x1bint", tmp_path / "x", 1, 1, "p\x9b")
        text = render_diagnostics([found])
        assert not [char for char in text if not char.isprintable() and char != "\n"]

    def test_colours_only_when_asked_for(self) -> None:
        assert "\x1b[" in render_diagnostics([Diagnostic("m")], color=True)
        assert "\x1b[" not in render_diagnostics([Diagnostic("m")])

    @given(st.text(), st.text(), st.integers(-1, 9), st.integers(-1, 300))
    def test_anything_can_be_shown(self, source: str, message: str, line: int, column: int) -> None:
        file = Path("any.yaml")
        file.write_text(source, encoding="utf-8", errors="surrogatepass")
        text = render_diagnostics([Diagnostic(message, "", file, line, column)])
        assert text.endswith("\n")
        assert text.count("\n") in (1, 2, 3)
        assert all(char.isprintable() or char == "\n" for char in text)


@given(st.text())
def test_printable_text_is_left_alone_and_the_rest_is_spelled_out(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


class TestReports:
    def test_every_fault_is_shown_and_then_one_line(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        faults = [Diagnostic("first"), Diagnostic("second")]
        assert report_error(InvalidInputError("2 errors in the specs", faults)) == 2
        assert capsys.readouterr().err == (
            "error: first\nerror: second\nerror: 2 errors in the specs\n"
        )

    def test_the_exit_code_is_the_errors(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert report_error(ClusterError("no answer")) == 3
        assert report_error(RunInterruptedError("ended")) == 130
        assert capsys.readouterr().err == "error: no answer\nerror: ended\n"

    def test_an_unexpected_error_is_one_line_and_its_traceback_is_kept(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with pytest.raises(KeyError) as raised:
            raise KeyError("x")
        assert report_error(raised.value) == 3
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: unexpected, a fault of devops-bench: KeyError: 'x' (traceba")
        (kept,) = tmp_path.glob("devops-bench-*.traceback")
        assert str(kept) in line
        assert 'raise KeyError("x")' in kept.read_text()

    def test_what_the_system_refused_is_only_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert report_error(OSError(28, "No space left on device", "/r/x")) == 3
        assert report_error(OSError(28, "No space left on device")) == 3
        assert capsys.readouterr().err == (
            "error: /r/x: No space left on device\nerror: No space left on device\n"
        )

    def test_a_developer_sees_the_traceback_at_once(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DEVOPS_BENCH_DEBUG", "1")
        assert report_error(ValueError("x")) == 3
        assert "ValueError: x\nerror: unexpected" in capsys.readouterr().err


def test_colours_need_a_terminal_and_no_objection(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert use_color(Terminal())
    assert not use_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_color(Terminal())
    monkeypatch.setenv("NO_COLOR", "")
    assert use_color(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not use_color(Terminal())


def test_printable_lines_keep_their_line_breaks_and_nothing_else() -> None:
    assert printable_lines("a\x1b[2J\r\nb\n") == "a\\x1b[2J\\r\nb\n"
