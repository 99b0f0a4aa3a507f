"""Tools written in Go that tests use, pinned in ``hack/tools/go.mod``."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MODULE = Path(__file__).resolve().parents[1] / "hack" / "tools"


def go(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``go`` in the tools' module; without Go the test is skipped, save in CI."""
    found = shutil.which("go")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("Go is needed here")
        pytest.skip("Go is not installed")
    return subprocess.run(
        [found, *arguments], cwd=MODULE, capture_output=True, text=True, check=False, timeout=280
    )
