"""Running the real command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SPEC = """\
id: web
prompt: Scale the Deployment web in {{NAMESPACE}} to three replicas.
controls:
  oracle:
    run: kubectl -n {{NAMESPACE}} scale deployment/web --replicas=3
verification_spec:
  - name: three replicas
    role: objective
    check:
      type: resource_property
      kind: Deployment
      resource_name: web
      namespace: "{{NAMESPACE}}"
      path: spec.replicas
      op: eq
      value: 3
"""


@pytest.fixture
def devops_bench(tmp_path: Path) -> Run:
    """Run the command in a folder of its own, with an environment that is always the same."""

    def run(
        *words: str | Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "devops_bench", *map(str, words)],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "COLUMNS": "80",
                "NO_COLOR": "1",
                # Tested is what the tests themselves import.
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
                **(env or {}),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec that is right."""
    file = tmp_path / "web.yaml"
    file.write_text(SPEC)
    return file
