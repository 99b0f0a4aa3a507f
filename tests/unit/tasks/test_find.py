from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.errors import InvalidInputError
from devops_bench.tasks.find import find_tasks


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml").replace("_yml", ".yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(folder: Path) -> list[str]:
    return [str(file.relative_to(folder)) for file in find_tasks(folder).files]


def test_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, x_yaml="nonsense")
    found = find_tasks(tmp_path / "x.yaml")
    assert (found.files, found.skipped) == ((tmp_path / "x.yaml",), 0)


def test_tasks_are_found_and_the_rest_is_counted(tmp_path: Path) -> None:
    write(
        tmp_path,
        a__task_yaml="not: [a task",
        a__manifest_yaml="kind: Pod",
        b_yaml="id: x\nverification_spec: []",
        c_yml="verification_entries:\n- a",
        d_yaml="'verification_spec' : []",
        e_yaml='{"id": "x", "verification_spec": []}',
        f_yaml="verification_spec: [broken",
        g_yaml="notes:\n  verification_spec: not at the top",
        h_yaml="text: verification_spec is a key",
        _hidden__task_yaml="id: x",
    )
    (tmp_path / "_hidden").rename(tmp_path / ".hidden")
    (tmp_path / ".h.yaml").write_text("verification_spec: []")
    (tmp_path / "notes.md").write_text("verification_spec:")
    assert names(tmp_path) == ["a/task.yaml", "b.yaml", "c.yml", "d.yaml", "e.yaml", "f.yaml"]
    assert find_tasks(tmp_path).skipped == 3


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path, a__task_yaml="id: x")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert names(tmp_path) == ["a/task.yaml"]


def test_a_linked_folder_is_entered(tmp_path: Path) -> None:
    write(tmp_path, real__task_yaml="id: x")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "linked").symlink_to(tmp_path / "real")
    assert names(tmp_path / "specs") == ["linked/task.yaml"]


def test_a_broken_link_to_a_task_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").symlink_to(tmp_path / "gone")
    assert names(tmp_path) == ["task.yaml"]


def test_a_folder_without_tasks_is_refused_and_says_what_a_task_is(tmp_path: Path) -> None:
    write(tmp_path, values_yaml="x: 1")
    with pytest.raises(InvalidInputError, match=r"no task in .*1 other YAML file.*task\.yaml"):
        find_tasks(tmp_path)


@pytest.mark.parametrize("name", ["missing", "a\0b"])
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        find_tasks(tmp_path / name)
