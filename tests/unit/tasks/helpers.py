"""What the tests of the loader share: a small task and short ways to load it."""

from __future__ import annotations

from pathlib import Path

from devops_bench.tasks.loader import LoadOptions, LoadResult, load_text
from devops_bench.tasks.model import Task

ENTRY = """
  - name: ready
    role: objective
    check: {type: pod_healthy, selector: app=web}
"""
TASK = f"id: web\nprompt: Fix it.\nverification_spec:{ENTRY}"


def load(text: str, folder: Path = Path("/nonexistent"), **options: object) -> LoadResult:
    return load_text(text, folder / "task.yaml", LoadOptions(**options))  # type: ignore[arg-type]


def good(text: str, folder: Path = Path("/nonexistent"), **options: object) -> Task:
    result = load(text, folder, **options)
    assert result.task is not None, "\n".join(map(str, result.diagnostics))
    return result.task


def lines(result: LoadResult) -> list[str]:
    return [f"{one.line}:{one.column} {one.level} {one.path}" for one in result.diagnostics]
