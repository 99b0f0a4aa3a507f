"""Slots: numbered sets of containers, each used by one run at a time, on the whole machine."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from devops_bench.core.errors import DevopsBenchError, InvalidInputError

STATE_VARIABLE: Final = "DEVOPS_BENCH_STATE"
"""Names the folder of what outlives a command; the user's state folder without it."""

_POLL_SEC: Final = 0.1
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.-]")


def slots_dir() -> Path:
    """Return the folder of the lock files; nothing is created."""
    given = os.environ.get(STATE_VARIABLE, "")
    if given:
        return Path(given).expanduser().absolute() / "slots"
    import platformdirs  # late: `verify --help` must not pay for it

    return Path(platformdirs.user_state_dir("devops-bench")) / "slots"


def read_slots(text: str) -> tuple[int, ...]:
    """Return the numbers of ``0,1,2``.

    Raises:
        InvalidInputError: One is no number ≥ 0, or is there twice.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", word) for word in words):
        raise InvalidInputError(f"--slot {text!r} should be numbers with commas between: 0,1,2")
    slots = tuple(int(word) for word in words)
    if len(set(slots)) < len(slots):
        raise InvalidInputError(f"--slot {text!r} names a slot twice")
    return slots


@contextmanager
def leased_slot(
    slots: Sequence[int],
    *,
    prefix: str,
    give_up: Callable[[], bool],
    waiting: Callable[[], None] = lambda: None,
    folder: Path | None = None,
) -> Iterator[int | None]:
    """Wait for any of ``slots`` and keep it, against every other process of this user.

    The lease is a lock on a file: the system ends it when this process dies, however it dies.

    Args:
        slots: The slots to choose from, at least one.
        prefix: The prefix of their containers; another prefix is another set of containers.
        give_up: Asked several times a second whether to stop waiting.
        waiting: Called once, when no slot is free.
        folder: Where the locks are, :func:`slots_dir` when it is ``None``.

    Yields:
        The slot, ``None`` when the waiting was given up.

    Raises:
        DevopsBenchError: The lock files cannot be made.
    """
    lease = _acquire(slots, prefix, give_up, waiting, slots_dir() if folder is None else folder)
    if lease is None:
        yield None
        return
    slot, release = lease
    try:
        yield slot
    finally:
        release()


def _acquire(
    slots: Sequence[int],
    prefix: str,
    give_up: Callable[[], bool],
    waiting: Callable[[], None],
    folder: Path,
) -> tuple[int, Callable[[], None]] | None:
    import filelock  # late: `verify --help` must not pay for it

    name = _UNSAFE.sub("_", prefix)
    pause = threading.Event()
    told = False
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        locks = {slot: filelock.FileLock(folder / f"{name}_{slot}.lock") for slot in slots}
        while not give_up():
            for slot, lock in locks.items():
                try:
                    lock.acquire(blocking=False)
                except filelock.Timeout:
                    continue
                return slot, lock.release
            if not told:
                told = True
                waiting()
            pause.wait(_POLL_SEC)
    except OSError as exc:
        raise DevopsBenchError(f"the locks of the slots in {folder} cannot be made: {exc}") from exc
    return None
