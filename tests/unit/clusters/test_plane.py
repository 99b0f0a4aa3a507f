"""A plane that does not start says which component is to blame, and leaves nothing behind.

The components are stand-ins here: the real ones are started by the integration tests.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from devops_bench.clusters import components, pki, plane, state
from devops_bench.clusters.binaries import Binaries
from devops_bench.clusters.components import Ports
from devops_bench.clusters.rest import Answer, Loopback
from devops_bench.clusters.state import Kind
from devops_bench.core.errors import ClusterError
from tests.unit.clusters import standins
from tests.unit.clusters.standins import Machine, stand_in

WAIT = "exec sleep 600"


@pytest.fixture
def stand_in_binaries(machine: Machine) -> Binaries:
    folder = machine.root / "bin"
    for name in standins.VERSIONS:
        stand_in(folder / name, WAIT)
    standins.write_stages(folder / "stages")
    return Binaries(folder, folder / "stages", {"kube-apiserver": "v1.36.3"}, "a test")


def test_a_component_that_dies_is_quoted_and_everything_else_ended(
    machine: Machine, stand_in_binaries: Binaries
) -> None:
    stand_in(
        stand_in_binaries.program("kube-apiserver"), "echo first; echo 'no such flag' >&2; exit 3"
    )
    logs = machine.root / "run"

    with pytest.raises(ClusterError) as caught:
        plane.start("shop", Kind.RUN, stand_in_binaries, keep_logs_in=logs)

    assert "kube-apiserver died at the start (exit code 3)" in str(caught.value)
    assert "no such flag" in str(caught.value)
    assert (logs / "kube-apiserver.log").read_text() == "first\nno such flag\n"
    assert state.names() == []


def test_a_plane_that_does_not_answer_is_given_up(stand_in_binaries: Binaries) -> None:
    with pytest.raises(
        ClusterError, match=r"still waiting until the API server is ready: .*refused"
    ):
        plane.start("shop", Kind.RUN, stand_in_binaries, timeout_sec=0.2)

    assert state.names() == []


def test_a_program_that_cannot_run_is_named(stand_in_binaries: Binaries) -> None:
    stand_in_binaries.program("etcd").write_bytes(b"\x7fELF for another machine")

    with pytest.raises(ClusterError, match="etcd could not be started"):
        plane.start("shop", Kind.RUN, stand_in_binaries)

    assert state.names() == []


def test_a_port_that_was_taken_meanwhile_is_chosen_again(
    machine: Machine, stand_in_binaries: Binaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = machine.root / "starts"
    stand_in(
        stand_in_binaries.program("etcd"),
        f"echo start >> {counter}; echo 'bind: address already in use' >&2; exit 1",
    )
    chosen: list[Ports] = []

    def remember() -> Ports:
        chosen.append(Ports(*range(len(chosen) * 4 + 20000, len(chosen) * 4 + 20004)))
        return chosen[-1]

    monkeypatch.setattr(components, "free_ports", remember)

    with pytest.raises(plane.PortTakenError, match="etcd found its port taken"):
        plane.start("shop", Kind.RUN, stand_in_binaries)

    assert len(set(chosen)) == len(counter.read_text().splitlines()) == 5
    assert state.names() == []


def test_a_name_that_is_taken_is_not_touched(stand_in_binaries: Binaries) -> None:
    mine = state.claim("shop", Kind.UP)

    with pytest.raises(ClusterError, match="already"):
        plane.start("shop", Kind.RUN, stand_in_binaries)

    assert state.read("shop") == mine


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert plane.tail(log) == []

    log.write_text("".join(f"line {number}\n\n" for number in range(100)))

    assert plane.tail(log)[-1] == "line 99"
    assert len(plane.tail(log)) == 12


def test_a_server_that_does_not_speak_tls_is_no_answer(tmp_path: Path) -> None:
    keys = pki.create(tmp_path, "10.96.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        server.close()
        answer = Loopback(port, keys.ca).get("/readyz")

    assert answer.status == 0
    assert not answer.ok
    assert answer.body


@pytest.mark.parametrize(
    ("body", "parsed"), [("{}", {}), ('{"a": 1}', {"a": 1}), ("[1]", {}), ("no", {}), ("", {})]
)
def test_an_answer_is_an_object_or_nothing(body: str, parsed: dict[str, int]) -> None:
    assert Answer(200, body).json() == parsed
