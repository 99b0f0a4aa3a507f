"""What is typed all the time starts at once: it imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SPECS = Path(__file__).resolve().parents[2] / "specs"

HEAVY = {
    "cryptography",
    "jsonschema",
    "kubernetes",
    "kubernetes_validate",
    "requests",
    "rich",
    "structlog",
    "urllib3",
}


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["version"], ["lint", str(SPECS)], ["schema"], ["verify", "--help"]],
    ids=lambda arguments: str(arguments[0]),
)
def test_it_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from devops_bench.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print('\\n'.join(sorted({name.partition('.')[0] for name in sys.modules})),"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )

    assert "devops_bench" in done.stderr.splitlines()
    assert HEAVY & set(done.stderr.splitlines()) == set()
