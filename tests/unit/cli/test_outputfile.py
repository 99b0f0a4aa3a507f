from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from devops_bench.cli.outputfile import OutputFile
from devops_bench.core.errors import InvalidInputError, OutputError


def named(path: Path) -> OutputFile:
    file = OutputFile(path, "--junit")
    file.require_writable()
    return file


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text("a longer report of before")
    named(path).write(b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["x.xml"]  # noqa: PTH208


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_followed(tmp_path: Path, is_there: bool) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    if is_there:
        target.write_text("old")
    link.symlink_to(target)
    named(link).write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    named(path).write(b"new" * 50_000)
    reader.join()
    assert read == [b"new" * 50_000]
    assert path.is_fifo()


def test_what_a_shell_holds_open_is_written_to() -> None:
    reads, writes = os.pipe()
    named(Path(f"/dev/fd/{writes}")).write(b"new")
    os.close(writes)
    with os.fdopen(reads, "rb") as stream:
        assert stream.read() == b"new"


def test_a_stream_that_is_a_file_keeps_what_is_in_it(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as stream:
        stream.write(b"before\n")
        stream.flush()
        named(Path(f"/dev/fd/{stream.fileno()}")).write(b"new\n")
    assert (tmp_path / "log").read_bytes() == b"before\nnew\n"


def test_a_full_device_is_an_error_and_stays_a_device() -> None:
    with pytest.raises(OutputError, match=r"to /dev/full \(--junit\): No space left"):
        named(Path("/dev/full")).write(b"new")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("name", [".", "nowhere/x.xml", "file/x.xml"])
def test_what_cannot_be_written_is_said_before(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match=r"^--junit") as caught:
        named(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_a_regular_file_below_dev_is_one(tmp_path: Path) -> None:
    path = Path("/dev/shm") / f"{tmp_path.name}.xml"
    path.write_text("a longer report of before")
    try:
        named(path).write(b"new")
        assert path.read_bytes() == b"new"
    finally:
        path.unlink()
