from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.paths import resolve_below


def test_a_file_below_is_resolved(tmp_path: Path) -> None:
    assert resolve_below(tmp_path, "a/../b/c.yaml") == tmp_path.resolve() / "b" / "c.yaml"


@pytest.mark.parametrize(
    "relative", ["", "  ", ".", "a/..", "..", "../x", "a/../../x", "/etc/passwd", "a\0b"]
)
def test_a_path_that_does_not_stay_below_is_refused(tmp_path: Path, relative: str) -> None:
    with pytest.raises(InvalidInputError):
        resolve_below(tmp_path, relative)


def test_a_link_does_not_lead_out(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("x")
    (inside / "file").symlink_to(tmp_path / "secret")
    (inside / "folder").symlink_to(tmp_path)
    for relative in ("file", "folder/secret"):
        with pytest.raises(InvalidInputError, match="leaves the folder"):
            resolve_below(inside, relative)


def test_a_link_that_stays_below_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert resolve_below(tmp_path, "link") == tmp_path.resolve() / "real"


def test_the_folder_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    assert resolve_below(tmp_path / "link", "a") == real.resolve() / "a"


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InvalidInputError):
        resolve_below(tmp_path, "a/x/../../..")


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "/", ""]), max_size=8))
def test_whatever_is_returned_lies_below(parts: list[str]) -> None:
    folder = Path("/nonexistent/folder")
    try:
        found = resolve_below(folder, "/".join(parts))
    except InvalidInputError:
        return
    assert found != folder
    assert found.is_relative_to(folder)
