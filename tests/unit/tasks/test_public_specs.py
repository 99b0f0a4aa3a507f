"""The public specs that stand beside the checkout: they load as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.tasks.loader import LoadedTasks, LoadOptions, load_task, load_tasks

FOLDER = Path(__file__).parents[3].parent / "shared" / "upstream_specs"

LATER_TYPES = {"git_repo_sync", "identity_preserved", "pod_exec"}


@pytest.fixture(scope="module")
def loaded() -> LoadedTasks:
    if not FOLDER.is_dir():
        pytest.skip(f"the public specs are not there: {FOLDER}")
    return load_tasks([FOLDER], LoadOptions(mode="lint"))


def test_all_of_them_load(loaded: LoadedTasks) -> None:
    assert len(loaded.files) == len(list(FOLDER.glob("*.yaml"))) >= 13
    assert loaded.unreadable == ()
    assert [str(one) for one in loaded.diagnostics if one.level is Level.ERROR] == []
    assert len(loaded.tasks) == len(loaded.files)


def test_the_only_warnings_are_of_later_types_and_of_names_that_select_nothing(
    loaded: LoadedTasks,
) -> None:
    later, others = set(), set()
    for found in loaded.diagnostics:
        if found.level is not Level.WARNING:
            continue
        if found.path.endswith(".type"):
            later.add(found.message.split("'")[1])
        else:
            assert found.path.endswith(".name")
            others.add(found.file.name if found.file else "")
    assert later <= LATER_TYPES
    assert [name for name in others if "spot-rebalancing" not in name] == []


def test_every_task_has_its_entries(loaded: LoadedTasks) -> None:
    counts = {task.id: len(task.entries) for task in loaded.tasks}
    assert counts["6"] == 15
    assert counts["0011"] == 7
    assert counts["0060"] >= 25


def test_run_refuses_what_it_cannot_judge(loaded: LoadedTasks) -> None:
    for file in loaded.files:
        result = load_task(file, built_in={"CLUSTER_NAME": "c", "NAMESPACE": "n", "RUN_ID": "r"})
        text = result.text
        needs = any(f"type: {kind}" in text for kind in LATER_TYPES) or "kubeconfig:" in text
        paths = {found.path for found in result.diagnostics if found.level is Level.ERROR}
        judged = [path for path in paths if path.endswith((".type", ".kubeconfig"))]
        assert bool(judged) == (needs and "# NOT YET IMPLEMENTED" not in text)
