"""What may be reached, and where an agent finds it."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.sandbox.doors import api_servers, hosts_file, make_doors
from devops_bench.agents.sandbox.options import (
    Endpoint,
    parse_endpoint,
    require_resolvable,
)
from devops_bench.core.errors import AgentError, InvalidInputError


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("api.openai.com", Endpoint("api.openai.com", 443)),
        ("API.OpenAI.com.:8443", Endpoint("api.openai.com", 8443)),
        ("10.0.0.5", Endpoint("10.0.0.5", 443)),
        ("10.0.0.5:80", Endpoint("10.0.0.5", 80)),
        ("fd00::1", Endpoint("fd00::1", 443)),
        ("[fd00::1]:6443", Endpoint("fd00::1", 6443)),
        ("[fd00::1]", Endpoint("fd00::1", 443)),
        ("localhost:1", Endpoint("localhost", 1)),
        ("host1", Endpoint("host1", 443)),
    ],
)
def test_a_host_is_understood(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(text) == endpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "https://api.openai.com",
        "*.openai.com",
        "10.0.0.0/8",
        "a:b",
        "a:0",
        "a:65536",
        "a:",
        "a b",
        "-a",
        "10.0.0",
        "a:٣",
        "[::1]:x",
        "a..b",
        "a\n",
    ],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--allow-host"):
        parse_endpoint(text)


@pytest.mark.parametrize("fault", [socket.gaierror(-2, "Name not known"), UnicodeError("label")])
def test_a_name_without_an_address_is_told_before_the_turn(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(InvalidInputError, match=r"a\.example:443: a\.example does not resolve"):
        require_resolvable(Endpoint("a.example", 443))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "192.0.2.1"])
def test_what_has_an_address_is_not_asked_whether_it_answers(host: str) -> None:
    require_resolvable(Endpoint(host, 1))


@given(st.text(max_size=30))
def test_any_text_is_a_host_or_is_refused(text: str) -> None:
    try:
        endpoint = parse_endpoint(text)
    except InvalidInputError:
        return
    assert parse_endpoint(str(endpoint)) == endpoint


hosts = st.sampled_from(["a.example", "b.example", "localhost", "10.0.0.5", "fd00::1", "127.0.0.1"])
targets = st.lists(st.builds(Endpoint, hosts, st.integers(1, 3)), max_size=8)


@given(targets)
def test_every_target_has_one_door_and_no_two_share_one(wanted: list[Endpoint]) -> None:
    doors = make_doors(wanted)
    assert [door.target for door in doors] == list(dict.fromkeys(wanted))
    names = {door.listen: door.target for door in doors}
    for door in doors:
        address = ipaddress.ip_address(door.listen.host)
        named = door.target.host not in (door.listen.host, "localhost")
        assert not named or address.is_loopback
        assert door.listen.port == door.target.port
        # 127.0.0.1 and localhost are one host, here as there.
        assert named is False or names[door.listen] == door.target
    text = hosts_file(doors)
    for door in doors:
        assert door.target.host == door.listen.host or f" {door.target.host}\n" in text


class TestApiServers:
    def test_each_cluster_of_the_kubeconfig_is_one(self, tmp_path: Path) -> None:
        (tmp_path / "k").write_text(
            "clusters:\n- cluster: {server: 'https://10.0.0.5:6443'}\n"
            "- cluster: {server: 'https://k8s.example/path'}\n- cluster: {server: 'http://a'}\n"
            "- {}\n"
        )
        assert api_servers(tmp_path / "k") == (
            Endpoint("10.0.0.5", 6443),
            Endpoint("k8s.example", 443),
            Endpoint("a", 80),
        )
        assert api_servers(None) == ()

    @pytest.mark.parametrize("text", ["{", "clusters: [{cluster: {server: nothing}}]"])
    def test_what_cannot_be_read_is_said(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "k").write_text(text)
        with pytest.raises(AgentError, match="kubeconfig"):
            api_servers(tmp_path / "k")
