"""Files that survive a kill."""

from __future__ import annotations

import math
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.files import AppendOnlyLog, read_log, write_atomic
from devops_bench.core.json import JsonObject


def test_a_reader_of_a_replaced_file_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_atomic(path, "old")
    with path.open() as reader:
        write_atomic(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.json"
    write_atomic(path, "old")

    def full_disk(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_file_has_the_mode_that_was_asked_for(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "kubeconfig"
    write_atomic(path, b"secret", mode=mode)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_symlink_is_replaced_and_what_it_points_to_is_not_touched(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(target)
    write_atomic(link, "new")
    assert target.read_text() == "mine"
    assert not link.is_symlink()


json_scalars = st.none() | st.booleans() | st.integers() | st.text()
records = st.dictionaries(st.text(), json_scalars | st.lists(json_scalars))


@given(st.lists(records, max_size=5), st.integers(min_value=0))
def test_a_log_that_was_torn_anywhere_gives_back_the_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, written: list[JsonObject], cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with AppendOnlyLog(path) as log:
        for record in written:
            log.append(record)
    whole = path.read_bytes()
    kept = whole[: cut % (len(whole) + 1)]
    path.write_bytes(kept)
    assert read_log(path) == written[: kept.count(b"\n")]


@given(records, records)
def test_a_writer_that_comes_after_a_torn_line_loses_nothing_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, first: JsonObject, second: JsonObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with AppendOnlyLog(path) as log:
        log.append(first)
    with path.open("ab") as file:
        file.write(b'{"torn": tr')
    with AppendOnlyLog(path) as log:
        log.append(second)
    assert read_log(path) == [first, second]


def test_lines_of_several_threads_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AppendOnlyLog(path)

    def write(number: int) -> None:
        for count in range(20):
            log.append({"thread": number, "count": count, "text": "x" * 5000})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    for number in range(4):
        counts = [r["count"] for r in read_log(path) if r["thread"] == number]
        assert counts == list(range(20))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_strict_json_is_refused_and_writes_nothing(tmp_path: Path, value: float) -> None:
    path = tmp_path / "log.jsonl"
    with AppendOnlyLog(path) as log, pytest.raises(ValueError, match="JSON"):
        log.append({"value": value})
    assert path.read_bytes() == b""


def test_a_closed_log_refuses_lines(tmp_path: Path) -> None:
    log = AppendOnlyLog(tmp_path / "log.jsonl")
    log.close()
    log.close()
    with pytest.raises(OSError, match="closed"):
        log.append({})


def test_text_that_is_no_unicode_is_still_logged(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AppendOnlyLog(path) as log:
        log.append({"name": "a\udcff"})
    assert read_log(path) == [{"name": "a\udcff"}]


def test_what_was_appended_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    program = (
        "import os, pathlib, signal, sys\n"
        "from devops_bench.core.files import AppendOnlyLog\n"
        "AppendOnlyLog(pathlib.Path(sys.argv[1])).append({'event': 'seen'})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert read_log(path) == [{"event": "seen"}]
