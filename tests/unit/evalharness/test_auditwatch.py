"""What of the audit log may be missing; on a real plane it is tested in tests/integration."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path

import pytest

from devops_bench.evalharness import auditwatch
from devops_bench.evalharness.auditwatch import AuditWatch, writers
from devops_bench.evalharness.logwatch import LogWatch
from devops_bench.evalharness.requests import Parties

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
OURS = "devops-bench/1f"
PARTIES = Parties("admin", "agent", START, START + dt.timedelta(seconds=9), OURS)


def line(sec: float, user: str, client: str) -> bytes:
    at = (START + dt.timedelta(seconds=sec)).isoformat()
    event = {
        "auditID": f"{user}-{sec}",
        "stage": "ResponseComplete",
        "verb": "get",
        "user": {"username": user},
        "userAgent": client,
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": at,
        "stageTimestamp": at,
    }
    return json.dumps(event).encode() + b"\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # These tests write the log themselves, as the server would.
    monkeypatch.setattr(auditwatch, "writers", lambda _: [os.getpid()])
    monkeypatch.setattr(auditwatch, "_LAST_REQUEST_SEC", 0.2)
    found = tmp_path / "audit.log"
    found.write_bytes(line(0, "before", ""))
    return found


def append(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def test_a_log_that_has_our_last_request_is_whole(path: Path) -> None:
    watch = AuditWatch(path)
    with watch.following():
        append(path, line(5, "agent", "kubectl"))
    append(path, line(10, "admin", OURS))
    assert [event.user for event in watch.read(PARTIES)] == ["agent", "admin"]
    assert watch.problem == ""
    watch.close()


@pytest.mark.parametrize("last", [(8, "admin", OURS), (10, "admin", "devops-bench")])
def test_a_log_without_it_is_not_known_to_be(path: Path, last: tuple[float, str, str]) -> None:
    watch = AuditWatch(path)
    with watch.following():
        append(path, line(*last))
    assert len(watch.read(PARTIES)) == 1
    assert "lacks a request of the harness" in watch.problem
    watch.close()


def test_what_was_read_in_the_turn_must_still_be_there(path: Path) -> None:
    watch = AuditWatch(path)
    size = path.stat().st_size
    with watch.following():
        append(path, line(5, "agent", "kubectl"))
        watch._log.read()
        os.truncate(path, size)
        append(path, line(6, "other", "kubectl"))
    append(path, line(10, "admin", OURS))
    watch.read(PARTIES)
    assert "audit log" in watch.problem
    watch.close()


def test_who_could_change_it_unseen_may_have_done_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(self: LogWatch) -> None:
        self.why_not = "fanotify cannot be used: Operation not permitted"

    monkeypatch.setattr(LogWatch, "start", blind)
    watch = AuditWatch(path)
    with watch.following():
        append(path, line(5, "agent", "kubectl"))
    append(path, line(10, "admin", OURS))
    watch.read(PARTIES)
    assert watch.problem == ""
    assert "whether it did was not seen: fanotify" in watch.why_unwatched(confined=False)
    assert watch.why_unwatched(confined=True) == ""
    watch.close()


def test_the_server_is_known_by_its_name_and_by_the_file_that_it_has_open(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    with log.open("ab"):
        assert auditwatch._has_open(os.getpid(), log) is True
        assert writers(log) == []  # this is no API server
    assert auditwatch._has_open(os.getpid(), log) is False
