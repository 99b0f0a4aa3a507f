from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.core.runtime import OWNER_FILE, abandoned, private_folder, runtime_dir


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVOPS_BENCH_STATE", str(tmp_path / "state"))


def _killed(what: str) -> Path:
    """Make a folder in a process that ends without removing it."""
    code = """
import os, sys
from devops_bench.core.runtime import private_folder
manager = private_folder(sys.argv[1], place="here")
folder = manager.__enter__()
(folder / "kubeconfig").write_text("secret")
print(folder, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, what], capture_output=True, text=True, check=False
    )
    return Path(done.stdout.strip())


def test_a_folder_is_private_and_gone_afterwards() -> None:
    with private_folder("a test") as folder:
        assert folder.parent == runtime_dir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / OWNER_FILE).stat().st_mode & 0o777 == 0o600
        (folder / "locked").mkdir()
        (folder / "locked" / "file").touch()
        (folder / "locked").chmod(0)
        (folder / "link").symlink_to(Path("/"))
        assert abandoned() == []
    assert list(runtime_dir().iterdir()) == []
    assert Path("/proc").is_dir()


def test_it_is_gone_after_an_exception_too() -> None:
    with pytest.raises(KeyError), private_folder("a test"):
        raise KeyError
    assert list(runtime_dir().iterdir()) == []


def test_what_a_killed_process_left_is_found_with_what_it_wrote_down() -> None:
    folder = _killed("a test")
    (left,) = abandoned()
    assert (left.folder, left.what, left.notes) == (folder, "a test", {"place": "here"})


def test_another_process_of_the_same_number_is_not_the_owner() -> None:
    with private_folder("a test") as folder:
        owner = folder / OWNER_FILE
        owner.write_text(owner.read_text().replace('"started": "', '"started": "x'))
        assert [left.folder for left in abandoned()] == [folder]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pid": "x"}'])
def test_a_folder_that_does_not_say_whose_it_is_is_nobodys(content: str) -> None:
    with private_folder("a test") as folder:
        (folder / OWNER_FILE).write_text(content)
        assert [left.folder for left in abandoned()] == [folder]


def test_a_folder_that_is_being_made_or_removed_is_left_alone() -> None:
    runtime_dir().mkdir(parents=True)
    (runtime_dir() / ".new").mkdir()
    (runtime_dir() / "going").mkdir()
    assert abandoned() == []
    os.utime(runtime_dir() / "going", (0, 0))
    assert [left.folder.name for left in abandoned()] == ["going"]


def test_without_any_there_is_nothing() -> None:
    assert abandoned() == []
