"""The words for Docker's client: what is in them and what must never be. No engine is asked."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.command import located
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.sandbox.bwrap import Layout
from devops_bench.agents.sandbox.docker import (
    environment,
    locked_down,
    mount,
    mounts,
    program,
    search_path,
)
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.core.errors import AgentError, InvalidInputError

HERE = Path("/here")
PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1)


def layout(**fields: object) -> Layout:
    return Layout(HERE / "home", HERE / "work", HERE / "etc", **fields)  # type: ignore[arg-type]


def mounted(words: list[str]) -> dict[str, tuple[str, bool]]:
    """Return what is mounted where, and whether it can be written."""
    found = {}
    for word, value in itertools.pairwise(words):
        if word == "--mount":
            fields = next(csv.reader([value]))
            named = dict(field.partition("=")[::2] for field in fields)
            found[named["target"]] = (named["source"], "readonly" not in named)
    return found


def test_only_its_home_and_its_folder_can_be_written() -> None:
    words = mounts(layout(readable=(HERE / "docs",), path_prefix=(HERE / "bin",)))
    found = mounted(words)
    assert {target for target, (_, writable) in found.items() if writable} == {
        "/agent/home",
        "/agent/workspace",
    }
    assert found["/agent/workspace"] == ("/here/work", True)
    assert found["/here/docs"] == ("/here/docs", False)
    assert found["/agent/bin/0"] == ("/here/bin", False)
    assert "--read-only" in locked_down("n", "s")


@given(PATHS, PATHS)
def test_a_path_is_mounted_whatever_it_is_called(source: str, target: str) -> None:
    found = mounted(mount(Path("/x") / source, f"/y/{target}"))
    assert found == {f"/y/{target}": (str(Path("/x") / source), False)}


def test_what_is_hidden_is_masked_where_it_was_opened_and_only_there() -> None:
    hidden = (HERE / "docs/key", Path("/specs"))
    found = mounted(mounts(layout(readable=(HERE / "docs",), hidden=hidden)))
    assert found["/here/docs/key"] == ("/here/etc/empty", False)
    assert "/specs" not in found
    both = mounted(mounts(layout(readable=(HERE / "docs",), hidden=(HERE / "docs",))))
    assert both["/here/docs"] == ("/here/etc/empty", False)


NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)


@given(st.dictionaries(NAMES, st.text(min_size=1)))
def test_no_value_is_a_word_of_the_command_line(variables: dict[str, str]) -> None:
    inside = {name: f"secret-{value}" for name, value in variables.items() if name != "PATH"}
    words, env = environment(inside, {"PATH": "/bin"})
    assert not any("secret-" in word for word in words)
    assert {name: env[name] for name in inside} == inside
    assert set(inside) <= set(words)


def test_a_proxy_of_the_clients_is_not_the_agents_unless_it_was_given_one() -> None:
    words, env = environment({"http_proxy": "http://given"}, {"HTTPS_PROXY": "http://secret@x"})
    assert "HTTPS_PROXY" not in env
    assert env["http_proxy"] == "http://given"
    assert {"HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "NO_PROXY"} <= set(words)


def test_a_variable_that_the_client_needs_otherwise_is_refused() -> None:
    client = {"DOCKER_HOST": "unix:///ours"}
    with pytest.raises(AgentError, match="DOCKER_HOST"):
        environment({"DOCKER_HOST": "unix:///theirs"}, client)
    assert environment({"DOCKER_HOST": "unix:///ours"}, client)[1] == client


def test_its_path_is_what_is_ours_in_it_and_then_that_of_the_image() -> None:
    one = layout(path_prefix=(HERE / "bin",), readable=(Path("/opt/tools"),))
    ours = "/here/bin:/opt/tools/bin:/usr/bin:/root/bin"
    assert search_path(one, ours, "/of/the/image") == "/agent/bin/0:/opt/tools/bin:/of/the/image"
    own = layout(kubectl=Path("/mine/kubectl"))
    assert search_path(own, "/mine", "/i") == "/agent/bin/own:/i"
    assert program(["kubectl", "get", "/here/work/x"], own) == [
        "/agent/bin/own/kubectl",
        "get",
        "/agent/workspace/x",
    ]


def test_a_program_of_the_image_is_not_looked_up_here(tmp_path: Path) -> None:
    sandbox = SandboxOptions("docker")
    options = AgentOptions(sandbox=sandbox, search_path="/nowhere", base_dir=tmp_path)
    assert located("some-cli", options) == "some-cli"
    assert located("/usr/bin/some-cli", options) == "/usr/bin/some-cli"
    with pytest.raises(InvalidInputError, match="does not exist"):
        located("./some-cli", options)
