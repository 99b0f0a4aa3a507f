"""An agent that goes looking for what it must not see: in a sandbox it finds nothing."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject
from tests.unit.agents.sandbox.engine import OPENED

AGENT = Path(__file__).with_name("escape_agent.py")

# The harness is a process of its own, so that its environment and command line can hold canaries.
HARNESS = """
import json, sys, threading
from pathlib import Path
from devops_bench.agents.base import AgentTurn
from devops_bench.agents.sandbox.options import SandboxOptions, parse_endpoint
from devops_bench.agents.script import ScriptAgent

folder, agent, sandbox, prompt = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
allowed = tuple(map(parse_endpoint, sys.argv[5:6]))
readable = tuple(map(Path, sys.argv[7:]))
image = sys.argv[6] if sandbox == "docker" else None
options = SandboxOptions("docker" if image else "bwrap", allowed, readable, image=image)
turn = AgentTurn(
    prompt=prompt, kubeconfig=folder / "agent.kubeconfig", work_dir=folder / "run" / "workspace",
    output_dir=folder / "run", timeout_sec=60, cancel=threading.Event(),
    sandbox=None if sandbox == "none" else options,
)
result = ScriptAgent(agent).run(turn)
state = "" if result.sandbox is None else result.sandbox.state
print(json.dumps([result.status, result.reason, state]))
"""


@dataclass(frozen=True)
class Host:
    """What is on the host for the agent to find."""

    folder: Path
    canary: str
    prompt: JsonObject
    allowed: str


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    canary = f"canary{secrets.token_hex(8)}"
    (tmp_path / "run" / "workspace").mkdir(parents=True)
    for name in ("spec/task.yaml", "other/kubeconfig", "run/result.json"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"secret: {canary}\n")
    with contextlib.ExitStack() as stack:
        servers = {}
        for name in ("api", "allowed", "other"):
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            servers[name] = server.getsockname()[1]
        by_file = stack.enter_context(socket.socket(socket.AF_UNIX))
        # A path below 108 characters, wherever pytest keeps its folders.
        by_file.bind(path := f"/tmp/{canary}.sock")
        stack.callback(os.unlink, path)
        by_file.listen()
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{canary}")
        abstract.listen()
        (tmp_path / "agent.kubeconfig").write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [
                        {
                            "name": "c",
                            "cluster": {"server": f"https://127.0.0.1:{servers['api']}"},
                        }
                    ],
                }
            ).replace('"kind": "Config"', '"kind": "Config",\n"x": "kind: Config"')
        )
        yield Host(
            tmp_path,
            canary,
            {
                "canary": canary,
                "folder": str(tmp_path),
                "ports": {
                    "api": ["127.0.0.1", servers["api"]],
                    "allowed": ["localhost", servers["allowed"]],
                    "other": ["127.0.0.1", servers["other"]],
                },
                "sockets": {"file": path},
                "abstract": canary,
                "only": None,
            },
            f"localhost:{servers['allowed']}",
        )


def look(host: Host, sandbox: str, *image: str) -> JsonObject:
    """Let the agent look, and return what it found: without a sandbox only at what is ours."""
    prompt = {**host.prompt, "only": str(host.folder) if sandbox == "none" else None}
    done = subprocess.run(
        [
            *(sys.executable, "-c", HARNESS, str(host.folder), str(AGENT), sandbox),
            *(json.dumps(prompt), host.allowed, *image),
        ],
        env={**os.environ, "HARNESS_SECRET": host.canary},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    stderr = (host.folder / "run" / "agent.stderr").read_text()
    assert json.loads(done.stdout)[0] == "completed", (done.stdout, stderr)
    assert json.loads(done.stdout)[2] == ("" if sandbox == "none" else sandbox)
    found = json.loads((host.folder / "run" / "agent.stdout").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("bwrap")
def test_under_bwrap_it_finds_nothing_but_what_is_its_own(host: Host) -> None:
    found = look(host, "bwrap")
    assert found["files"] == []
    assert found["proc"] == []
    assert found["network"] == ["allowed", "api"]
    assert found["privileges"] == {
        "capabilities": 0,
        "no_new_privileges": 1,
        "uid": 1000,
    }
    assert found["paths"] == []
    assert found["mine"] == {"kubeconfig": True, "work": ["written"]}
    assert (host.folder / "run" / "workspace" / "written").read_text() == "x"


@pytest.mark.docker
def test_under_docker_it_finds_nothing_but_what_is_its_own(host: Host, docker_image: str) -> None:
    found = look(host, "docker", docker_image, *map(str, OPENED))
    assert found["files"] == []
    assert found["proc"] == []
    assert found["network"] == ["allowed", "api"]
    assert found["privileges"] == {
        "capabilities": 0,
        "no_new_privileges": 1,
        "uid": os.getuid(),
    }
    assert found["paths"] == []
    assert found["mine"] == {"kubeconfig": True, "work": ["written"]}
    written = host.folder / "run" / "workspace" / "written"
    assert (written.read_text(), written.stat().st_uid) == ("x", os.getuid())


def test_without_a_sandbox_the_same_agent_finds_what_was_there(host: Host) -> None:
    """So that finding nothing means something."""
    found = look(host, "none")
    assert {"task.yaml", "kubeconfig", "result.json"} <= set(found["files"])  # type: ignore[arg-type]
    assert {"environ", "cmdline"} <= set(found["proc"])  # type: ignore[arg-type]
    assert {"api", "allowed", "other", "file", "abstract"} <= set(found["network"])  # type: ignore[arg-type]
