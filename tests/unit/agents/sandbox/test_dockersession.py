"""What a session makes of the daemon's answers.

The client is a stand-in; a real one is asked in ``test_docker_engine``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import cast

import pytest

from devops_bench.agents.sandbox.bwrap import Layout
from devops_bench.agents.sandbox.docker import DEFAULT_PATH, Image
from devops_bench.agents.sandbox.dockernetwork import DockerNetwork
from devops_bench.agents.sandbox.dockersession import DockerSession, container_user, find_image
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.sandbox.session import Launch
from devops_bench.core.containers import DockerClient
from devops_bench.core.errors import AgentError, ContainerError
from devops_bench.core.json import JsonObject

LAUNCH = Launch(["docker"], {}, "one")


class Answers:
    """Answers each command by its first word, and remembers what it was asked."""

    def __init__(self, **answers: str | ContainerError) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def ask(self, *words: str, **_: object) -> str:
        self.asked.append(" ".join(words[:2]))
        answer = self.answers.get(words[0], "")
        if isinstance(answer, ContainerError):
            raise answer
        return answer


def session(client: Answers, tmp_path: Path) -> DockerSession:
    return DockerSession(
        SandboxOptions("docker", image="i"),
        Layout(tmp_path, tmp_path, tmp_path),
        (),
        cast("DockerClient", client),
        Image("id", "i@sha256:1", DEFAULT_PATH),
        cast("DockerNetwork", None),
        "s",
        "1:1",
    )


def state(**fields: object) -> str:
    return json.dumps([{"State": fields}])


def test_the_exit_code_is_the_daemons(tmp_path: Path) -> None:
    client = Answers(container=state(Status="exited", Running=False, ExitCode=125))
    assert session(client, tmp_path).finish(LAUNCH) == 125
    assert client.asked[-1] == "rm --force"


def test_one_that_still_runs_is_stopped_and_removed(tmp_path: Path) -> None:
    client = Answers(container=state(Status="running", Running=True, ExitCode=0))
    session(client, tmp_path).finish(LAUNCH, asked=True)
    assert client.asked == ["container inspect", "stop --time", "container inspect", "rm --force"]


@pytest.mark.parametrize(
    "answer",
    [state(Status="created", Error="no such file"), ContainerError("Error: No such container: x")],
)
def test_one_that_never_started_is_an_error_unless_we_ended_it(
    tmp_path: Path, answer: str | ContainerError
) -> None:
    one = session(Answers(container=answer), tmp_path)
    with pytest.raises(AgentError, match="could not be started in i@sha256:1"):
        one.finish(LAUNCH)
    assert one.finish(LAUNCH, asked=True) is None


@pytest.mark.parametrize(
    "answers",
    [
        {"container": ContainerError("no daemon")},
        {"container": state(Status="exited", ExitCode=0), "rm": ContainerError("no daemon")},
        {"container": "[]"},
    ],
)
def test_an_end_that_nobody_saw_is_an_error(
    tmp_path: Path, answers: dict[str, str | ContainerError]
) -> None:
    with pytest.raises(AgentError, match="was not observed"):
        session(Answers(**answers), tmp_path).finish(LAUNCH)


def image(**fields: object) -> Image:
    body: JsonObject = {"Os": "linux", "Id": "sha256:0", **fields}  # type: ignore[dict-item]
    return find_image(cast("DockerClient", Answers(image=json.dumps(body))), "name:1")


def test_an_image_is_told_with_its_digest_and_started_by_its_id() -> None:
    one = image(RepoDigests=["name@sha256:9"], Config={"Env": ["A=b", "PATH=/x:/y"]})
    assert one == Image("sha256:0", "name@sha256:9", "/x:/y")
    assert image(RepoDigests=[], Config=None) == Image(
        "sha256:0", "name:1 (sha256:0)", DEFAULT_PATH
    )
    with pytest.raises(ContainerError, match="is for windows"):
        image(Os="windows")


def test_with_a_daemon_without_root_a_containers_root_is_this_user() -> None:
    rootless = Answers(info='["name=seccomp,profile=builtin","name=rootless"]')
    assert container_user(cast("DockerClient", rootless)) == "0:0"
    rooted = Answers(info='["name=seccomp,profile=builtin"]')
    assert container_user(cast("DockerClient", rooted)) == f"{os.getuid()}:{os.getgid()}"
