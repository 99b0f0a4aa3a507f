"""What an agent prints of the credentials that it can reach is not among the results."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from devops_bench.agents.script import ScriptAgent
from devops_bench.clusters.base import Cluster
from devops_bench.evalharness.credentials import secrets_of_environment, secrets_of_file
from devops_bench.evalharness.default import HarnessOptions
from tests.unit.evalharness.fakes import FakeProvider, make_task
from tests.unit.evalharness.world import OBJECTIVE, World

TOKEN = "t0ken-" + "4f9a" * 20
PLUGIN = "plug-in-7d1c9b"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join(textwrap.wrap(base64.b64encode(bytes(range(200))).decode(), 64))
    + "\n-----END RSA PRIVATE KEY-----\n"
)
COMPONENT_KEY = PEM.replace("AAEC", "bbEC")
COPIED = "token-of-the-copy"
MODEL_KEY = "sk-model-0123456789"
OWN_KEY = "sk-of-the-harness-42"


def write_kubeconfig(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "admin.key").write_text(PEM)
    (folder / "token").write_text(f"{TOKEN}\n")
    exec_ = {"command": "login", "env": [{"name": "A_SECRET", "value": PLUGIN}]}
    user = {"client-key": "admin.key", "tokenFile": "token", "exec": exec_}
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump({"users": [{"name": "u", "user": user}]}))
    return file


def test_a_kubeconfig_gives_its_secrets_and_those_in_its_files(tmp_path: Path) -> None:
    assert set(secrets_of_file(write_kubeconfig(tmp_path))) == {PEM.strip(), TOKEN, PLUGIN}
    assert list(secrets_of_file(tmp_path / "admin.key")) == [PEM]


@pytest.mark.parametrize("text", ["", "[1", "users: 5", "a,b,c", "users: {token: 5}"])
def test_a_file_of_another_kind_gives_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    assert list(secrets_of_file(tmp_path / "file")) == []
    assert list(secrets_of_file(tmp_path / "missing")) == []


def test_variables_are_secrets_by_their_names_unless_they_name_a_file(tmp_path: Path) -> None:
    ours = {"A_TOKEN": "x", "HOME": "/h", "MY_API_KEY": "y\0", "CREDENTIALS": str(tmp_path)}
    assert list(secrets_of_environment(ours)) == ["x", "y\0"]


class Provider(FakeProvider):
    """Its cluster has credentials, outside of the results."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    @contextmanager
    def provide(self, run_id: str, run_dir: Path) -> Iterator[Cluster]:
        with super().provide(run_id, run_dir) as cluster:
            component = self._folder / "component.key"
            kubeconfig = write_kubeconfig(self._folder)
            (self._folder / "copy").write_text(yaml.safe_dump({"users": [{"token": COPIED}]}))
            component.write_text(COMPONENT_KEY)
            yield replace(
                cluster,
                kubeconfig=self._folder / "copy",
                kubeconfig_files=(kubeconfig,),
                credentials=(component,),
            )


SCRIPT = r"""
import base64, os, sys, time
from pathlib import Path
here = Path(sys.argv[1])
out = sys.stdout.buffer
token = (here / "token").read_bytes().strip()
out.write(b"whole " + token + b"\n")
for byte in token:
    out.write(bytes([byte]))
    out.flush()
out.write(b"\nbase64 " + base64.b64encode(b"user:" + token) + b"\n")
out.write(base64.encodebytes(token))
out.write((here / "admin.key").read_bytes() + (here / "component.key").read_bytes())
out.write(bytes(range(256)))
out.flush()
words = [os.environ["MODEL_KEY"], "plug-in-7d1c9b", "sk-of-the-harness-42"]
words.append((here / "copy").read_text().split()[-1])
print(*words, token[:-1].decode(), file=sys.stderr, end="")
Path("kept").write_bytes(token)
"""


def test_what_a_script_prints_of_them_is_in_no_file_of_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", OWN_KEY)
    results, secret = tmp_path / "results", tmp_path / "secret"
    results.mkdir()
    script = tmp_path / "agent.py"
    script.write_text(f"#!/usr/bin/env python3\n{SCRIPT}")
    script.chmod(0o755)
    world = World(results)
    world.provider = Provider(secret)
    world.agent = ScriptAgent(script, (str(secret),))  # type: ignore[assignment]
    world.options = HarnessOptions(agent_environment={"MODEL_KEY": MODEL_KEY})

    result = world.run(make_task(OBJECTIVE))

    folder = results / "t1"
    assert result.agent is not None
    assert result.agent.status == "completed", (folder / "agent.stderr").read_text()
    printed = (folder / "agent.stdout").read_bytes()
    assert printed.startswith(b"whole [redacted]\n[redacted]\nbase64 ")
    assert printed.endswith(bytes(range(256)))
    # What is held back at the end, half a token here, is not lost.
    said = (folder / "agent.stderr").read_text()
    assert said == f"[redacted] [redacted] [redacted] [redacted] {TOKEN[:-1]}"
    # Its folder is its own.
    assert (folder / "workspace" / "kept").read_text() == TOKEN
    hidden = [
        TOKEN,
        MODEL_KEY,
        OWN_KEY,
        PLUGIN,
        COPIED,
        base64.b64encode(TOKEN.encode()).decode()[:60],
    ]
    hidden += [line for line in (PEM + COMPONENT_KEY).splitlines() if not line.startswith("-")]
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        if file.parent.name != "workspace":
            data = file.read_bytes()
            assert [text for text in hidden if text.encode() in data] == [], file
