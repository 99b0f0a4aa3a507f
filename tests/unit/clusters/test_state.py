"""What is known of planes, and which of them are leftovers."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.clusters import state
from devops_bench.clusters.dirs import planes_dir
from devops_bench.clusters.state import Kind, PlaneState
from devops_bench.core.errors import ClusterError, InvalidInputError
from devops_bench.core.identity import ProcessIdentity
from tests.unit.clusters.conftest import wait_until_gone
from tests.unit.clusters.standins import Machine

GONE = ProcessIdentity(2**22 + 1, "never")


def me() -> ProcessIdentity:
    identity = ProcessIdentity.of(os.getpid())
    assert identity is not None
    return identity


def test_a_claimed_plane_is_private_and_read_back(machine: Machine) -> None:
    claimed = state.claim("shop", Kind.UP)

    assert claimed.folder == machine.state / "planes" / "shop"
    assert claimed.folder.stat().st_mode & 0o777 == 0o700
    assert (claimed.folder / state.STATE_FILE).stat().st_mode & 0o777 == 0o600
    assert state.read("shop") == claimed
    assert claimed.owner == me()


@pytest.mark.usefixtures("machine")
def test_everything_in_a_state_survives_the_file() -> None:
    full = replace(
        state.claim("shop", Kind.RUN),
        supervisor=GONE,
        components={"etcd": me(), "kwok": GONE},
        server="https://127.0.0.1:1",
        version="v1.36.3",
        binaries="/somewhere",
        ready=True,
    )
    state.write(full)

    assert state.read("shop") == full
    assert full.dead_components() == ["kwok"]


@pytest.mark.usefixtures("machine")
def test_a_name_is_taken_once() -> None:
    state.claim("shop", Kind.UP)

    with pytest.raises(ClusterError, match="there is a cluster 'shop' already"):
        state.claim("shop", Kind.RUN)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "UPPER", "-a", "a-", "a" * 64, "a b", ".lock", "ä"]
)
def test_a_name_that_could_leave_the_folder_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be a cluster's name"):
        state.check_name(name)


@given(st.text(max_size=70))
def test_an_accepted_name_is_one_plain_folder(name: str) -> None:
    try:
        state.check_name(name)
    except InvalidInputError:
        return
    assert Path(name).name == name
    assert name.isascii()
    assert name not in {".", ".."}
    assert len(name) <= 63


@pytest.mark.usefixtures("machine")
def test_a_free_name_is_the_wanted_one_unless_it_is_taken() -> None:
    assert state.free_name("shop") == "shop"
    state.claim("shop", Kind.UP)
    state.claim("shop-2", Kind.UP)
    assert state.free_name("shop") == "shop-3"


@pytest.mark.usefixtures("machine")
def test_a_plane_that_is_not_there_is_none() -> None:
    assert state.read("shop") is None
    assert state.names() == []
    assert state.planes() == []
    assert state.sweep() == []


@pytest.mark.parametrize(
    ("kind", "owner_lives", "supervisor_lives", "ready", "left_over"),
    [
        # The one who started it still holds it, whatever became of it.
        (Kind.RUN, True, True, True, False),
        (Kind.RUN, True, False, False, False),
        (Kind.UP, True, False, False, False),
        # A run's plane never outlives the run.
        (Kind.RUN, False, True, True, True),
        (Kind.RUN, False, False, True, True),
        # `cluster up` ends, its plane lives on.
        (Kind.UP, False, True, True, False),
        (Kind.UP, False, False, True, True),
        # `cluster up` was killed before the plane was ready: nobody will use it.
        (Kind.UP, False, True, False, True),
    ],
)
def test_what_counts_as_left_over(
    kind: Kind, owner_lives: bool, supervisor_lives: bool, ready: bool, left_over: bool
) -> None:
    plane = PlaneState(
        name="shop",
        kind=kind,
        owner=me() if owner_lives else GONE,
        created="",
        supervisor=me() if supervisor_lives else GONE,
        ready=ready,
    )

    assert plane.left_over is left_over


@pytest.mark.usefixtures("machine")
def test_a_leftover_is_reported_and_removed_with_its_processes() -> None:
    orphan = subprocess.Popen(["/bin/sleep", "600"])
    bystander = subprocess.Popen(["/bin/sleep", "600"])
    identity = ProcessIdentity.of(orphan.pid)
    assert identity is not None
    # A process id that now is somebody else's.
    recycled = ProcessIdentity(bystander.pid, "another boot:1")
    left = replace(
        state.claim("run-1", Kind.RUN),
        owner=GONE,
        components={"etcd": identity, "kwok": recycled},
    )
    state.write(left)
    kept = state.claim("mine", Kind.RUN)

    lines = state.sweep()

    assert len(lines) == 1
    assert "'run-1' of a run that was killed" in lines[0]
    assert "ended its etcd and removed" in lines[0]
    assert wait_until_gone(identity)
    assert bystander.poll() is None
    assert not left.folder.exists()
    assert kept.folder.exists()
    assert state.sweep() == []
    bystander.kill()
    bystander.wait()
    orphan.wait()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name": "../x"}', '{"name": 3}'])
def test_a_broken_state_is_reported_and_removed(machine: Machine, content: str) -> None:
    folder = planes_dir() / "broken"
    folder.mkdir(parents=True)
    (folder / state.STATE_FILE).write_text(content)

    with pytest.raises((ClusterError, InvalidInputError)):
        state.read("broken")
    assert state.planes() == []
    lines = state.sweep()

    assert len(lines) == 1
    assert not folder.exists()


@pytest.mark.usefixtures("machine")
def test_a_folder_without_a_state_is_reported_and_removed() -> None:
    (planes_dir() / "empty").mkdir(parents=True)

    assert "holds no cluster" in state.sweep()[0]
    assert state.names() == []


@pytest.mark.usefixtures("machine")
def test_a_state_that_names_no_process_is_broken() -> None:
    claimed = state.claim("shop", Kind.UP)
    path = claimed.folder / state.STATE_FILE
    document = json.loads(path.read_text())
    document["components"] = {"etcd": {"pid": "1; rm", "started": 3}}
    path.write_text(json.dumps(document))

    with pytest.raises(ClusterError, match="cannot be read"):
        state.read("shop")
