from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.boundedfile import BoundedFile


@given(st.lists(st.binary(max_size=20)), st.integers(0, 50))
def test_what_is_kept_and_what_is_counted_are_all_of_it(chunks: list[bytes], room: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out")
        file = BoundedFile(path, room)
        for chunk in chunks:
            file.write(chunk)
        file.close()
        data = b"".join(chunks)
        assert path.read_bytes() == data[:room]
        assert file.dropped == len(data) - len(data[:room])
        assert file.fault == ""


def test_a_full_disk_is_told_and_counted() -> None:
    file = BoundedFile(Path("/dev/full"), 100)
    file.write(b"x" * 10)
    file.write(b"y" * 5)
    file.close()
    assert file.dropped == 15
    assert "No space left" in file.fault


def test_a_short_write_is_counted_as_what_it_was(tmp_path: Path) -> None:
    # The limit is the process's, so that it takes a process of its own.
    code = """
import resource, sys
from pathlib import Path
from devops_bench.core.boundedfile import BoundedFile
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
file = BoundedFile(Path(sys.argv[1]), 10_000)
file.write(b"a" * 600)
file.write(b"b" * 600)
file.write(b"c" * 600)
file.close()
print(file.dropped, file.fault)
"""
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)], capture_output=True, text=True, check=True
    )
    assert out.read_bytes() == b"a" * 600 + b"b" * 400
    assert done.stdout == "800 File too large\n"


def test_closing_twice_is_safe(tmp_path: Path) -> None:
    file = BoundedFile(tmp_path / "out", 1)
    file.close()
    file.close()
    assert file.fault == ""
