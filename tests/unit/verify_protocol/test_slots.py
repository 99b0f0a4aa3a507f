"""Leases of slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.errors import DevopsBenchError, InvalidInputError
from devops_bench.verify_protocol.slots import leased_slot, read_slots


def never() -> bool:
    return False


@pytest.mark.parametrize(("text", "slots"), [("0", (0,)), ("2, 0,11", (2, 0, 11))])
def test_slots(text: str, slots: tuple[int, ...]) -> None:
    assert read_slots(text) == slots


@pytest.mark.parametrize("text", ["", "a", "-1", "0,,1", "1.0", "0,0", "0,00", "\u0663"])
def test_what_is_no_slot(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--slot"):
        read_slots(text)


def test_a_slot_is_leased_once_and_comes_back(tmp_path: Path) -> None:
    told: list[str] = []
    with leased_slot([0, 1], prefix="p", give_up=never, folder=tmp_path) as first:
        with leased_slot([0, 1], prefix="p", give_up=never, folder=tmp_path) as second:
            asked = iter([False, False, True])
            with leased_slot(
                [0, 1],
                prefix="p",
                give_up=lambda: next(asked),
                waiting=lambda: told.append("waiting"),
                folder=tmp_path,
            ) as third:
                assert (first, second, third) == (0, 1, None)
        with leased_slot([1], prefix="p", give_up=never, folder=tmp_path) as again:
            assert again == 1
    assert told == ["waiting"]


def test_another_prefix_is_another_set_of_containers(tmp_path: Path) -> None:
    with (
        leased_slot([0], prefix="p", give_up=never, folder=tmp_path) as one,
        leased_slot([0], prefix="../q", give_up=never, folder=tmp_path) as other,
    ):
        assert (one, other) == (0, 0)
    assert all(file.parent == tmp_path for file in tmp_path.rglob("*"))


def test_a_lease_ends_with_an_error_of_its_user(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="mine"),
        leased_slot([0], prefix="p", give_up=never, folder=tmp_path),
    ):
        raise OSError("mine")
    with leased_slot([0], prefix="p", give_up=never, folder=tmp_path) as slot:
        assert slot == 0


def test_locks_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(DevopsBenchError, match="cannot be made"),
        leased_slot([0], prefix="p", give_up=never, folder=tmp_path / "file" / "x"),
    ):
        pass
