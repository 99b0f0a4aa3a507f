from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest
import yaml

from devops_bench.core.errors import ClusterError, InvalidInputError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.kubeconfig import load_connection, minimal_kubeconfig


def write(path: Path, user: JsonObject | None = None, cluster: JsonObject | None = None) -> Path:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://one/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [
            {"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "shop"}},
            {"name": "other", "context": {"cluster": "gone", "user": "u"}},
            {"name": "third", "context": {"cluster": "c", "user": "gone"}},
        ],
        "current-context": "main",
    }
    path.write_text(yaml.safe_dump(config))
    return path


def test_the_current_context_is_used(tmp_path: Path) -> None:
    config = load_connection(write(tmp_path / "kc", {"token": "t0ken"}))
    assert config.server == "http://one"
    assert config.headers() == {"Authorization": "Bearer t0ken"}
    assert config.ssl_context is None
    assert "t0ken" not in repr(config)
    assert "'main'" in config.source
    assert str(tmp_path / "kc") in config.source


def test_impersonation_is_heeded(tmp_path: Path) -> None:
    config = load_connection(write(tmp_path / "kc", {"token": "t", "as": "jane"}))
    assert config.headers() == {"Authorization": "Bearer t", "Impersonate-User": "jane"}
    with pytest.raises(InvalidInputError, match="as-groups"):
        load_connection(write(tmp_path / "kc", {"token": "t", "as": "jane", "as-groups": ["g"]}))


def test_a_proxy_of_the_environment_is_not_heeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert load_connection(write(tmp_path / "kc")).proxy_url is None
    own = write(tmp_path / "kc", cluster={"proxy-url": "http://proxy:3128"})
    assert load_connection(own).proxy_url == "http://proxy:3128"


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ("nope", "no context 'nope'; its contexts: main, other, third"),
        ("other", "cluster 'gone'"),
        ("third", "user 'gone'"),
    ],
)
def test_a_wrong_context_says_what_there_is(tmp_path: Path, context: str, says: str) -> None:
    file = write(tmp_path / "kc")
    with pytest.raises(InvalidInputError, match=says) as caught:
        load_connection(file, context)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: b: c", r"not valid YAML \(line 1\)"),
        ("- a", "not a YAML mapping"),
        ("contexts: 1", "contexts of the kubeconfig .* is not a list"),
        ("contexts: [a]", "has no name"),
        ("{}", "no current context; its contexts: none"),
    ],
)
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "kc"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=says):
        load_connection(file)


def test_a_broken_file_does_not_show_its_tokens(tmp_path: Path) -> None:
    file = tmp_path / "kc"
    file.write_text("users:\n- name: u\n  user: {token: 'my-secret\n")
    with pytest.raises(InvalidInputError) as caught:
        load_connection(file)
    assert "my-secret" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"there is no kubeconfig {tmp_path / 'nope'}"):
        load_connection(tmp_path / "nope")


def test_the_variable_names_several_files_and_the_first_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    first = write(tmp_path / "sub" / "first", {"tokenFile": "token"})
    (tmp_path / "sub" / "token").write_text("from-file")
    second = write(tmp_path / "second", {"token": "second"}, {"server": "http://two"})
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["", str(first), str(second), "/no/such"]))
    config = load_connection()
    assert config.server == "http://one"
    assert config.headers() == {"Authorization": "Bearer from-file"}
    assert config.renewable


def plugin(path: Path, body: str) -> JsonObject:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": f"./{path.name}",
            "interactiveMode": "Never",
        }
    }


def test_a_plug_in_gives_the_token(tmp_path: Path) -> None:
    answer = (
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
        '"status":{"token":"from-plugin"}}'
    )
    user = plugin(tmp_path / "login", f"echo '{answer}'")
    assert load_connection(write(tmp_path / "kc", user)).headers() == {
        "Authorization": "Bearer from-plugin"
    }


def test_a_plug_in_that_fails_is_no_anonymous_connection(tmp_path: Path) -> None:
    user = plugin(tmp_path / "login", "exit 3")
    with pytest.raises(ClusterError, match=r"plug-in '.*/login' .* gave no credentials"):
        load_connection(write(tmp_path / "kc", user))


def test_certificates_that_cannot_be_loaded(tmp_path: Path) -> None:
    cluster: JsonObject = {"server": "https://one", "certificate-authority-data": "bm8="}
    with pytest.raises(InvalidInputError, match="certificates of context 'main'"):
        load_connection(write(tmp_path / "kc", cluster=cluster))
    cluster = {"server": "https://one", "certificate-authority": "missing.crt"}
    with pytest.raises(InvalidInputError, match=r"missing\.crt"):
        load_connection(write(tmp_path / "kc", cluster=cluster))


def test_verification_of_the_server(tmp_path: Path) -> None:
    cluster: JsonObject = {"server": "https://one"}
    checked = load_connection(write(tmp_path / "kc", cluster=cluster)).ssl_context
    assert checked is not None
    assert (checked.verify_mode, checked.check_hostname) == (ssl.CERT_REQUIRED, True)
    cluster = {"server": "https://one", "insecure-skip-tls-verify": True, "tls-server-name": "x"}
    config = load_connection(write(tmp_path / "kc", cluster=cluster))
    assert config.ssl_context is not None
    assert config.ssl_context.verify_mode == ssl.CERT_NONE
    assert config.server_hostname == "x"


def test_a_minimal_kubeconfig_holds_one_context_and_works_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "token").write_text("t")
    source = write(tmp_path / "sub" / "kc", {"tokenFile": "token"})
    text = minimal_kubeconfig(source)
    copy = tmp_path / "copy"
    copy.write_text(text)
    config = yaml.safe_load(text)
    assert [item["name"] for item in config["contexts"]] == ["main"]
    assert config["contexts"][0]["context"]["namespace"] == "shop"
    assert load_connection(copy).headers() == {"Authorization": "Bearer t"}
    with pytest.raises(InvalidInputError, match="its contexts: main"):
        load_connection(copy, "other")
