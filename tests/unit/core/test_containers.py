"""What is asked of Docker's client, which is a stand-in here: a script that answers as told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.core.containers import LABEL, NOTE, DockerClient, remove_abandoned
from devops_bench.core.errors import ContainerError

MakeClient = Callable[[str], DockerClient]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeClient:
    """Put a ``docker`` on the PATH that writes down what it is asked and answers by a script."""

    def make(script: str) -> DockerClient:
        file = tmp_path / "docker"
        file.write_text(f'#!/bin/sh\ncd {tmp_path}\necho "$DOCKER_HOST $*" >> asked\n{script}\n')
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setenv("DOCKER_HOST", "unix:///ours")
        return DockerClient.find()

    return make


def test_without_docker_it_is_said() -> None:
    with pytest.raises(ContainerError, match="docker is not installed"):
        DockerClient.find({"PATH": "/nowhere"})


def test_it_gets_what_it_needs_for_itself_and_nothing_else(stand_in: MakeClient) -> None:
    stand_in("exit 0")
    found = DockerClient.find({"PATH": "/nowhere:/usr/bin", "HTTPS_PROXY": "x", "SECRET": "x"})
    assert set(found.env) == {"PATH"}


def test_what_it_says_last_is_what_is_wrong(stand_in: MakeClient) -> None:
    hint = "Run 'docker run --help' for more information"
    client = stand_in(f'printf "first\\nno daemon\\n\\n{hint}\\n" >&2; exit 1')
    with pytest.raises(ContainerError, match=r"docker version: no daemon$"):
        client.ask("version")


def test_a_daemon_that_does_not_answer_in_time_counts_as_gone(stand_in: MakeClient) -> None:
    client = stand_in("exec sleep 99")
    with pytest.raises(ContainerError, match=r"did not answer within 0\.2 s"):
        client.ask("version", timeout_sec=0.2)


def test_what_was_not_seen_to_be_gone_is_an_error(stand_in: MakeClient) -> None:
    """It says that it removed the container, and lists it all the same."""
    client = stand_in('[ "$1" = ps ] && echo c1; exit 0')
    with pytest.raises(ContainerError, match=f"label {LABEL}=s could not be removed"):
        client.remove("s")


def test_a_refusal_to_remove_does_not_count_when_the_container_is_gone(
    stand_in: MakeClient,
) -> None:
    client = stand_in('case $1 in ps) [ -e gone ] || echo "c1 c2";; rm) touch gone; exit 1; esac')
    assert client.remove("s") == 2


def test_what_went_wrong_goes_before_what_could_not_be_removed(stand_in: MakeClient) -> None:
    client = stand_in('[ "$1" = ps ] && echo c1; exit 0')
    with pytest.raises(ZeroDivisionError), client.removing("s"):
        raise ZeroDivisionError
    with pytest.raises(ContainerError), client.removing("s"):
        pass


def test_a_killed_commands_containers_are_looked_for_at_its_own_daemon(
    stand_in: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = stand_in("case $1 in ps) [ -e gone ] || echo c1;; rm) touch gone; esac").notes("s")
    assert notes == {NOTE: "s", "DOCKER_HOST": "unix:///ours"}
    monkeypatch.setenv("DOCKER_HOST", "unix:///another")
    assert remove_abandoned(notes) == ["1 container(s) of that run were removed"]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[1] == "unix:///ours rm --force --volumes c1"
    assert all(line.startswith("unix:///ours ") for line in asked)
    assert remove_abandoned({"kind_cluster": "x"}) == []


def test_what_cannot_be_removed_is_told_with_the_words_that_remove_it(
    stand_in: MakeClient,
) -> None:
    lines = remove_abandoned(stand_in("echo no daemon >&2; exit 1").notes("s"))
    assert "may still be there (docker ps: no daemon)" in lines[0]
    assert lines[1] == (
        f"  DOCKER_HOST=unix:///ours docker ps -aq --filter label={LABEL}=s"
        " | xargs env DOCKER_HOST=unix:///ours docker rm -fv"
    )
