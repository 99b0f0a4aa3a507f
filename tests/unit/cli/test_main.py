"""The command as a whole: its help, its start, its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench import __version__
from devops_bench.cli.main import COMMANDS

from .conftest import Run

GOLDEN = Path(__file__).parent / "golden"
HEAVY = {
    "cryptography", "google", "jsonpath_ng", "kubernetes", "pydantic", "re2", "requests", "rich",
    "structlog", "urllib3", "yaml",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("root", []),
        ("run", ["run"]),
        ("verify", ["verify"]),
        ("check", ["check"]),
        ("replay", ["replay"]),
        ("doctor", ["doctor"]),
        ("version", ["version"]),
    ],
)
def test_the_help_is_what_was_reviewed(devops_bench: Run, name: str, words: list[str]) -> None:
    """To accept a change: DEVOPS_BENCH_GOLDEN=write pytest tests/unit/cli/test_main.py."""
    done = devops_bench(*words, "--help")
    file = GOLDEN / f"help_{name}.txt"
    if os.environ.get("DEVOPS_BENCH_GOLDEN") == "write":
        file.write_text(done.stdout)
    assert done.stdout == file.read_text()
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_a_help_and_is_listed(devops_bench: Run) -> None:
    listed = devops_bench("--help").stdout.partition("Commands:")[2]
    for name in COMMANDS:
        assert f"\n  {name} " in listed
        done = devops_bench(name, "-h")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"Usage: devops-bench {name}")
        assert "╭" not in done.stdout  # rich's boxes


def test_without_a_command_the_help_is_shown(devops_bench: Run) -> None:
    done = devops_bench()
    assert "Commands:" in done.stdout + done.stderr


def imported_by(*words: str) -> set[str]:
    """Return the top-level modules that are imported once a command has ended."""
    code = """
import sys
from devops_bench.cli.main import main
try:
    main()
finally:
    print("\\n" + " ".join({name.partition(".")[0] for name in sys.modules}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_help_imports_nothing_heavy() -> None:
    assert not imported_by("--help") & HEAVY


def test_the_help_of_run_imports_no_kubernetes() -> None:
    assert not imported_by("run", "--help") & {"kubernetes", "yaml", "cryptography"}


def test_the_version(devops_bench: Run) -> None:
    assert devops_bench("version").stdout.startswith(f"devops-bench {__version__} (Python 3.")
    assert devops_bench("--version").stdout == devops_bench("version").stdout
    parsed = json.loads(devops_bench("version", "--output", "json").stdout)
    assert parsed["version"] == __version__
    assert set(parsed) == {"version", "python", "platform"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], "No such command 'rnu'"),
        (["version", "--outputt", "json"], "No such option: --outputt"),
        (["version", "--output", "xml"], "'xml' is not one of 'text', 'json'"),
        (["--log-level", "loud", "version"], "'loud' is not one of"),
    ],
)
def test_a_usage_error_is_two(devops_bench: Run, words: list[str], said: str) -> None:
    done = devops_bench(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m devops_bench version | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout.strip() in {"0", "1"}
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
