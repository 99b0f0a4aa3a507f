"""Whatever happens to the file: what is whole is read, what is not is told, nothing is invented."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject
from devops_bench.results.evidence.container import Ending, LineFile, read_lines

LINES = st.lists(
    st.dictionaries(
        st.text(max_size=5), st.integers(-(2**63), 2**63 - 1) | st.text(max_size=60), min_size=1
    ),
    max_size=12,
)


def written(folder: Path, lines: list[JsonObject], *, close: bool = True) -> bytes:
    """Return the bytes of a file with these lines, flushed one by one."""
    path = folder / "written"
    path.unlink(missing_ok=True)
    file = LineFile(path)
    for line in lines:
        file.write([json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass")])
    if close:
        file.close()
    else:
        file.abandon()
    return path.read_bytes()


def read(folder: Path, data: bytes) -> tuple[list[JsonObject], Ending]:
    """Return what is read from these bytes."""
    path = folder / "read"
    path.write_bytes(data)
    ending = Ending()
    return list(read_lines(path, ending)), ending


@given(LINES)
def test_what_was_written_is_read(lines: list[JsonObject]) -> None:
    with tempfile.TemporaryDirectory() as name:
        found, ending = read(Path(name), written(Path(name), lines))
    assert found == lines
    assert (ending.closed, ending.damage, ending.lines) == (True, "", len(lines))


@given(LINES, st.data())
def test_a_kill_at_any_byte_loses_no_whole_line(
    lines: list[JsonObject], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = written(folder, lines)
        # The length of the file when each line had been written.
        sizes = [
            len(written(folder, lines[:count], close=False)) for count in range(len(lines) + 1)
        ]
        cut = data.draw(st.integers(0, len(whole) - 1))
        found, ending = read(folder, whole[:cut])
    assert not ending.closed
    assert ending.damage == ""
    assert found == lines[: len(found)]
    assert len(found) >= max((n for n, size in enumerate(sizes) if size <= cut), default=0)


@given(LINES, st.data())
def test_damage_is_told_and_invents_nothing(lines: list[JsonObject], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        damaged = bytearray(written(folder, lines))
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(damaged) - 1))
            damaged[place] ^= data.draw(st.integers(1, 255))
        found, ending = read(folder, bytes(damaged))
    assert found == lines[: len(found)]
    if found != lines:
        assert ending.damage or not ending.closed


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_raising(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        found, ending = read(Path(name), data)
    assert found == [] or not ending.damage


def test_a_line_that_was_left_out_is_noticed(tmp_path: Path) -> None:
    data = written(tmp_path, [{"n": 1}, {"n": 2}, {"n": 3}])
    first, _, third = gzip.decompress(data).splitlines(keepends=True)
    found, ending = read(tmp_path, gzip.compress(first + third))
    assert found == [{"n": 1}]
    assert "checksum" in ending.damage


def test_a_bomb_is_bounded(tmp_path: Path) -> None:
    found, ending = read(tmp_path, gzip.compress(b"0" * (1 << 27)))
    assert found == []
    assert "no end" in ending.damage


def test_what_stands_before_the_damage_in_the_same_chunk_is_read(tmp_path: Path) -> None:
    lines: list[JsonObject] = [{"n": number} for number in range(100)]
    data = bytearray(written(tmp_path, lines))
    half = len(data) // 2
    data[half:] = b"\xff" * (len(data) - half)
    found, ending = read(tmp_path, bytes(data))
    assert 30 < len(found) < 70
    assert ending.damage


def test_the_tools_of_every_day_read_it(tmp_path: Path) -> None:
    text = gzip.decompress(written(tmp_path, [{"n": 1}])).decode()
    assert json.loads(text)["n"] == 1


def test_an_older_file_is_never_written_into(tmp_path: Path) -> None:
    written(tmp_path, [{"n": 1}])
    with pytest.raises(FileExistsError):
        LineFile(tmp_path / "written")
