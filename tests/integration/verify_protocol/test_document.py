"""The example of ``docs/verify.md`` is run as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from devops_bench.verify_protocol.model import Status
from devops_bench.verify_protocol.runner import RunOptions, run_task
from devops_bench.verify_protocol.sites import load_sites
from devops_bench.verify_protocol.task import load_task
from tests.integration.harness import REPOSITORY

DOCUMENT = (REPOSITORY / "docs" / "verify.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)


def test_the_minimal_task_passes(tmp_path: Path) -> None:
    meta, sites = blocks("json")
    (script,) = blocks("python")
    (tmp_path / "meta.json").write_text(meta)
    (tmp_path / "verify.py").write_text(script)
    (tmp_path / "sites.json").write_text(sites)
    assert set(load_sites(tmp_path / "sites.json")) > {"wiki", "notes"}

    task = load_task(tmp_path)
    result = run_task(task, 0, RunOptions(timeout_sec=60, sites=load_sites()))

    assert (task.id, result.status, result.findings) == ("board_001", Status.PASS, ())
    assert [check.label for check in result.checks] == [
        "the container is named",
        "there is a board (any)",
    ]
    assert result.checks[1].detail == "found 1 of 1"
    for key in result.as_json():
        assert f"`{key}`" in DOCUMENT
    json.dumps(result.as_json(), allow_nan=False)


def test_the_minimal_task_can_fail(tmp_path: Path) -> None:
    (script,) = blocks("python")
    (tmp_path / "verify.py").write_text(script)
    result = run_task(load_task(tmp_path), 0, RunOptions(timeout_sec=60))
    assert (result.status, result.score, result.findings) == (Status.FAIL, 0.75, ())
