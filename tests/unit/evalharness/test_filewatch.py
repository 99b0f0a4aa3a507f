"""On Linux as root it runs on the real fanotify; elsewhere it must say that it saw nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.evalharness import filewatch
from devops_bench.evalharness.filewatch import FileWatch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("results/a", "results/below/b", "results/workspace/c"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "results"


def read_all(folder: Path) -> None:
    files = [folder / "a", folder / "below/b", folder / "workspace/c"]
    # A shell in between: what counts is whose child it is, however far down.
    command = "cat " + " ".join(map(str, files))
    subprocess.run(["sh", "-c", f"({command}) >/dev/null"], check=True)


def test_what_the_agent_opens_is_seen_and_what_we_open_is_not(folder: Path) -> None:
    watch = FileWatch([folder], allowed=[folder / "workspace"])
    watch.start()
    if watch.why_not is not None:
        # No root, or a kernel without: it says so, and saw nothing.
        assert os.geteuid() != 0 or sys.platform != "linux" or "fanotify" in watch.why_not
        assert watch.stop() == []
        return
    (folder / "a").read_text()
    assert watch.stop() == []

    watch = FileWatch([folder], allowed=[folder / "workspace"])
    watch.start()
    read_all(folder)
    seen = watch.stop()
    assert sorted(line.split(" opened ")[1] for line in seen) == [
        str(folder / "a"),
        str(folder / "below/b"),
    ]
    read_all(folder)
    assert watch.stop() == seen


def test_what_ran_before_is_not_the_agents(folder: Path) -> None:
    """A control plane of ours, whose processes are below this one too."""
    both = "echo ready; read line; tail a >/dev/null; sh -c 'tail below/b' >/dev/null; echo done"
    with subprocess.Popen(
        ["sh", "-c", both], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as before:
        assert before.stdin is not None
        assert before.stdout is not None
        assert before.stdout.readline() == "ready\n"
        watch = FileWatch([folder])
        watch.start()
        print(file=before.stdin, flush=True)
        assert before.stdout.readline() == "done\n"
        works = watch.why_not is None
        read_all(folder)
        seen = watch.stop()
    expected = ["cat"] * 3 if works else []
    assert [line.partition(" opened ")[0] for line in seen] == expected


def test_one_file_may_be_watched(folder: Path) -> None:
    watch = FileWatch([], [folder / "a"])
    watch.start()
    if watch.why_not is None:
        read_all(folder)
        assert [line.split(" opened ")[1] for line in watch.stop()] == [str(folder / "a")]
    else:
        assert watch.stop() == []


def test_a_folder_that_cannot_be_watched_is_no_silence(tmp_path: Path) -> None:
    watch = FileWatch([], [tmp_path / "missing"])
    watch.start()
    assert watch.why_not is not None
    assert watch.stop() == []


def test_too_many_folders_are_not_watched_by_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filewatch, "MAX_FOLDERS", 1)
    (tmp_path / "one" / "two").mkdir(parents=True)
    watch = FileWatch([tmp_path])
    watch.start()
    assert watch.why_not is not None
