from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from devops_bench.evalharness.recordfiles import RecordFiles


@pytest.fixture
def marked(tmp_path: Path) -> tuple[RecordFiles, Path]:
    path = tmp_path / "task" / "journal.jsonl"
    path.parent.mkdir()
    path.write_text("one line\n")
    records = RecordFiles()
    records.mark(path)
    return records, path


def test_a_record_may_grow(marked: tuple[RecordFiles, Path]) -> None:
    records, path = marked
    with path.open("a") as file:
        file.write("more\n")
    assert records.lost() == {}


def test_what_was_deleted_replaced_or_cut_is_told(marked: tuple[RecordFiles, Path]) -> None:
    records, path = marked
    path.write_text("")
    assert records.lost() == {path: "was cut"}
    kept = path.with_name("kept")  # so that its inode is not given out again
    path.rename(kept)
    assert records.lost() == {path: "was deleted"}
    path.write_text("one line\none more\n")
    assert records.lost() == {path: "was replaced"}
    path.unlink()
    path.symlink_to(kept)
    assert records.lost() == {path: "was replaced"}
    shutil.rmtree(path.parent)
    assert records.lost() == {path: "was deleted"}


def test_of_what_is_only_expected_being_there_is_enough(tmp_path: Path) -> None:
    there, gone = tmp_path / "agent.stdout", tmp_path / "agent.stderr"
    there.touch()
    records = RecordFiles()
    records.expect([there, gone])
    records.mark(tmp_path / "never")
    assert records.lost() == {gone: "was deleted"}
