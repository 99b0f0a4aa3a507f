from __future__ import annotations

import json
from pathlib import Path

from devops_bench.tasks.model import Oracle
from tests.unit.tasks.helpers import TASK, good, load


def test_ready_may_be_nothing() -> None:
    assert good(f"{TASK}setup: {{ready: []}}\n").setup.ready == ()


def test_an_inline_oracle() -> None:
    oracle = good(f"{TASK}controls:\n  oracle:\n    run: |\n      true\n").controls.oracle
    assert oracle == Oracle(run="true\n")


def test_manifests_that_leave_the_folder_are_never_opened(tmp_path: Path) -> None:
    folder = tmp_path / "spec"
    folder.mkdir()
    (tmp_path / "outside.yaml").write_text("not: [a manifest")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (folder / "sub").symlink_to(tmp_path)
    for name in (
        "../outside.yaml",
        "link.yaml",
        "sub/outside.yaml",
        str(tmp_path / "outside.yaml"),
    ):
        (found,) = load(f"{TASK}setup: {{manifests: ['{name}']}}\n", folder).diagnostics
        assert found.path == "setup.manifests[0]"
        assert found.file == folder / "task.yaml"
        (found,) = load(f"{TASK}controls: {{oracle: {{script: '{name}'}}}}\n", folder).diagnostics
        assert found.path == "controls.oracle.script"


def test_what_is_wrong_in_a_manifest_is_placed_in_the_manifest(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    text = f"{TASK}setup: {{manifests: [m.yaml]}}\n"
    for content in (b"a: [\n", b"kind: x\n", b"\xff\n"):
        file.write_bytes(content)
        result = load(text, tmp_path)
        assert result.task is None
        assert [found.file for found in result.diagnostics] == [file.resolve()]
        assert result.diagnostics[0].line >= 1


def test_a_folder_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (found,) = load(f"{TASK}setup: {{manifests: [m]}}\n", tmp_path).diagnostics
    assert "not a regular file" in found.message


def test_an_object_needs_a_name_of_its_own(tmp_path: Path) -> None:
    generated = "{apiVersion: v1, kind: Pod, metadata: {generateName: web-}}"
    (found,) = load(f"{TASK}setup: {{objects: [{generated}]}}\n").diagnostics
    assert found.path == "setup.objects[0].metadata.name"
    assert "generateName is not enough" in found.message
    (tmp_path / "m.yaml").write_text(f"---\n{generated}\n")
    (found,) = load(f"{TASK}setup: {{manifests: [m.yaml]}}\n", tmp_path).diagnostics
    assert (found.file, found.line) == ((tmp_path / "m.yaml").resolve(), 2)
    assert "generateName" in found.message


def test_a_list_among_the_objects_is_told_where_it_belongs() -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"
    text = f"{TASK}setup: {{objects: [{{apiVersion: v1, kind: List, items: [{pod}]}}]}}\n"
    (found,) = load(text).diagnostics
    assert found.path == "setup.objects[0].kind"
    assert "a List is not an object" in found.message
    assert "setup.manifests" in found.hint


def test_blank_names_are_refused() -> None:
    blank = '{apiVersion: v1, kind: " ", metadata: {name: " ", namespace: "\t"}}'
    paths = {found.path for found in load(f"{TASK}setup: {{objects: [{blank}]}}\n").diagnostics}
    assert paths == {
        "setup.objects[0].kind",
        "setup.objects[0].metadata.name",
        "setup.objects[0].metadata.namespace",
    }


def test_a_whole_number_is_sent_as_one_as_kubectl_does() -> None:
    spec = "{replicas: 3.0, x: [2.5, 1.0]}"
    obj = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a}}, spec: {spec}}}"
    (made,) = good(f"{TASK}setup: {{objects: [{obj}]}}\n").setup.objects
    assert json.dumps(made["spec"]) == '{"replicas": 3, "x": [2.5, 1]}'


def test_each_object_of_a_manifest_knows_its_file(tmp_path: Path) -> None:
    one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
    (tmp_path / "a.yaml").write_text(f"{one % 'a'}---\n{one % 'b'}")
    (tmp_path / "b.yaml").write_text("")
    (tmp_path / "c.yaml").write_text(one % "c")
    setup = good(f"{TASK}setup: {{manifests: [a.yaml, b.yaml, c.yaml]}}\n", tmp_path).setup
    assert setup.manifest_items == (0, 0, 2)
