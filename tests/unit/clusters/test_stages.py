"""kwok's stages are its module's, but for pods that our own stage is for."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from devops_bench.clusters import stages
from devops_bench.core.errors import ClusterError
from tests.unit.clusters import standins

BROKEN = 'startswith("broken.invalid/")'


def documents(folder: Path) -> dict[str, str]:
    """Every stage of the configuration as text, by name."""
    loaded = list(yaml.safe_load_all(stages.configuration(folder)))
    assert all(item["kind"] == "Stage" for item in loaded)
    return {item["metadata"]["name"]: str(item["spec"]["selector"]) for item in loaded}


def test_living_pods_with_a_broken_image_match_our_stage_only(tmp_path: Path) -> None:
    standins.write_stages(tmp_path)

    selectors = documents(tmp_path)

    assert set(selectors) == {
        "node-initialize",
        "node-heartbeat-with-lease",
        "pod-ready",
        "pod-complete",
        "pod-delete",
        "pod-image-pull-backoff",
    }
    for name in ("pod-ready", "pod-complete"):
        assert BROKEN in selectors[name]
        assert "'operator': 'DoesNotExist'}]" in selectors[name]
    for name in ("pod-delete", "node-initialize", "node-heartbeat-with-lease"):
        assert BROKEN not in selectors[name]


def test_the_stage_as_it_was_is_not_changed() -> None:
    given = standins.stage("pod-ready", "pod")

    narrowed = stages.without_broken_images(given)  # type: ignore[arg-type]

    assert given == standins.stage("pod-ready", "pod")
    assert narrowed != given


@pytest.mark.parametrize("content", ["kind: [", "kind: Pod", "- a", "just text"])
def test_a_file_that_is_no_stage_is_named(tmp_path: Path, content: str) -> None:
    standins.write_stages(tmp_path)
    (tmp_path / "pod-ready.yaml").write_text(content)

    with pytest.raises(ClusterError, match=r"pod-ready\.yaml"):
        stages.configuration(tmp_path)


def test_a_module_that_lacks_a_stage_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no stage node/fast/node-initialize\.yaml"):
        stages.copy_from_module(tmp_path / "module", tmp_path / "stages")


def test_copies_can_be_removed_although_the_module_is_read_only(tmp_path: Path) -> None:
    module = tmp_path / "module"
    for name in stages.STAGE_FILES:
        (module / name).parent.mkdir(parents=True, exist_ok=True)
        (module / name).write_text("kind: Stage")
        (module / name).chmod(0o444)

    stages.copy_from_module(module, tmp_path / "stages")

    assert stages.complete(tmp_path / "stages")
    assert all(path.stat().st_mode & 0o200 for path in (tmp_path / "stages").iterdir())
