"""Which sandboxes this machine has."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from devops_bench.agents.sandbox.docker import locked_down, mount
from devops_bench.agents.sandbox.dockernetwork import (
    holder_image,
    machine_mounts,
    machine_python,
    open_network,
)
from devops_bench.agents.sandbox.dockersession import container_user, find_image
from devops_bench.agents.sandbox.doors import make_doors
from devops_bench.agents.sandbox.options import (
    DEFAULT_PORT,
    Endpoint,
    SandboxKind,
    SandboxOptions,
)
from devops_bench.agents.sandbox.session import open_session
from devops_bench.core.containers import DockerClient
from devops_bench.core.errors import AgentError, ContainerError, InvalidInputError
from devops_bench.core.runtime import private_folder

_TIMEOUT_SEC = 20.0


@dataclass(frozen=True, slots=True)
class SandboxAvailability:
    """Whether a sandbox can be had here.

    Attributes:
        kind: Which.
        available: Whether one was made and a program ran in it.
        detail: Its version, or what is missing and what would help.
    """

    kind: SandboxKind
    available: bool
    detail: str


def availability() -> tuple[SandboxAvailability, ...]:
    """Return what can be had here; each is tried for real. Takes at most some seconds."""
    return (bwrap_availability(), docker_availability())


def bwrap_availability() -> SandboxAvailability:
    """Return whether bubblewrap can be used: it is there, and a program runs in its sandbox."""
    if not sys.platform.startswith("linux"):
        return SandboxAvailability("bwrap", False, "bubblewrap is for Linux")
    if shutil.which("bwrap") is None:
        return SandboxAvailability(
            "bwrap", False, "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)"
        )
    try:
        with tempfile.TemporaryDirectory() as name:
            home, work_dir = Path(name) / "home", Path(name) / "work"
            home.mkdir()
            work_dir.mkdir()
            with open_session(SandboxOptions("bwrap"), home=home, work_dir=work_dir) as session:
                launch = session.launch(["true"], {"PATH": "/usr/bin:/bin"})
                tried = _run(launch.argv, launch.env)
                session.finish(launch)
    except (AgentError, OSError, subprocess.SubprocessError) as exc:
        return SandboxAvailability("bwrap", False, f"{exc} (are user namespaces allowed here?)")
    if tried.returncode != 0:
        said = tried.stderr.strip() or f"exit code {tried.returncode}"
        return SandboxAvailability(
            "bwrap", False, f"bubblewrap does not work here: {said} (user namespaces?)"
        )
    version = _run(["bwrap", "--version"], {"PATH": "/usr/bin:/bin:/usr/local/bin"})
    return SandboxAvailability("bwrap", True, version.stdout.strip())


def docker_availability() -> SandboxAvailability:
    """Return whether Docker can be used: its daemon answers and sees this machine's files.

    The daemon is asked, not the ``PATH``. The first time an image without a file in it is made.
    """
    try:
        client = DockerClient.find()
        version = client.ask("version", "--format", "{{.Server.Version}}", timeout_sec=_TIMEOUT_SEC)
    except ContainerError as exc:
        return SandboxAvailability("docker", False, str(exc))
    if not sys.platform.startswith("linux"):
        return SandboxAvailability("docker", False, "the sandbox with Docker is for Linux")
    try:
        _try_docker(client)
    except (ContainerError, OSError) as exc:
        return SandboxAvailability(
            "docker",
            False,
            f"docker {version} answers, but a sandbox cannot be made with it: {exc} (it must run "
            "on this machine, and see its files)",
        )
    return SandboxAvailability(
        "docker", True, f"docker {version}; the image is yours to choose: --sandbox-image IMAGE"
    )


def _try_docker(client: DockerClient) -> None:
    """Make a network with a door, and write a file as the user that the agent will be."""
    sandbox = secrets.token_hex(6)
    with contextlib.ExitStack() as stack:
        notes = client.notes(sandbox)
        folder = stack.enter_context(private_folder("a trial of a sandbox", **notes))
        work = folder / "work"
        work.mkdir(mode=0o700)
        stack.enter_context(client.removing(sandbox))
        doors = make_doors([Endpoint("localhost", DEFAULT_PORT)])
        network = stack.enter_context(open_network(client, sandbox, doors, folder))
        stack.enter_context(client.removing(sandbox))
        command = [*machine_python(), "-c", "open('/trial/seen', 'w').close()"]
        client.ask(
            "run",
            *locked_down(f"devops-bench-{sandbox}-1", sandbox),
            *("--network", f"container:{network.container}", "--user", container_user(client)),
            *(*machine_mounts(), *mount(work, "/trial", writable=True)),
            *("--entrypoint", command[0], holder_image(client), *command[1:]),
        )
        if not (work / "seen").exists():
            raise ContainerError("a folder of this machine is not the same one in a container")


def require(options: SandboxOptions) -> None:
    """Refuse a sandbox that cannot be had here.

    Raises:
        InvalidInputError: It cannot; the message says what is missing.
    """
    kind = options.kind
    found = bwrap_availability() if kind == "bwrap" else docker_availability()
    if not found.available:
        raise InvalidInputError(f"--sandbox {kind} is not available: {found.detail}")
    if kind == "docker":
        try:
            find_image(DockerClient.find(), options.image)
        except ContainerError as exc:
            raise InvalidInputError(str(exc)) from exc


def _run(argv: list[str], env: dict[str, str] | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SEC,
        check=False,
    )
