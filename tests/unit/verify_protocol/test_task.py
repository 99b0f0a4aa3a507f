"""What a folder says of a task."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.errors import InvalidInputError
from devops_bench.verify_protocol.task import load_task, load_tasks, safe_id


def folder(parent: Path, name: str, meta: str | None = None) -> Path:
    made = parent / name
    made.mkdir()
    (made / "verify.py").touch()
    if meta is not None:
        (made / "meta.json").write_text(meta)
    return made


def test_a_task_with_its_id_and_its_sites(tmp_path: Path) -> None:
    meta = '{"task_id": "media_066", "meta_data": {"sites": ["siyuan", "booklore", "siyuan"]}}'
    task = load_task(folder(tmp_path, "x", meta))
    assert (task.id, task.sites) == ("media_066", ("siyuan", "booklore"))
    assert task.script == tmp_path / "x" / "verify.py"


@pytest.mark.parametrize("meta", [None, "{}", '{"task_id": null}', '{"task_id": "  "}'])
def test_without_an_id_it_is_the_folder_s_name(tmp_path: Path, meta: str | None) -> None:
    assert load_task(folder(tmp_path, "media_1", meta)).id == "media_1"


def test_without_a_script_there_is_none(tmp_path: Path) -> None:
    assert load_task(tmp_path).script is None


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"task_id": NaN}', "is no JSON: NaN"),
        ('{"task_id": "a", "task_id": "b"}', "meta.json: 'task_id' is there twice"),
        ('{"meta_data": {"sites": [], "sites": ["x"]}}', "'sites' is there twice"),
        ("[]", "should be a JSON object"),
        ('{"task_id": ["x"]}', "task_id should be a string"),
        ('{"meta_data": []}', "meta_data should be a map"),
        ('{"meta_data": {"sites": "x"}}', "should be a list"),
        ('{"meta_data": {"sites": ["a=b"]}}', "is no name"),
        ('{"meta_data": {"sites": [1]}}', "is no name"),
    ],
)
def test_a_wrong_meta_is_bad_input(tmp_path: Path, meta: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        load_task(folder(tmp_path, "x", meta))


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    wrong = [
        folder(tmp_path, "a", '{"task_id": "same"}'),
        folder(tmp_path, "b", '{"task_id": "SAME"}'),
        folder(tmp_path, "c", "{"),
        tmp_path / "none",
    ]
    with pytest.raises(InvalidInputError) as caught:
        load_tasks(wrong)
    assert len(caught.value.diagnostics) == 3


def test_the_same_folder_twice_is_one_task(tmp_path: Path) -> None:
    one = folder(tmp_path, "a")
    assert len(load_tasks([one, tmp_path / "a" / ".." / "a"])[0]) == 1


def test_what_is_not_selected_cannot_be_wrong(tmp_path: Path) -> None:
    folders = [
        folder(tmp_path, "good", '{"task_id": "good"}'),
        folder(tmp_path, "broken", "{"),
        folder(tmp_path, "b1", '{"task_id": "same"}'),
        folder(tmp_path, "b2", '{"task_id": "same"}'),
    ]
    tasks, passed_over = load_tasks(folders, ["goo*"])
    assert [task.id for task in tasks] == ["good"]
    assert len(passed_over) == 1
    assert "is no JSON" in passed_over[0]
    with pytest.raises(InvalidInputError) as caught:
        load_tasks(folders, ["bro*"])
    assert "is no JSON" in str(caught.value.diagnostics[0])


def test_a_link_that_leads_nowhere_is_a_script_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "verify.py").symlink_to(tmp_path / "none")
    assert load_task(tmp_path).script is not None


@pytest.mark.parametrize(
    ("given_id", "safe"),
    [
        ("a/../b", "a_.._b"), ("..", "__"), (".hidden", "_hidden"), ("", "_"), ("a b", "a_b"),
        ("ü-1.2", "ü-1.2"), ("a\0b", "a_b"), ("\udcff", "_"),
    ],
)  # fmt: skip
def test_an_id_is_made_safe(given_id: str, safe: str) -> None:
    assert safe_id(given_id) == safe


@given(st.text())
def test_a_safe_id_is_one_visible_name(text: str) -> None:
    name = safe_id(text)
    assert name
    assert not name.startswith(".")
    assert not set(name) & set("/\\\0\n")
    assert len(name.encode()) <= 200
    assert safe_id(name) == name
